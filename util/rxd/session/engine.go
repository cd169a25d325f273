package session

import (
	"encoding/binary"
	"net/netip"

	"gofabric/internal/queue"
	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/flow"
	"gofabric/util/rxd/wire"
)

var le = binary.LittleEndian

// burstMax is how many datagrams one peer sends in a row while others have data, too.
const burstMax = 64

// Engine is one rxd endpoint. It is not safe for concurrent use.
type Engine struct {
	// Stats has the counts since New. The driver may read it between calls.
	Stats      Stats
	endedFlows flow.Counts // sums of flows that have ended

	cfg   Config
	pool  *xengine.Pool
	rx    *xengine.RxContext
	mem   xengine.Memory
	hooks Hooks

	peers      map[netip.AddrPort]*Peer
	last       *Peer                       // peer of the datagram received last
	passive    int                         // peers that contacted us first; Config.MaxPeers limits them
	halfOpen   halfOpenTable               // native peers that have not proved their address
	pastPeers  map[netip.AddrPort]pastPeer // native peers that have ended
	answers    queue.FIFO[answer]          // CTS and resets that wait for Poll
	challenges challengeLimit              // limits answers to peers without a cookie
	resets     sentResets                  // sent lately
	due        queue.Heap[int64, *Peer]    // peers by the time at which to serve their deadlines

	ready, readyTail *Peer // list of peers that may have something to transmit
	burst            int   // datagrams in a row of the first peer of that list
	passPeers        *Peer // list of peers that sent something since PassDone

	failed    *Peer // peer whose Conn has ended, until checkConn handles that
	failedErr error // why it has ended

	now       int64           // time of the last call that had one
	pausesEnd int64           // end of the last pause of a Conn
	pauses    map[*Peer]int64 // end of the pause of each peer whose Conn pauses

	serial  uint64  // number of our connection attempts: upper half of the nonces
	packets *packet // free list
	npacket int     // its length
	scratch []byte  // for headers, and payload of native packets
	xh      wire.XHeader
	dg      flow.Datagram
	flowCfg flow.Config
	natConn xengine.Config // limits of operations to native peers
	flows   flow.Pool
	shares  fairness
}

// New makes the engine of an endpoint. Operations and buffers come from pool, messages are matched with receives in
// rx, and mem decides what peers may access.
func New(cfg *Config, pool *xengine.Pool, rx *xengine.RxContext, mem xengine.Memory, hooks Hooks) *Engine {
	e := &Engine{
		cfg: *cfg, pool: pool, rx: rx, mem: mem, hooks: hooks,
		peers: map[netip.AddrPort]*Peer{}, pastPeers: map[netip.AddrPort]pastPeer{}, pauses: map[*Peer]int64{},
	}
	e.cfg.setDefaults()
	// A native peer takes an atomic operation in one packet only, and has no single copy.
	e.natConn = *e.cfg.Conn
	e.natConn.AtomicMax, e.natConn.NativeAtomics, e.natConn.CMA = e.MaxAtomic(), true, nil
	e.halfOpen.init(e.cfg.MaxHalfOpen)
	e.flowCfg = flow.Config{
		RecvWindow: uint32(e.cfg.RecvWindow), PeerTimeout: e.cfg.PeerTimeout, KeepAlive: e.cfg.KeepAlive, Pool: &e.flows,
	}
	e.scratch = make([]byte, 0, wire.MaxDatagram+256)
	return e
}

