package flow

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gofabric/test/sim/network"
	"gofabric/util/rxd/wire"
)

// world runs nodes in virtual time. The same seed gives the same run.
type world struct {
	*network.Network
	nodes []*node
}

func newWorld(seed uint64) *world {
	n := network.New(network.NewSched(seed))
	n.Now = 1e9
	return &world{Network: n}
}

// node is one end of a flow, with an application that sends a known stream and checks what arrives.
type node struct {
	w       *world
	host    int
	f       Flow
	peer    *node
	cfg     Config
	dg      Datagram
	wakeAt  int64
	wake    func() // bound to the node
	head    []byte // scratch
	toSend  uint64 // bytes of the stream that the application has posted
	handed  uint64
	acked   uint64
	got     uint64 // bytes of the peer's stream received
	bad     bool
	stalled bool
	lent    bool
	awaited bool
	chunk   int // length of the source's slices; 0: as asked
}

// pattern is the stream: 64 KiB of noise, repeated with a period that does not divide a page.
var pattern = func() []byte {
	b := make([]byte, 2*65521)
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 65521 {
		b[i] = byte(r.Uint32())
		b[65521+i] = b[i]
	}
	return b
}()

func slice(off uint64, n int) []byte {
	o := int(off % 65521)
	return pattern[o : o+min(n, 65521)]
}

func (n *node) Next(list [][]byte, limit int) ([][]byte, int) {
	total := 0
	for len(list) < cap(list) && limit > 0 && n.handed < n.toSend {
		k := int(min(uint64(limit), n.toSend-n.handed))
		if n.chunk > 0 {
			k = min(k, n.chunk)
		}
		b := slice(n.handed, k)
		list = append(list, b)
		limit -= len(b)
		total += len(b)
		n.handed += uint64(len(b))
	}
	return list, total
}
func (n *node) Ready() int    { return int(min(n.toSend-n.handed, math.MaxInt)) }
func (n *node) Lent() bool    { return n.lent }
func (n *node) Awaited() bool { return n.awaited }
func (n *node) Acked(k int) {
	n.acked += uint64(k)
	if n.acked > n.handed {
		panic("acknowledged more than was sent")
	}
}
func (n *node) Stalled() bool { return n.stalled }
func (n *node) Deliver(b []byte) {
	for len(b) > 0 {
		want := slice(n.got, len(b))
		if !bytes.Equal(b[:len(want)], want) {
			n.bad = true
		}
		n.got += uint64(len(want))
		b = b[len(want):]
	}
}

func testConfig(mtu int) Config {
	return Config{MaxDatagram: mtu, PeerMaxDatagram: mtu, RecvWindow: 16 << 20, PeerWindow: 16 << 20, PeerTimeout: 10e9, Pool: &Pool{}}
}

// pair connects two nodes.
func (w *world) pair(cfg Config, ab, ba *network.Link) (*node, *node) {
	host := len(w.nodes)
	a, b := &node{w: w, host: host, cfg: cfg}, &node{w: w, host: host + 1, cfg: cfg}
	a.peer, b.peer = b, a
	for _, n := range []*node{a, b} {
		n.wake = n.woken
		w.Attach(n.host, n.receive)
	}
	w.Route(a.host, b.host, ab)
	w.Route(b.host, a.host, ba)
	a.cfg.Pool, b.cfg.Pool = &Pool{Budget: cfg.Pool.Budget}, &Pool{Budget: cfg.Pool.Budget}
	a.f.Init(&a.cfg, a, a, w.Now)
	b.f.Init(&b.cfg, b, b, w.Now)
	w.nodes = append(w.nodes, a, b)
	return a, b
}

// poll calls Poll, and checks that it finds nothing if Pending says so.
func (n *node) poll(now int64) bool {
	pending := n.f.Pending()
	some := n.f.Poll(now, &n.dg)
	if some && !pending {
		panic("Pending reported no datagram, and Poll returned one")
	}
	return some
}

// work transmits all that a node has.
func (n *node) work() {
	w := n.w
	for k := 0; n.poll(w.Now); k++ {
		if k > 200000 {
			panic("Poll does not end")
		}
		n.emit()
	}
	if d := n.f.Deadline(); d != 0 && (n.wakeAt == 0 || d < n.wakeAt || n.wakeAt <= w.Now) {
		n.wakeAt = max(d, w.Now+1)
		w.After(n.wakeAt-w.Now, n.wake)
	}
}

func (n *node) emit() {
	b := n.dg.Header.Append(n.head[:0])
	n.head = b
	size := len(b)
	for _, p := range n.dg.Parts {
		size += len(p)
	}
	if size > n.cfg.MaxDatagram {
		panic(fmt.Sprint("a datagram of ", size))
	}
	n.w.Send(n.host, n.peer.host, b, n.dg.Parts)
}

