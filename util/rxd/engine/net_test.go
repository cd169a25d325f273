// The network of the tests: engines joined by a seeded network in virtual time.

package engine

import (
	"bytes"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
)

const (
	ms     = int64(1e6)
	second = int64(1e9)
)

// transit is a datagram on its way.
type transit struct {
	at       int64
	order    uint64
	from, to netip.AddrPort
	b        []byte
}

type transits []transit

func (t transits) Len() int { return len(t) }
func (t transits) Less(i, j int) bool {
	return t[i].at < t[j].at || t[i].at == t[j].at && t[i].order < t[j].order
}
func (t transits) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *transits) Push(x any)   { *t = append(*t, x.(transit)) }
func (t *transits) Pop() any {
	old := *t
	x := old[len(old)-1]
	*t = old[:len(old)-1]
	return x
}

// network joins nodes.
type network struct {
	t     testing.TB
	rng   *rand.Rand
	now   int64
	order uint64
	nodes map[netip.AddrPort]*node
	fly   transits
	delay int64
	// Probabilities.
	loss, dup, reorder, corrupt float64
	cut                         bool // partition
	tap                         func(from, to netip.AddrPort, b []byte)
}

func newNetwork(t testing.TB, seed uint64) *network {
	return &network{t: t, rng: rand.New(rand.NewPCG(seed, 1)), nodes: map[netip.AddrPort]*node{}, delay: 20e3, now: second}
}

// node is an endpoint: an engine and what it told.
type node struct {
	n      *network
	addr   netip.AddrPort
	e      *Engine
	pool   xengine.Pool
	rx     *xengine.RxContext
	cfg    Config
	conn   xengine.Config
	region []byte
	out    Out
	done   []xengine.Completion
	up     []*Peer
	failed []error
	fi     map[netip.AddrPort]uint64
}

// at returns the address of a node.
func at(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), uint16(1000+i))
}

func (n *network) add(i int, change func(*Config)) *node {
	d := &node{n: n, addr: at(i), region: make([]byte, 1<<16), fi: map[netip.AddrPort]uint64{}}
	d.conn = xengine.Config{Frugal: true, StageMax: 1024, StageLimit: 1 << 20, TxDepth: 4096, RendezvousOver: 1 << 62, InternalMax: 4096}
	d.rx = xengine.NewRxContext(&d.pool, d)
	d.cfg = Config{Epoch: n.rng.Uint64(), Secret: [2]uint64{n.rng.Uint64(), n.rng.Uint64()}, Rand: n.rng.Uint64, Conn: &d.conn, Extensions: true,
		PeerTimeout: 20 * second, HandshakeTimeout: 10 * second}
	if change != nil {
		change(&d.cfg)
	}
	d.e = New(&d.cfg, &d.pool, d.rx, d, d)
	d.out.Head = make([]byte, 0, HeadMax)
	n.nodes[d.addr] = d
	return d
}

func nativeOnly(c *Config) { c.Extensions = false }

// Sink and the following implement Hooks.
func (d *node) Sink(*Peer) xengine.Sink             { return d }
func (d *node) PeerUp(p *Peer)                      { d.up = append(d.up, p) }
func (d *node) PeerFailed(_ *Peer, err error)       { d.failed = append(d.failed, err) }
func (d *node) Local(netip.AddrPort) netip.AddrPort { return d.addr }
func (d *node) MaxDatagram(netip.AddrPort) int      { return 8972 }
func (d *node) Reverse(a netip.AddrPort) uint64 {
	if fi, ok := d.fi[a]; ok {
		return fi
	}
	return xengine.AnySource
}

// Completed and the following implement xengine.Sink.
func (d *node) Completed(c *xengine.Completion)             { d.done = append(d.done, *c) }
func (d *node) Sent(s *xengine.Send)                        { d.done = append(d.done, s.Completion(0)) }
func (d *node) Received(r *xengine.RxOp)                    { d.done = append(d.done, r.Completion()) }
func (d *node) Requested(*xengine.Conn, []byte)             {}
func (d *node) Connected(*xengine.Conn, []byte)             {}
func (d *node) Failed(c *xengine.Conn, err error, _ []byte) { d.e.Failed(c.User.(*Peer), err) }
func (d *node) Replied(c *xengine.Conn)                     { d.e.Posted(c.User.(*Peer)) }
func (d *node) Resumed(c *xengine.Conn)                     { d.e.Resumed(c.User.(*Peer)) }

// Verify implements xengine.Memory: key 1 is the node's region.
func (d *node) Verify(key, addr, n uint64, _ bool) ([]byte, xengine.Region, xengine.Refusal) {
	if key != 1 {
		return nil, nil, xwire.RefusedKey
	}
	if addr > uint64(len(d.region)) || n > uint64(len(d.region))-addr {
		return nil, nil, xwire.RefusedRange
	}
	return d.region[addr : addr+n], nil, 0
}

