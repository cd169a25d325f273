package sim

import (
	"fmt"
	"net/netip"

	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
	"gofabric/test/sim/network"
	rxd "gofabric/util/rxd/session"
	rxdwire "gofabric/util/rxd/wire"
)

// rxdMemory is a node's memory that peers access. It outlives restarts, as a mapped file does.
type rxdMemory struct {
	readable []byte         // region 1
	writable map[int][]byte // region 100+peer
	cells    []byte         // region 2: a cell for each peer that it fetches and adds to, then a cell that it adds to
}

// rxdNode is an endpoint between two restarts, driven as package rxd does it.
type rxdNode struct {
	app
	w       *rxdWorld
	life    int // its number, from 1
	native  bool
	cfg     rxd.Config
	conn    engine.Config
	pool    engine.Pool
	eng     *rxd.Engine
	out     rxd.Out
	sides   []*rxdSide // by peer
	known   []bool     // peers in the address vector
	first   uint64     // number of the first operation after the restart
	injects int
	dead    bool
	raw     bool // its completions are not recorded in the ledger

	inbox   []*network.Datagram
	passing bool  // a pass is scheduled
	paused  int64 // nothing runs until then
	asleep  int64 // no receives are posted until then
	blocked int64 // the port accepts nothing until then
	timerAt int64
	passAt  int64
	rounds  int // passes at the same time
	hungry  bool
	pass    func() // bound to the node
	timer   func()
}

// inboxMax is how many datagrams the socket of a node holds.
const inboxMax = 256

func newRxdNode(w *rxdWorld, id, life int) *rxdNode {
	n := &rxdNode{w: w, life: life, native: w.x.natives>>id&1 != 0, sides: make([]*rxdSide, w.x.nodes),
		known: make([]bool, w.x.nodes), first: uint64(len(w.l.ops))}
	n.conn = w.config()
	n.app = w.newApp(id, &n.pool, discard(n.completed))
	n.flush = n.after
	n.pass, n.timer = n.makePass, n.expired
	x := &w.x
	n.cfg = rxd.Config{
		Epoch: w.s.Uint64(), Secret: [2]uint64{w.s.Uint64(), w.s.Uint64()}, Rand: w.s.Uint64, Conn: &n.conn,
		Rendezvous: w.f.rendezvous, Extensions: !n.native,
		NativeMTU: x.nativeMTU, MaxUnacked: x.maxUnacked, RecvWindow: x.recvWindow,
		PeerTimeout: x.peerTimeout, HandshakeTimeout: x.peerTimeout, KeepAlive: x.keepAlive,
	}
	n.eng = rxd.New(&n.cfg, &n.pool, n.rx, n, n)
	w.net.Attach(id, n.arrived)
	n.out.Head = make([]byte, 0, rxd.HeadMax)
	for p := range n.known {
		n.known[p] = true
		if w.f.lateNames && p != id && w.s.Chance(50) {
			n.known[p] = false
			w.s.After(w.s.Int64N(1e8), func() { n.named(p) })
		}
	}
	return n
}

// named inserts a peer into the address vector.
func (n *rxdNode) named(peer int) {
	if n.dead {
		return
	}
	n.known[peer] = true
	if p := n.eng.Lookup(network.Addr(peer)); p != nil && p.Conn().Src == engine.AnySource {
		n.eng.SetSource(p, uint64(peer))
		n.rx.SetSource(p.Conn(), uint64(peer))
		n.after()
	}
}

// channel returns the side for a peer.
func (n *rxdNode) channel(peer int) *rxdSide {
	return n.eng.Peer(network.Addr(peer), uint64(peer), n.w.s.Now).User.(*rxdSide)
}

// Verify implements engine.Memory.
func (n *rxdNode) Verify(key, addr, length uint64, write bool) ([]byte, engine.Region, engine.Refusal) {
	m := n.w.memory[n.id]
	var mem []byte
	switch {
	case key == 1 && !write:
		mem = m.readable
	case key == 2:
		mem = m.cells
	case key >= 100 && write:
		mem = m.writable[int(key-100)]
	}
	if mem == nil {
		return nil, nil, wire.RefusedKey
	}
	if addr > uint64(len(mem)) || length > uint64(len(mem))-addr {
		return nil, nil, wire.RefusedRange
	}
	return mem[addr : addr+length : addr+length], nil, 0
}

// Sink and the methods after it implement rxd.Hooks.
func (n *rxdNode) Sink(p *rxd.Peer) engine.Sink {
	s := &rxdSide{w: n.w, node: n, peer: network.Host(p.Addr), p: p}
	p.User = s
	n.sides[s.peer] = s
	return s
}

func (n *rxdNode) PeerUp(p *rxd.Peer) { n.w.s.Trace(n.id, "up", uint64(network.Host(p.Addr)), 0) }

func (n *rxdNode) PeerFailed(p *rxd.Peer, err error) {
	s := p.User.(*rxdSide)
	n.w.s.Trace(n.id, err.Error(), uint64(s.peer), 0)
	if !n.w.f.mayFail() {
		n.w.l.violate("node %d gives up %d: %v", n.id, s.peer, err)
	}
	n.w.failures++
	n.ended(s)
}

// ended checks that no operation is open with a peer that was removed.
func (n *rxdNode) ended(s *rxdSide) {
	s.over = true
	if n.sides[s.peer] == s {
		n.sides[s.peer] = nil
	}
	if s.open != 0 {
		n.w.l.violate("node %d has given up %d, but %d operations are open", n.id, s.peer, s.open)
	}
}

func (n *rxdNode) Reverse(a netip.AddrPort) uint64 {
	if p := network.Host(a); n.known[p] {
		return uint64(p)
	}
	return engine.AnySource
}
func (n *rxdNode) Local(netip.AddrPort) netip.AddrPort { return network.Addr(n.id) }
func (n *rxdNode) MaxDatagram(netip.AddrPort) int      { return n.w.x.mtu }

