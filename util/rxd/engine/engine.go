package engine

import (
	"encoding/binary"
	"net/netip"

	"gofabric/internal/queue"
	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/flow"
	"gofabric/util/rxd/wire"
)

var le = binary.LittleEndian

// turnMax is how many datagrams a peer sends in a row while others wait.
const turnMax = 64

// Engine is one rxd endpoint.
type Engine struct {
	// Stats may be read between calls.
	Stats Stats
	ended flow.Counts // of flows that are no more

	cfg   Config
	pool  *xengine.Pool
	rx    *xengine.RxContext
	mem   xengine.Memory
	hooks Hooks

	peers   map[netip.AddrPort]*Peer
	last    *Peer // of the datagram received last
	passive int   // peers that came by themselves
	half    halfTable
	memos   map[netip.AddrPort]memo
	answers queue.FIFO[answer]
	unknown strangers
	words   lastWords
	due     queue.Heap[int64, *Peer] // when to look at them

	ready, readyTail *Peer // have something to transmit
	turn             int
	touched          *Peer // heard from since Quiet

	failed *Peer // whose Conn has ended, until that is dealt with
	why    error

	now    int64           // when something was called last that was told the time
	pardon int64           // when the pauses of all peers so far are over
	pauses map[*Peer]int64 // until when those pause whose Conns do

	serial  uint64  // of connection attempts, in the upper half of the nonces
	packets *packet // free
	npacket int
	scratch []byte
	xh      wire.XHeader
	dg      flow.Datagram
	flowCfg flow.Config
	natConn xengine.Config // limits of operations towards native peers
	flows   flow.Pool
	shares  fairness
}

// New makes the engine of an endpoint. Operations and buffers come from pool, messages meet receives in rx, and mem says what peers may access.
func New(cfg *Config, pool *xengine.Pool, rx *xengine.RxContext, mem xengine.Memory, hooks Hooks) *Engine {
	e := &Engine{cfg: *cfg, pool: pool, rx: rx, mem: mem, hooks: hooks, peers: map[netip.AddrPort]*Peer{}, memos: map[netip.AddrPort]memo{}, pauses: map[*Peer]int64{}}
	e.cfg.setDefaults()
	e.natConn = *e.cfg.Conn
	e.natConn.AtomicMax, e.natConn.NativeAtomics, e.natConn.CMA = e.MaxAtomic(), true, nil
	e.half.init(e.cfg.MaxHalfOpen)
	e.flowCfg = flow.Config{RecvWindow: uint32(e.cfg.RecvWindow), PeerTimeout: e.cfg.PeerTimeout, KeepAlive: e.cfg.KeepAlive, Pool: &e.flows}
	e.scratch = make([]byte, 0, wire.MaxDatagram+256)
	return e
}

// Peer returns the peer at addr, to post operations to its Conn; they wait until the handshake is done. It begins the handshake if there was none. fi is its
// number in the address vector. Call Posted after posting.
func (e *Engine) Peer(addr netip.AddrPort, fi uint64, now int64) *Peer {
	p := e.peers[addr]
	if p == nil {
		p = e.newPeer(addr, fi)
		e.request(p, now)
		if h := e.half.m[addr]; h != nil { // it has spoken first; what it sends carries the index it was given
			p.index, p.hs.hasRemote, p.hs.remote = h.index, true, h.remote
			e.half.remove(h)
			delete(e.memos, addr) // only a new process sends RTS
		}
		return p
	}
	p.conn.Src = fi
	return p
}

// Lookup returns the peer at addr, nil if there is none.
func (e *Engine) Lookup(addr netip.AddrPort) *Peer { return e.peers[addr] }

// Len counts the peers.
func (e *Engine) Len() int { return len(e.peers) }

// Each calls yield for every peer until it returns false; it may end peers.
func (e *Engine) Each(yield func(*Peer) bool) {
	for _, p := range e.peers {
		if !yield(p) {
			return
		}
	}
}

// Flushed reports, after Shutdown, whether everything that the application takes to be sent has arrived at its peer; with all, every answer that is owed, too.
func (e *Engine) Flushed(all bool) bool {
	for _, p := range e.peers {
		if p.conn.Promised(all) || all && p.nat != nil && p.nat.ackDue {
			return false
		}
	}
	return !all || e.answers.Len() == 0
}

// Shutdown withdraws what has not begun, and tells gofabric peers that nothing follows the rest, once that has arrived. Go on until Flushed, then Remove the
// peers.
func (e *Engine) Shutdown(now int64) {
	for _, p := range e.peers {
		p.conn.BeginClose()
		if p.state == extended {
			p.ext.flow.Close(now)
			e.enqueue(p)
		}
	}
}

// SetSource makes fi the source of the messages of p, which was put into the address vector, or taken out of it (xengine.AnySource).
func (e *Engine) SetSource(p *Peer, fi uint64) { p.conn.Src = fi }

// Remove ends a peer: its operations complete with err, and a gofabric peer is told when it can be told at once.
func (e *Engine) Remove(p *Peer, err error) {
	if p.state != gone {
		e.lose(p, err, false)
	}
}

// Posted notes that the peer has something to transmit.
func (e *Engine) Posted(p *Peer) {
	if !p.queued && (p.state == native || p.state == extended) {
		e.enqueue(p)
	}
}