// woken runs at wakeAt, and at times that wakeAt had before.
func (n *node) woken() {
	if n.wakeAt == n.w.Now {
		n.wakeAt = 0
	}
	if d := n.f.Deadline(); d != 0 && d <= n.w.Now {
		n.f.Advance(n.w.Now)
	}
	n.work()
}

// receive takes a datagram. PassDone follows the last of those that arrive at the same time.
func (n *node) receive(d *network.Datagram) {
	var h wire.XHeader
	payload, err := h.Parse(d.B)
	if err != nil {
		panic(err)
	}
	n.f.Receive(n.w.Now, &h, payload)
	d.Free()
	if at, ok := n.w.Next(); !ok || at != n.w.Now {
		n.f.PassDone(n.w.Now)
	}
	n.work()
}

// run executes events until there are none, done returns true, or the time is over. It returns false if the time is
// over.
func (w *world) run(limit int64, done func() bool) bool {
	end := w.Now + limit
	for _, n := range w.nodes {
		n.work()
	}
	for {
		at, ok := w.Next()
		switch {
		case !ok:
			return done == nil || done()
		case done != nil && done():
			return true
		case at > end:
			w.Now = end
			return false
		}
		w.Step()
	}
}

// transfer sends n bytes from one end to the other and returns how long that took until the last byte was
// acknowledged.
func transfer(t testing.TB, seed uint64, n uint64, cfg Config, ab, ba *network.Link) (int64, *node, *node) {
	t.Helper()
	w := newWorld(seed)
	a, b := w.pair(cfg, ab, ba)
	a.toSend, a.lent = n, true
	start := w.Now
	ok := w.run(600e9, func() bool { return a.acked == n })
	if !ok || b.got != n || b.bad {
		t.Fatalf("seed %d: %d of %d acknowledged, %d delivered, bad %v, dead %v %v\n%+v\n%+v",
			seed, a.acked, n, b.got, b.bad, a.f.Dead(), b.f.Dead(), a.f.Stats(), b.f.Stats())
	}
	return w.Now - start, a, b
}

// TestTransfers checks that every byte arrives once and in order over paths of many kinds.
func TestTransfers(t *testing.T) {
	for _, c := range []struct {
		name   string
		ab, ba network.Link
	}{
		{"clean", network.Link{Delay: 50e3}, network.Link{Delay: 50e3}},
		{"loss", network.Link{Delay: 50e3, Loss: 0.05}, network.Link{Delay: 50e3, Loss: 0.05}},
		{"heavy", network.Link{Delay: 50e3, Loss: 0.3}, network.Link{Delay: 50e3, Loss: 0.3}},
		{"reorder", network.Link{Delay: 50e3, Reorder: 0.2, Behind: 25e3}, network.Link{Delay: 50e3, Reorder: 0.2, Behind: 25e3}},
		{"dup", network.Link{Delay: 50e3, Dup: 0.2}, network.Link{Delay: 50e3, Dup: 0.2}},
		{"all", network.Link{Delay: 50e3, Dup: 0.1, Loss: 0.1, Reorder: 0.1, Behind: 25e3}, network.Link{Delay: 50e3, Dup: 0.1, Loss: 0.1, Reorder: 0.1, Behind: 25e3}},
		{"slow", network.Link{Delay: 5e6, Rate: 1e6, Queue: 64 << 10}, network.Link{Delay: 5e6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(5) {
				for _, mtu := range []int{1472, 65507} {
					ab, ba := c.ab, c.ba
					d, a, b := transfer(t, seed, 3<<20, testConfig(mtu), &ab, &ba)
					if testing.Verbose() && seed == 0 {
						t.Logf("mtu %d: %.2f ms %+v", mtu, float64(d)/1e6, a.f.Stats())
					}
					drained(t, a, b)
				}
			}
		})
	}
}

// drained checks that no memory is held after all timers have fired.
func drained(t *testing.T, nodes ...*node) {
	t.Helper()
	nodes[0].w.run(100e9, nil)
	for _, n := range nodes {
		if p := n.cfg.Pool; p.OutPages != 0 || p.OutReceivers != 0 || p.OutSenders != 0 || p.used != 0 {
			t.Fatalf("left: %d pages, %d receivers, %d senders, %d bytes",
				p.OutPages, p.OutReceivers, p.OutSenders, p.used)
		}
		if !n.f.Idle() || n.f.Deadline() != 0 {
			t.Fatalf("idle %v, deadline %d, flags %b", n.f.Idle(), n.f.Deadline(), n.f.flags)
		}
	}
}