// completed records a completion in the ledger, and checks its result.
func (n *rxdNode) completed(c *engine.Completion) {
	if n.raw {
		return
	}
	w, d := n.w, describe(c)
	if c.Inject {
		n.injects--
	}
	if c.Kind == engine.KindRecv {
		n.hungry = true
		if w.draining {
			n.wake(0)
		}
	}
	w.progress = w.s.Now
	if o := w.l.ops[c.Ctx]; o != nil && c.Kind != engine.KindRecv && !c.Inject {
		w.slowest = max(w.slowest, w.s.Now-o.at)
	}
	before := len(w.l.matches)
	w.l.completed(n.id, &d)
	for _, x := range w.l.matches[before:] {
		w.undelivered--
		w.arrived++
		x.m.side.(*rxdSide).land(x.m, n)
		if x.r.kind == opRecv && !x.r.multi {
			x.r.buf = nil
		}
	}
	if d.how == canceled && c.Kind == engine.KindSend {
		w.undelivered--
	}
	if d.how == canceled && c.Kind == engine.KindAtomic {
		w.adds[w.l.ops[c.Ctx].peer][n.id]--
	}
}

// arrived puts a datagram into the socket.
func (n *rxdNode) arrived(d *network.Datagram) {
	if len(n.inbox) >= inboxMax {
		n.w.net.Link.Full++
		d.Free()
		return
	}
	n.inbox = append(n.inbox, d)
	n.wake(n.w.s.Int64N(2000))
}

// wake schedules a pass.
func (n *rxdNode) wake(delay int64) {
	if !n.passing {
		n.passing = true
		n.w.s.After(max(delay, n.paused-n.w.s.Now), n.pass)
	}
}

func (n *rxdNode) expired() {
	if n.timerAt == 0 || n.timerAt > n.w.s.Now {
		return // the timer was set again meanwhile
	}
	n.timerAt = 0
	n.wake(0)
}

// makePass receives what has arrived, advances the engine's time, and transmits.
func (n *rxdNode) makePass() {
	s := n.w.s
	n.passing = false
	if n.dead {
		return
	}
	if n.paused > s.Now {
		n.wake(0)
		return
	}
	early := s.Chance(50)
	if early {
		n.eng.Advance(s.Now)
	}
	for _, d := range n.inbox {
		s.Trace(n.id, "receive", uint64(d.From), uint64(len(d.B)))
		n.eng.Receive(s.Now, network.Addr(d.From), d.B)
		d.Free()
	}
	n.inbox = n.inbox[:0]
	if !early {
		n.eng.Advance(s.Now)
	}
	if n.w.x.quiet && s.Chance(70) {
		n.eng.PassDone(s.Now)
	}
	if n.hungry {
		n.hungry = false
		n.w.feed(n)
	}
	n.transmit()
}

// after transmits what was posted, now or together with later posts.
func (n *rxdNode) after() {
	if n.w.f.lazy && n.w.s.Chance(80) {
		n.wake(n.w.s.Int64N(50_000))
		return
	}
	n.transmit()
}

// transmit sends what there is, sets the timer, and checks invariants.
func (n *rxdNode) transmit() {
	s := n.w.s
	if n.dead || n.blocked > s.Now {
		return
	}
	last := false
	for n.eng.Poll(s.Now, &n.out) {
		if last {
			panic("a datagram after the last one")
		}
		last = n.out.Last
		n.send()
		if n.w.x.blocks && s.Chance(2) {
			n.blocked = s.Now + s.Int64N(500_000)
			s.After(n.blocked-s.Now, n.transmit)
			break
		}
	}
	at := n.eng.Deadline()
	if at != 0 && (n.timerAt == 0 || at < n.timerAt) {
		n.timerAt = at
		s.After(max(at-s.Now, 0), n.timer)
	}
	n.w.check(n, at)
}

func (n *rxdNode) send() {
	o, size := &n.out, len(n.out.Head)
	for _, b := range o.Parts {
		size += len(b)
	}
	if size != o.Len {
		n.w.l.violate("a datagram of %d bytes is reported with %d", size, o.Len)
	}
	if o.Ext && size > n.w.x.mtu || !o.Ext && size > max(n.w.x.nativeMTU, 160) {
		n.w.l.violate("a datagram of %d bytes", size)
	}
	n.w.s.Trace(n.id, "send", uint64(network.Host(o.To)), uint64(size))
	n.w.net.Send(n.id, network.Host(o.To), o.Head, o.Parts)
}

// state describes a node for the report of a stall.
func (n *rxdNode) state() string {
	s := fmt.Sprintf("node %d, life %d: deadline %d, %d unexpected, %d posted, stats %+v\n", n.id, n.life,
		n.eng.Deadline(), n.rx.Unexpected(), n.rx.Posted(), n.eng.Stats)
	for i, p := range n.sides {
		if p != nil {
			c := p.conn()
			s += fmt.Sprintf("  to %d: up %v native %v, %v, open %d, unsent %d, in flight %d, stalled %v, waiting %v\n",
				i, p.p.Up(), p.p.Native(), c.State(), p.open, c.Unsent(), c.Handed(), c.Stalled(), c.Waiting())
		}
	}
	return s
}

// checked reports whether a datagram has a checksum of its own. Native packets have none and rely on UDP's.
func checked(b []byte) bool {
	switch rxdwire.Type(b[1]) {
	case rxdwire.TypeRTS:
		return b[0] == rxdwire.XMagic || len(b) > rxdwire.RTSLen
	case rxdwire.TypeCTS:
		return len(b) > rxdwire.CTSLen
	}
	return false
}
