package flow

import (
	"bytes"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"

	"gofabric/util/rxd/wire"
)

// link is one direction of a path: a queue in front of a wire, shared by whoever sends over it.
type link struct {
	bps     int64 // bytes per second; 0: any number
	delay   int64
	queue   int64 // bytes that fit before the wire; 0: any number
	loss    float64
	dup     float64
	most    int     // bytes of the longest datagram that is not lost; 0: any number
	reorder float64 // probability that a datagram is delayed by another quarter of delay

	freeAt     int64
	sent, lost int64 // datagrams; lost: for want of room
}

// pass returns when a datagram of n bytes arrives, 0 never.
func (l *link) pass(w *world, n int) int64 {
	l.sent++
	at := w.now
	if l.bps > 0 {
		l.freeAt = max(l.freeAt, w.now)
		if l.queue > 0 && (l.freeAt-w.now)*l.bps/1e9+int64(n) > l.queue {
			l.lost++
			return 0
		}
		l.freeAt += int64(n)*1e9/l.bps + w.rnd.Int64N(50) // no two wires are in step
		at = l.freeAt
	}
	if w.rnd.Float64() < l.loss || l.most > 0 && n-28 > l.most {
		return 0
	}
	at += l.delay
	if l.reorder > 0 && w.rnd.Float64() < l.reorder {
		at += l.delay / 4
	}
	return at
}

// event is a datagram on its way, or a time to look at a node.
type event struct {
	at   int64
	num  int
	to   *node
	pkt  []byte
	wake bool
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].num < e[j].num
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	x := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return x
}

// world runs nodes in virtual time; the same seed gives the same run.
type world struct {
	now   int64
	num   int
	queue events
	rnd   *rand.Rand
	nodes []*node
	free  [][]byte
	trace func(from *node, h *wire.XHeader, n int)
}

func newWorld(seed uint64) *world {
	return &world{now: 1e9, rnd: rand.New(rand.NewPCG(seed, 1))}
}

// node is one end of a flow, with an application that sends a known stream and checks what comes.
type node struct {
	w       *world
	f       Flow
	peer    *node
	out     *link
	cfg     Config
	dg      Datagram
	wakeAt  int64
	toSend  uint64 // bytes of it that are there
	handed  uint64
	acked   uint64
	got     uint64 // bytes of the peer's stream
	bad     bool
	stalled bool
	lent    bool
	awaited bool
	chunk   int // the source's slices are so long, 0: as asked
}

// pattern is a stream: 64 KiB of noise, repeated with a period that no page divides.
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
func (n *node) Ready() int    { return int(n.toSend - n.handed) }
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
func (w *world) pair(cfg Config, ab, ba *link) (*node, *node) {
	a, b := &node{w: w, out: ab, cfg: cfg}, &node{w: w, out: ba, cfg: cfg}
	a.peer, b.peer = b, a
	a.cfg.Pool, b.cfg.Pool = &Pool{Budget: cfg.Pool.Budget}, &Pool{Budget: cfg.Pool.Budget}
	a.f.Init(&a.cfg, a, a, w.now)
	b.f.Init(&b.cfg, b, b, w.now)
	w.nodes = append(w.nodes, a, b)
	return a, b
}

func (w *world) push(e event) {
	w.num++
	e.num = w.num
	heap.Push(&w.queue, e)
}

// poll is Poll, which finds nothing where Pending says so.
func (n *node) poll(now int64) bool {
	pending := n.f.Pending()
	some := n.f.Poll(now, &n.dg)
	if some && !pending {
		panic("a datagram, though nothing was pending")
	}
	return some
}

// work drains a node's transmissions.
func (n *node) work() {
	w := n.w
	for k := 0; n.poll(w.now); k++ {
		if k > 200000 {
			panic("Poll does not end")
		}
		n.emit()
	}
	if d := n.f.Deadline(); d != 0 && (n.wakeAt == 0 || d < n.wakeAt || n.wakeAt <= w.now) {
		n.wakeAt = max(d, w.now+1)
		w.push(event{at: n.wakeAt, to: n, wake: true})
	}
}