// Resumed notes that the peer's Conn takes bytes again.
func (e *Engine) Resumed(p *Peer) {
	p.resumed = true
	if p.state != gone && !p.queued {
		e.enqueue(p)
	}
}

// Failed notes why the peer's Conn has ended.
func (e *Engine) Failed(p *Peer, err error) {
	if e.failed != p {
		e.failed, e.why = p, err
	}
}

// enqueue puts p to the end of those that have something to transmit.
func (e *Engine) enqueue(p *Peer) {
	if p.queued {
		return
	}
	p.queued = true
	if e.readyTail == nil {
		e.ready = p
	} else {
		e.readyTail.nextReady = p
	}
	e.readyTail = p
}

// Receive takes one datagram. pkt is borrowed; every byte of it is checked.
func (e *Engine) Receive(now int64, from netip.AddrPort, pkt []byte) {
	e.Stats.Received++
	e.now = now
	if len(pkt) > 0 && pkt[0] == wire.XMagic {
		e.receiveX(now, from, pkt)
		return
	}
	base, err := wire.ParseBase(pkt)
	if err != nil {
		e.Stats.Malformed++
		return
	}
	switch base.Type {
	case wire.TypeRTS:
		e.receiveRTS(now, from, pkt)
	case wire.TypeCTS:
		e.receiveCTS(now, from, pkt)
	default:
		e.receiveNative(now, from, base, pkt)
	}
}

// find is Lookup for datagrams, which often come in rows.
func (e *Engine) find(from netip.AddrPort) *Peer {
	if p := e.last; p != nil && p.Addr == from {
		return p
	}
	p := e.peers[from]
	if p != nil {
		e.last = p
	}
	return p
}

// Out is a datagram to transmit: Head followed by Parts.
type Out struct {
	To   netip.AddrPort
	Peer *Peer // nil: an answer to a stranger
	// Head is written by Poll into the array behind it, which should have room for HeadMax bytes. With room for as much as SmallMax more, small payload is put
	// there, too: one slice costs less than two, to whom sends and to who computes checksums.
	Head []byte
	// Parts is the payload. Poll replaces it by slices appended to Parts[:0]; four are enough. They are lent until Receive, Advance, Remove or a
	// post; so several datagrams can be polled and transmitted together.
	Parts [][]byte
	Len   int  // of all, bytes
	Ext   bool // an extension datagram: those of a peer come in runs of equal size
	Last  bool // nothing follows now, for certain; Poll must be called again all the same, but what is gathered had better leave before
}

// HeadMax is room enough for Out.Head, bytes.
const HeadMax = wire.MaxXHeader

// SmallMax is the longest payload of an extension datagram that is put into Out.Head, bytes.
const SmallMax = 1024

// Poll fills in the next datagram to transmit; false: there is none now.
func (e *Engine) Poll(now int64, out *Out) bool {
	out.Parts = out.Parts[:0]
	e.now = now
	if e.answers.Len() > 0 {
		out.Last = false
		e.Stats.Sent++
		e.pollAnswer(out)
		return true
	}
	for p := e.ready; p != nil; p = e.ready {
		if p.settled(now) {
			e.dequeue(p)
			continue
		}
		if e.turn < turnMax && p.poll(now, out) {
			e.turn++
			e.Stats.Sent++
			out.Last = p.nextReady == nil && p.silent()
			return true
		}
		again := e.turn >= turnMax && p.state != gone
		e.dequeue(p)
		if again {
			e.enqueue(p)
		}
		if p.state != gone {
			e.lookAt(p, p.deadline())
		}
	}
	return false
}

// dequeue takes p, the first of those that have something to transmit, out of the list.
func (e *Engine) dequeue(p *Peer) {
	e.turn = 0
	if e.ready = p.nextReady; e.ready == nil {
		e.readyTail = nil
	}
	p.queued, p.nextReady = false, nil
}

// Deadline is when Advance must be called, 0 never.
func (e *Engine) Deadline() int64 {
	if e.due.Len() == 0 {
		return 0
	}
	return e.due.MinKey()
}

// Advance tells the time.
func (e *Engine) Advance(now int64) {
	e.now = now
	for e.due.Len() > 0 && e.due.MinKey() <= now {
		p := e.due.Pop()
		at := p.deadline()
		if at == 0 || at > now {
			e.lookAt(p, at)
			continue
		}
		if late := now - at; late > e.cfg.PeerTimeout/absentPart {
			p.excuse(now, late)
		}
		e.advance(p, now)
		if p.state == gone {
			continue
		}
		if at := p.deadline(); at > now {
			e.lookAt(p, at)
		}
		e.enqueue(p) // Poll sets the deadline again
	}
}

// Quiet tells that a pass has found nothing: answers that waited for company need not wait longer.
func (e *Engine) Quiet(now int64) {
	for p := e.touched; p != nil; p = e.touched {
		e.touched, p.nextTouched, p.touched = p.nextTouched, nil, false
		p.quiet(now)
	}
}

// touch notes that p was heard from.
func (e *Engine) touch(p *Peer) {
	if !p.touched {
		p.touched, p.nextTouched, e.touched = true, e.touched, p
	}
}
