package gateway

import (
	"gofabric/internal/queue"
	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxm/wire"
)

// Gateway translates between a Conn and a native peer.
//
//	upper -> Pump -> Lower              operations of the application
//	peer's packets -> Received -> upper
//	Lower -> Done                       the end of an operation that Lower took
//
// Lower may take an operation and complete it later. Its token then names what is waiting: the upper bits the kind
// (tokFlight and others), the lower bits the item.
type Gateway struct {
	cfg  Config
	up   *xengine.Conn  // the Conn that the endpoint posts to
	mem  xengine.Memory // memory that the peer may access by atomic operations
	low  Lower          // the connections to the peer
	dead bool

	// To the peer, in the order of step: credits, control, transfers, next, segments, upper's stream.
	next        outgoing                  // the packet or operation that Lower has not taken yet
	segments    segmenting                // the message of which the next segment is to be made
	flights     queue.FIFO[inFlight]      // parts of upper's stream that Lower has
	flightsDone uint64                    // number of flights that have ended: the index of the first in flights
	control     queue.FIFO[controlPacket] // packets besides upper's stream
	transfers   queue.FIFO[uint64]        // tokens of rendezvous whose reads or writes have not begun
	segID       uint64                    // name of the last message in segments
	requests    slots[pendingRequest]     // our reads and atomic operations without an answer
	rndvSends   slots[rndvSend]           // our messages that were announced
	credits     uint64                    // packets that may be sent, with FlowControl

	// From the peer.
	in          inbound                // the message in segments that is being received
	rndvRecvs   slots[rndvRecv]        // announced messages that have met their receive
	writes      map[uint64]uint64      // rndvRecvs whose message the peer writes: by the peer's name for it
	acks        queue.FIFO[peerAtomic] // atomic operations that upper has not executed yet
	results     queue.FIFO[peerAtomic] // atomic operations whose result upper has not sent yet
	unannounced int                    // receives that the peer does not know, with FlowControl
	creditsDue  bool                   // they are to be announced

	pkt      wire.Packet // scratch
	scratch  []byte
	emptyBuf [1]byte // the target of an empty receive (requestWrite)
}

// New makes a gateway between upper, whose connection may not be up yet, and lower. mem is the memory that upper
// was made with.
func New(cfg *Config, upper *xengine.Conn, mem xengine.Memory, lower Lower) *Gateway {
	g := &Gateway{cfg: *cfg, up: upper, mem: mem, low: lower}
	g.cfg.setDefaults()
	upper.SetFetcher(g, g.cfg.SARLimit)
	if g.cfg.FlowControl {
		// Announce all receives at once: the peer has one credit until then.
		g.credits, g.unannounced = 1, g.cfg.RxSize
		g.checkCreditsDue()
	}
	return g
}

// alive reports that packets may be sent and received. It closes the gateway if upper has closed.
func (g *Gateway) alive() bool {
	if g.dead {
		return false
	}
	switch g.up.State() {
	case xengine.Connected:
		return true
	case xengine.Closed:
		g.Close()
	}
	return false
}

// Pump gives Lower what is to be sent, until Lower takes no more. The caller calls it after a post, after Received
// and when Lower has room again.
func (g *Gateway) Pump() {
	for g.alive() && g.step() {
	}
}

// step sends one thing. It reports whether there may be more to send.
func (g *Gateway) step() bool {
	// Credits go first: the peer may be waiting for them with its last one.
	if g.creditsDue && g.hasCredit(true) && !g.sendCredits() {
		return false
	}
	switch {
	// Answers before data: the peer may hold back its own packets until it has them.
	case g.control.Len() > 0:
		return g.sendControl()
	case g.transfers.Len() > 0:
		return g.startTransfer()
	case g.next.kind != outNone:
		return g.sendNext()
	case g.segments.left > 0:
		g.makeSegment()
		return true
	case g.up.Unsent() > 0:
		return g.makeNext()
	}
	return false
}

// Kinds of tokens.
const (
	tokFlight   = uint64(iota) << 56 // a part of upper's stream; the name counts the flights
	tokRequest                       // a read; the name is that in requests
	tokRndvRecv                      // a rendezvous read; the name is that in rndvRecvs
	tokRndvSend                      // a rendezvous write, or its write_done; the name is that in rndvSends
	tokControl                       // a control packet, whose end has no consequence
	tokMask     = uint64(0xff) << 56
)

// Done takes the end of an operation that Lower took with token. An error ends the connection: the order of the
// stream could not be kept without the operation.
func (g *Gateway) Done(token uint64, err error) {
	if !g.alive() {
		return
	}
	// An operation failed: the connection below is lost.
	if err != nil {
		g.Fail(err)
		return
	}
	name := token &^ tokMask
	switch token & tokMask {
	case tokFlight:
		g.flightDone(name)
	case tokRequest:
		// A read has its data.
		if q := g.requests.get(name); q != nil {
			op := q.op
			g.requests.remove(name)
			g.up.RequestDone(op, nil)
		}
	case tokRndvRecv:
		g.completeRead(name)
	case tokRndvSend:
		g.writeDone(name)
	}
	g.alive()
}

// Fail ends the connection with err: Lower has lost it, or the endpoint closes. Lower must release all memory
// before the domain's lock is released, because the operations of the application end here.
func (g *Gateway) Fail(err error) {
	g.Close()
	g.up.Fail(err)
}

// Close ends the peer's access to memory. The gateway does nothing afterwards. It is for an upper that was dropped
// or has failed already.
func (g *Gateway) Close() {
	if g.dead {
		return
	}
	// From here on calls have no effect, and tokens name nothing.
	g.dead = true
	g.rndvSends.each(func(l *rndvSend) { g.conceal(&l.exposed) })
	g.rndvRecvs.each(func(f *rndvRecv) { g.conceal(&f.exposed) })
	g.next, g.segments, g.in = outgoing{}, segmenting{}, inbound{}
	g.flights, g.control, g.transfers = queue.FIFO[inFlight]{}, queue.FIFO[controlPacket]{}, queue.FIFO[uint64]{}
	g.requests, g.rndvSends, g.rndvRecvs = slots[pendingRequest]{}, slots[rndvSend]{}, slots[rndvRecv]{}
	g.writes, g.acks, g.results = nil, queue.FIFO[peerAtomic]{}, queue.FIFO[peerAtomic]{}
}

// Idle reports that nothing is under way that upper does not know of. An idle connection may be closed.
func (g *Gateway) Idle() bool {
	return !g.creditsDue && g.next.kind == outNone && g.segments.left == 0 && g.in.left == 0 &&
		g.flights.Len() == 0 && g.control.Len() == 0 && g.transfers.Len() == 0 &&
		g.requests.len() == 0 && g.rndvSends.len() == 0 && g.rndvRecvs.len() == 0 && g.acks.Len() == 0 && g.results.Len() == 0
}

// Promised reports whether something is not transmitted yet that upper has handed over.
func (g *Gateway) Promised() bool {
	return g.next.kind != outNone || g.segments.left != 0 || g.control.Len() > 0 || g.flights.Len() > 0
}

// exposed is memory that the peer may access during a rendezvous.
type exposed struct {
	handle uint64 // Lower's
	is     bool   // it can be accessed
}

// conceal ends the access.
func (g *Gateway) conceal(e *exposed) {
	if e.is {
		e.is = false
		g.low.Conceal(e.handle)
	}
}

// violation ends the connection because of a packet that breaks the protocol.
func (g *Gateway) violation() { g.Fail(xengine.ErrProtocol) }