// Peer returns the peer at addr. Operations may be posted to its Conn at once; they wait until the handshake is
// done. Peer starts the handshake if there was none. fi is the peer's number in the address vector (fi_av(3)). The
// caller calls Posted after posting.
func (e *Engine) Peer(addr netip.AddrPort, fi uint64, now int64) *Peer {
	p := e.peers[addr]
	if p == nil {
		p = e.newPeer(addr, fi)
		e.startHandshake(p, now)
		// It has sent RTS already. Its packets carry the index that our CTS gave it, so the new peer keeps that
		// index.
		if h := e.halfOpen.m[addr]; h != nil {
			p.index, p.hs.hasRemote, p.hs.remote = h.index, true, h.remote
			e.halfOpen.remove(h)
			delete(e.pastPeers, addr) // an RTS in between comes from a new process
		}
		return p
	}
	// The peer contacted us first, or was inserted again under another number.
	p.conn.Src = fi
	return p
}

// Lookup returns the peer at addr, or nil.
func (e *Engine) Lookup(addr netip.AddrPort) *Peer { return e.peers[addr] }

// Len returns the number of peers.
func (e *Engine) Len() int { return len(e.peers) }

// Each calls yield for every peer until it returns false. yield may remove peers.
func (e *Engine) Each(yield func(*Peer) bool) {
	for _, p := range e.peers {
		if !yield(p) {
			return
		}
	}
}

// Flushed reports, after Shutdown, whether everything that the application believes to be sent has arrived. With
// all it also waits for the answers that this end owes to peers.
func (e *Engine) Flushed(all bool) bool {
	for _, p := range e.peers {
		if p.conn.Promised(all) || all && p.nat != nil && p.nat.ackDue {
			return false
		}
	}
	return !all || e.answers.Len() == 0
}

// Shutdown begins an orderly end: operations that have not begun are withdrawn, and gofabric peers get the end of
// the stream behind the rest. The caller goes on with Poll and Advance until Flushed, then removes the peers.
func (e *Engine) Shutdown(now int64) {
	for _, p := range e.peers {
		p.conn.BeginClose()
		// Native has no closing message: its packets are only waited for.
		if p.state == extended {
			p.ext.flow.Close(now)
			e.enqueue(p)
		}
	}
}

// SetSource sets the source that messages of p are reported with, after p was inserted into the address vector, or
// removed (xengine.AnySource).
func (e *Engine) SetSource(p *Peer, fi uint64) { p.conn.Src = fi }

// Remove ends a peer. Its operations complete with err, and a gofabric peer gets a reset. The hook PeerFailed is
// not called.
func (e *Engine) Remove(p *Peer, err error) {
	if p.state != removed {
		e.endPeer(p, err, false)
	}
}

// Posted notes that the peer's Conn has something to transmit.
func (e *Engine) Posted(p *Peer) {
	// Before the handshake is done the operations wait in the Conn, and becomeUp enqueues the peer.
	if !p.queued && (p.state == native || p.state == extended) {
		e.enqueue(p)
	}
}

// Resumed notes that the peer's Conn takes bytes again.
func (e *Engine) Resumed(p *Peer) {
	p.resumeDue = true
	if p.state != removed && !p.queued {
		e.enqueue(p)
	}
}

// Failed notes why the peer's Conn has ended. Only the last one is kept: the engine handles it before it calls
// another Conn.
func (e *Engine) Failed(p *Peer, err error) {
	if e.failed != p {
		e.failed, e.failedErr = p, err
	}
}

// enqueue appends p to the list of peers that may have something to transmit.
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

// Receive takes one datagram. pkt is borrowed for the call. Every field is checked, so any bytes are allowed.
func (e *Engine) Receive(now int64, from netip.AddrPort, pkt []byte) {
	e.Stats.Received++
	e.now = now
	// Native packets begin with their version, which is never XMagic.
	if len(pkt) > 0 && pkt[0] == wire.XMagic {
		e.receiveX(now, from, pkt)
		return
	}
	base, err := wire.ParseBase(pkt)
	if err != nil {
		e.Stats.Malformed++
		return
	}
	// RTS and CTS belong to the handshake; all other packets need a connection.
	switch base.Type {
	case wire.TypeRTS:
		e.receiveRTS(now, from, pkt)
	case wire.TypeCTS:
		e.receiveCTS(now, from, pkt)
	default:
		e.receiveNative(now, from, base, pkt)
	}
}