// flush transmits what there is.
func (d *node) flush() {
	last := false
	for d.e.Poll(d.n.now, &d.out) {
		if last {
			d.n.t.Fatal("a datagram after the last")
		}
		last = d.out.Last
		b := append([]byte(nil), d.out.Head...)
		for _, p := range d.out.Parts {
			b = append(b, p...)
		}
		if len(b) != d.out.Len {
			d.n.t.Fatalf("%d bytes, said to be %d", len(b), d.out.Len)
		}
		d.n.send(d.addr, d.out.To, b)
	}
}

func (n *network) send(from, to netip.AddrPort, b []byte) {
	if n.tap != nil {
		n.tap(from, to, b)
	}
	if n.cut || n.rng.Float64() < n.loss {
		return
	}
	times := 1
	if n.rng.Float64() < n.dup {
		times = 2
	}
	for range times {
		c := bytes.Clone(b)
		if n.rng.Float64() < n.corrupt {
			c[n.rng.IntN(len(c))] ^= 1 << n.rng.IntN(8)
		}
		d := n.delay
		if n.rng.Float64() < n.reorder {
			d += n.rng.Int64N(5 * n.delay)
		}
		n.order++
		heap.Push(&n.fly, transit{n.now + d, n.order, from, to, c})
	}
}

// step does the next thing that happens, at most until end; false: nothing does.
func (n *network) step(end int64) bool {
	for _, d := range n.nodes {
		d.flush()
	}
	next := end + 1
	if len(n.fly) > 0 {
		next = min(next, n.fly[0].at)
	}
	for _, d := range n.nodes {
		if at := d.e.Deadline(); at != 0 {
			next = min(next, at)
		}
	}
	if next > end {
		n.now = end
		return false
	}
	n.now = max(n.now, next)
	for len(n.fly) > 0 && n.fly[0].at <= n.now {
		x := heap.Pop(&n.fly).(transit)
		if d := n.nodes[x.to]; d != nil {
			d.e.Receive(n.now, x.from, x.b)
		}
	}
	for _, d := range n.nodes {
		d.e.Advance(n.now)
		d.e.Quiet(n.now)
	}
	return true
}

// run lets time pass until done, or at most d.
func (n *network) run(d int64, done func() bool) bool {
	n.t.Helper()
	end := n.now + d
	for steps := 0; ; steps++ {
		if done != nil && done() {
			return true
		}
		if !n.step(end) {
			return done == nil || done()
		}
		if steps > 3e5 {
			n.t.Fatal("the engines never rest")
		}
	}
}

// post posts an operation to another node.
func (d *node) post(to *node, s *xengine.Send) {
	d.n.t.Helper()
	p := d.e.Peer(to.addr, 7, d.n.now)
	if err := p.Conn().Submit(s); err != nil {
		d.n.t.Fatal(err)
	}
	d.e.Posted(p)
}

// recv posts a receive for untagged messages.
func (d *node) recv(buf []byte, ctx uint64) {
	op := d.rx.NewOp()
	op.Ctx = ctx
	op.SetBuf(buf)
	d.rx.PostMsg(op, xengine.AnySource)
}

// trecv posts a receive for tagged messages.
func (d *node) trecv(buf []byte, ctx, tag uint64) {
	op := d.rx.NewOp()
	op.Ctx = ctx
	op.SetBuf(buf)
	d.rx.PostTagged(op, xengine.AnySource, tag, 0)
}

func pattern(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7) + seed + byte(i>>8)
	}
	return b
}

// msg is a message of b.
func msg(ctx uint64, b []byte) *xengine.Send {
	s := &xengine.Send{Ctx: ctx, NIOV: 1}
	s.IOV[0] = b
	return s
}

// rma is a read or write of key 1 at addr.
func rma(kind xengine.Kind, ctx uint64, b []byte, addr uint64) *xengine.Send {
	s := msg(ctx, b)
	s.Kind, s.NRMA = kind, 1
	s.RMA[0] = xwire.RMAIov{Addr: addr, Len: uint64(len(b)), Key: 1}
	return s
}

// count counts completions of a kind without an error.
func (d *node) count(k xengine.Kind) (n int) {
	for i := range d.done {
		if d.done[i].Kind == k && d.done[i].Err == nil {
			n++
		}
	}
	return n
}

// close ends all peers and checks that nothing is left over.
func (d *node) close() {
	for _, p := range d.e.peers {
		d.e.Remove(p, xengine.ErrClosed)
	}
	d.rx.Flush(xengine.ErrClosed)
	d.rx.Release()
	p := &d.pool
	if s := fmt.Sprint(p.OutChunks, p.OutTx, p.OutRx, p.OutUnexp, d.e.passive, d.e.due.Len(), d.e.flows.OutSenders, d.e.flows.OutReceivers, d.e.flows.OutPages); s != "0 0 0 0 0 0 0 0 0" {
		d.n.t.Errorf("left over: %s", s)
	}
}
