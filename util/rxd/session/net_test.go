// The world of the tests: engines joined by the simulated network.

package session

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/test/sim/network"
)

const (
	ms     = int64(1e6)
	second = int64(1e9)
)

// world joins nodes by the simulated network.
type world struct {
	*network.Network
	t     testing.TB
	nodes []*node
}

func newWorld(t testing.TB, seed uint64) *world {
	n := network.New(network.NewSched(seed))
	n.Now, n.Link.Delay, n.Link.Behind = second, 20e3, 100e3
	return &world{Network: n, t: t}
}

// node is an endpoint: an engine and what its hooks received.
type node struct {
	n      *world
	host   int
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
func at(i int) netip.AddrPort { return network.Addr(i) }

// at returns the node with a number, or nil.
func (n *world) at(host int) *node {
	for _, d := range n.nodes {
		if d.host == host {
			return d
		}
	}
	return nil
}

// add makes node i. It replaces the previous node i.
func (n *world) add(i int, change func(*Config)) *node {
	if old := n.at(i); old != nil {
		n.remove(old)
	}
	d := &node{n: n, host: i, addr: at(i), region: make([]byte, 1<<16), fi: map[netip.AddrPort]uint64{}}
	d.conn = xengine.Config{Frugal: true, StageMax: 1024, StageLimit: 1 << 20, TxDepth: 4096, RendezvousOver: 1 << 62, InternalMax: 4096}
	d.rx = xengine.NewRxContext(&d.pool, d)
	d.cfg = Config{Epoch: n.Uint64(), Secret: [2]uint64{n.Uint64(), n.Uint64()}, Rand: n.Uint64, Conn: &d.conn, Extensions: true,
		PeerTimeout: 20 * second, HandshakeTimeout: 10 * second}
	if change != nil {
		change(&d.cfg)
	}
	d.e = New(&d.cfg, &d.pool, d.rx, d, d)
	d.out.Head = make([]byte, 0, HeadMax)
	n.nodes = append(n.nodes, d)
	n.Attach(i, func(x *network.Datagram) {
		d.e.Receive(n.Now, at(x.From), x.B)
		x.Free()
	})
	return d
}

// remove removes a node. The node sends nothing more.
func (n *world) remove(d *node) {
	n.nodes = slices.DeleteFunc(n.nodes, func(x *node) bool { return x == d })
	n.Attach(d.host, nil)
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

// flush transmits everything that the engine has.
func (d *node) flush() {
	last := false
	for d.e.Poll(d.n.Now, &d.out) {
		if last {
			d.n.t.Fatal("Poll returns a datagram though it reported the last one")
		}
		last = d.out.Last
		size := len(d.out.Head)
		for _, p := range d.out.Parts {
			size += len(p)
		}
		if size != d.out.Len {
			d.n.t.Fatalf("a datagram of %d bytes, Len is %d", size, d.out.Len)
		}
		d.n.Send(d.host, network.Host(d.out.To), d.out.Head, d.out.Parts)
	}
}

// step executes the next event, at end at the latest. It returns false if there is none.
func (n *world) step(end int64) bool {
	for _, d := range n.nodes {
		d.flush()
	}
	next := end + 1
	if at, ok := n.Next(); ok {
		next = min(next, at)
	}
	for _, d := range n.nodes {
		if at := d.e.Deadline(); at != 0 {
			next = min(next, at)
		}
	}
	if next > end {
		n.Now = end
		return false
	}
	n.Now = max(n.Now, next)
	for at, ok := n.Next(); ok && at <= n.Now; at, ok = n.Next() {
		n.Step()
	}
	for _, d := range n.nodes {
		d.e.Advance(n.Now)
		d.e.PassDone(n.Now)
	}
	return true
}

// run executes events until done returns true, for at most d.
func (n *world) run(d int64, done func() bool) bool {
	n.t.Helper()
	end := n.Now + d
	for steps := 0; ; steps++ {
		if done != nil && done() {
			return true
		}
		if !n.step(end) {
			return done == nil || done()
		}
		if steps > 3e5 {
			n.t.Fatal("the engines never become idle")
		}
	}
}

// post posts an operation to another node.
func (d *node) post(to *node, s *xengine.Send) {
	d.n.t.Helper()
	p := d.e.Peer(to.addr, 7, d.n.Now)
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

// msg makes a message of b.
func msg(ctx uint64, b []byte) *xengine.Send {
	s := &xengine.Send{Ctx: ctx, NIOV: 1}
	s.IOV[0] = b
	return s
}

// rma makes a read or write of key 1 at addr.
func rma(kind xengine.Kind, ctx uint64, b []byte, addr uint64) *xengine.Send {
	s := msg(ctx, b)
	s.Kind, s.NRMA = kind, 1
	s.RMA[0] = xwire.RMAIov{Addr: addr, Len: uint64(len(b)), Key: 1}
	return s
}

// count returns the number of completions of a kind without an error.
func (d *node) count(k xengine.Kind) (n int) {
	for i := range d.done {
		if d.done[i].Kind == k && d.done[i].Err == nil {
			n++
		}
	}
	return n
}

// close ends all peers and checks that nothing is left.
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