// findPeer is Lookup for received datagrams, several of which often come from one peer.
func (e *Engine) findPeer(from netip.AddrPort) *Peer {
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
	Peer *Peer // nil: an answer to an address without a peer
	// Head has room for at least HeadMax bytes; Poll writes into its array. With room for SmallMax more, Poll
	// copies small payload behind the header: one slice costs less than two in the system call and in the checksum.
	Head []byte
	// Parts is the payload. Poll replaces it by slices appended to Parts[:0]; four are enough. They stay valid
	// until the next Receive, Advance, Remove or post, so that several datagrams can be polled and transmitted
	// together.
	Parts [][]byte
	Len   int  // of Head and Parts, bytes
	Ext   bool // extension datagram: those of one peer have equal sizes and can form a GSO batch
	// Last says that nothing follows for now, so the caller should transmit what it has gathered. Poll must be
	// called again all the same.
	Last bool
}

// HeadMax is the longest header that Poll writes into Out.Head, in bytes.
const HeadMax = wire.MaxXHeader

// SmallMax is the longest payload of an extension datagram that Poll copies into Out.Head, in bytes.
const SmallMax = 1024

// Poll fills in the next datagram to transmit. It returns false if there is none now. Answers come first, then the
// peers in turn, burstMax datagrams at a time.
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
		// Skip Poll for peers without data.
		if p.armIfIdle(now) {
			e.dequeue(p)
			continue
		}
		if e.burst < burstMax && p.poll(now, out) {
			e.burst++
			e.Stats.Sent++
			// No peer behind this one, and this one has nothing more.
			out.Last = p.nextReady == nil && p.nothingToSend()
			return true
		}
		// It has more, but others have their turn first.
		again := e.burst >= burstMax && p.state != removed
		e.dequeue(p)
		if again {
			e.enqueue(p)
		}
		if p.state != removed {
			e.armDeadline(p, p.deadline())
		}
	}
	return false
}

// dequeue removes p, the first peer, from the list of those that may have something to transmit.
func (e *Engine) dequeue(p *Peer) {
	e.burst = 0
	if e.ready = p.nextReady; e.ready == nil {
		e.readyTail = nil
	}
	p.queued, p.nextReady = false, nil
}

// Deadline returns when Advance must be called; 0: never.
func (e *Engine) Deadline() int64 {
	if e.due.Len() == 0 {
		return 0
	}
	return e.due.MinKey()
}

// Advance serves the deadlines up to now. The caller must call Poll afterwards.
func (e *Engine) Advance(now int64) {
	e.now = now
	for e.due.Len() > 0 && e.due.MinKey() <= now {
		p := e.due.Pop()
		at := p.deadline()
		// The peer's deadline has moved since it was put into the heap (armDeadline).
		if at == 0 || at > now {
			e.armDeadline(p, at)
			continue
		}
		// This process was stopped, or had no core (absence.go).
		if late := now - at; late > e.cfg.PeerTimeout/absenceFraction {
			p.excludeAbsence(now, late)
		}
		e.advance(p, now)
		if p.state == removed {
			continue
		}
		if at := p.deadline(); at > now {
			e.armDeadline(p, at)
		}
		e.enqueue(p) // Poll sets the deadline again
	}
}

// PassDone says that the application had its chance to answer what came in this pass. Acknowledgements that waited
// to travel with an answer leave with the next Poll.
func (e *Engine) PassDone(now int64) {
	for p := e.passPeers; p != nil; p = e.passPeers {
		e.passPeers, p.nextInPass, p.inPass = p.nextInPass, nil, false
		p.passDone(now)
	}
}

// addToPass notes that p sent something in this pass.
func (e *Engine) addToPass(p *Peer) {
	if !p.inPass {
		p.inPass, p.nextInPass, e.passPeers = true, e.passPeers, p
	}
}
