package engine

import (
	"gofabric/internal/queue"
	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxm/wire"
)

// Gateway translates between a Conn and a native peer.
//
//	upper -> Pump -> Lower              what is posted
//	Received -> upper                   the peer's packets
//	Done                                the end of what Lower was given
type Gateway struct {
	cfg  Config
	up   *xengine.Conn
	mem  xengine.Memory
	low  Lower
	dead bool

	// To the peer.
	next    outgoing           // what Lower did not take yet
	cut     cutting            // the message of which the next segment is to be made
	flights queue.FIFO[flight] // parts of upper's stream that Lower has
	landed  uint64             // how many of them have left the queue: their names go on from there
	control queue.FIFO[notice] // packets besides upper's stream
	started queue.FIFO[uint64] // announced messages whose transfer is to begin: tokens
	segID   uint64
	asked   slots[question]
	lent    slots[loan]
	credits uint64

	// From the peer.
	in      inbound
	fetches slots[fetch]
	writes  map[uint64]uint64   // announced messages that the peer is to write, by its name: tokens
	acks    queue.FIFO[request] // atomic operations that upper has not done yet
	results queue.FIFO[request] // and those whose result it has not sent
	owed    int                 // credits
	paying  bool                // tell the peer of them

	pkt     wire.Packet // scratch
	scratch []byte
	nothing [1]byte // where an empty receive is written to
}

// New makes a gateway between upper, which may not be up yet, and lower. mem is what upper was made with.
func New(cfg *Config, upper *xengine.Conn, mem xengine.Memory, lower Lower) *Gateway {
	g := &Gateway{cfg: *cfg, up: upper, mem: mem, low: lower}
	g.cfg.fill()
	upper.SetFetcher(g, g.cfg.SARLimit)
	if g.cfg.FlowControl {
		g.credits, g.owed = 1, g.cfg.RxSize
		g.payCredits()
	}
	return g
}

// alive reports that packets may flow, and cleans up when they may not any more.
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

// Pump gives lower what is to be sent, until it takes no more.
func (g *Gateway) Pump() {
	for g.alive() && g.step() {
	}
}

// step does the next thing, and reports whether there may be more to do.
func (g *Gateway) step() bool {
	if g.paying && g.credit(true) && !g.sendCredits() {
		return false
	}
	switch {
	case g.control.Len() > 0:
		return g.sendNotice()
	case g.started.Len() > 0:
		return g.startTransfer()
	case g.next.kind != outNone:
		return g.sendNext()
	case g.cut.left > 0:
		g.makeSegment()
		return true
	case g.up.Unsent() > 0:
		return g.makeNext()
	}
	return false
}

// The kinds of tokens: what they name.
const (
	tokFlight = uint64(iota) << 56
	tokAsked
	tokFetch
	tokLoan
	tokNotice
	tokMask = uint64(0xff) << 56
)

// Done takes the end of an operation of lower.
func (g *Gateway) Done(token uint64, err error) {
	if !g.alive() {
		return
	}
	if err != nil {
		g.Fail(err)
		return
	}
	name := token &^ tokMask
	switch token & tokMask {
	case tokFlight:
		g.flown(name)
	case tokAsked:
		if q := g.asked.get(name); q != nil {
			op := q.op
			g.asked.remove(name)
			g.up.RequestDone(op, nil)
		}
	case tokFetch:
		g.fetched(name)
	case tokLoan:
		g.written(name)
	}
	g.alive()
}

// Fail ends the connection: lower has lost it, or the endpoint closes. Lower must let go of all memory before its lock is released.
func (g *Gateway) Fail(err error) {
	g.Close()
	g.up.Fail(err)
}

// Close takes back what lower lets the peer access, and does nothing from then on. It is for an upper that was dropped, or has failed by itself.
func (g *Gateway) Close() {
	if g.dead {
		return
	}
	g.dead = true
	g.lent.each(func(l *loan) { g.conceal(&l.exposed) })
	g.fetches.each(func(f *fetch) { g.conceal(&f.exposed) })
	g.next, g.cut, g.in = outgoing{}, cutting{}, inbound{}
	g.flights, g.control, g.started = queue.FIFO[flight]{}, queue.FIFO[notice]{}, queue.FIFO[uint64]{}
	g.asked, g.lent, g.fetches = slots[question]{}, slots[loan]{}, slots[fetch]{}
	g.writes, g.acks, g.results = nil, queue.FIFO[request]{}, queue.FIFO[request]{}
}

// Idle reports that nothing is under way besides what upper knows of.
func (g *Gateway) Idle() bool {
	return !g.paying && g.next.kind == outNone && g.cut.left == 0 && g.in.left == 0 && g.flights.Len() == 0 && g.control.Len() == 0 && g.started.Len() == 0 &&
		g.asked.len() == 0 && g.lent.len() == 0 && g.fetches.len() == 0 && g.acks.Len() == 0 && g.results.Len() == 0
}

// Promised reports whether something that upper has let go of has not been transmitted.
func (g *Gateway) Promised() bool {
	return g.next.kind != outNone || g.cut.left != 0 || g.control.Len() > 0 || g.flights.Len() > 0
}

// exposed is memory that the peer may access.
type exposed struct {
	handle uint64
	is     bool
}

func (g *Gateway) conceal(e *exposed) {
	if e.is {
		e.is = false
		g.low.Conceal(e.handle)
	}
}

// protocol ends the connection, for what the peer has sent makes no sense.
func (g *Gateway) protocol() { g.Fail(xengine.ErrProtocol) }