func (n *node) emit() {
	w := n.w
	if w.trace != nil {
		w.trace(n, &n.dg.Header, n.dg.Len)
	}
	var b []byte
	if k := len(w.free); k > 0 {
		b, w.free = w.free[k-1][:0], w.free[:k-1]
	}
	b = n.dg.Header.Append(b)
	for _, p := range n.dg.Parts {
		b = append(b, p...)
	}
	if len(b) > n.cfg.MaxDatagram {
		panic(fmt.Sprint("datagram of ", len(b)))
	}
	if at := n.out.pass(w, len(b)+28); at != 0 {
		w.push(event{at: at, to: n.peer, pkt: b})
	}
	if n.out.dup > 0 && w.rnd.Float64() < n.out.dup {
		if at := n.out.pass(w, len(b)+28); at != 0 {
			w.push(event{at: at, to: n.peer, pkt: append([]byte(nil), b...)})
		}
	}
}

// run goes on until nothing happens any more, done says so, or the time is over; false: it is over.
func (w *world) run(limit int64, done func() bool) bool {
	end := w.now + limit
	for _, n := range w.nodes {
		n.work()
	}
	var h wire.XHeader
	for len(w.queue) > 0 {
		if done != nil && done() {
			return true
		}
		e := heap.Pop(&w.queue).(event)
		if e.at > end {
			w.push(e)
			w.now = end
			return false
		}
		w.now = e.at
		if e.wake {
			if e.at == e.to.wakeAt {
				e.to.wakeAt = 0
			}
			if d := e.to.f.Deadline(); d != 0 && d <= w.now {
				e.to.f.Advance(w.now)
			}
		} else {
			payload, err := h.Parse(e.pkt)
			if err != nil {
				panic(err)
			}
			e.to.f.Receive(w.now, &h, payload)
			w.free = append(w.free, e.pkt)
			if len(w.queue) == 0 || w.queue[0].at != w.now {
				e.to.f.Quiet(w.now)
			}
		}
		e.to.work()
	}
	return done == nil || done()
}

// transfer sends n bytes from one end to the other and returns how long that took until the last byte was acknowledged.
func transfer(t testing.TB, seed uint64, n uint64, cfg Config, ab, ba *link) (int64, *node, *node) {
	t.Helper()
	w := newWorld(seed)
	a, b := w.pair(cfg, ab, ba)
	a.toSend, a.lent = n, true
	start := w.now
	ok := w.run(600e9, func() bool { return a.acked == n })
	if !ok || b.got != n || b.bad {
		t.Fatalf("seed %d: %d of %d acknowledged, %d delivered, bad %v, dead %v %v\n%+v\n%+v", seed, a.acked, n, b.got, b.bad, a.f.Dead(), b.f.Dead(), a.f.Stats(), b.f.Stats())
	}
	return w.now - start, a, b
}

// TestTransfers checks that every byte arrives once and in order over paths of all kinds.
func TestTransfers(t *testing.T) {
	for _, c := range []struct {
		name   string
		ab, ba link
	}{
		{"clean", link{delay: 50e3}, link{delay: 50e3}},
		{"loss", link{delay: 50e3, loss: 0.05}, link{delay: 50e3, loss: 0.05}},
		{"heavy", link{delay: 50e3, loss: 0.3}, link{delay: 50e3, loss: 0.3}},
		{"reorder", link{delay: 50e3, reorder: 0.2}, link{delay: 50e3, reorder: 0.2}},
		{"dup", link{delay: 50e3, dup: 0.2}, link{delay: 50e3, dup: 0.2}},
		{"all", link{delay: 50e3, dup: 0.1, loss: 0.1, reorder: 0.1}, link{delay: 50e3, dup: 0.1, loss: 0.1, reorder: 0.1}},
		{"slow", link{delay: 5e6, bps: 1e6, queue: 64 << 10}, link{delay: 5e6}},
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

// drained checks that nothing is left when all timers have fired.
func drained(t *testing.T, nodes ...*node) {
	t.Helper()
	nodes[0].w.run(100e9, nil)
	for _, n := range nodes {
		if p := n.cfg.Pool; p.OutPages != 0 || p.OutReceivers != 0 || p.OutSenders != 0 || p.used != 0 {
			t.Fatalf("left: %d pages, %d receivers, %d senders, %d bytes", p.OutPages, p.OutReceivers, p.OutSenders, p.used)
		}
		if !n.f.Idle() || n.f.Deadline() != 0 {
			t.Fatalf("idle %v, deadline %d, flags %b", n.f.Idle(), n.f.Deadline(), n.f.flags)
		}
	}
}
