package rxm

import (
	"net/netip"

	"gofabric/internal/batch"
	"gofabric/internal/endpoint"
	"gofabric/internal/mono"
	"gofabric/internal/peers"
	"gofabric/internal/telemetry"
	"gofabric/internal/transport/stream"
	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxm/engine"
	"gofabric/util/rxm/wire"
)

// native is what stands between the endpoint and a native peer: operations are posted to upper, whose stream the gateway translates to messages, reads and
// writes over its connections, of which there is one or several; links carry them.
//
// It is a stream.Link as peers sees it, and engine.Lower as the gateway does (lower.go); below.go has what the connections see. Nothing calls the gateway from within
// the gateway: what comes meanwhile is kept until service.
type native struct {
	ep    *rdmEndpoint
	p     *peers.Peer
	conns []*nativeConn // the first is there as long as native is
	upper *xengine.Conn
	gw    *engine.Gateway
	sink  xengine.Sink // of upper

	ended []ending // operations of connections that the gateway has not heard of
	slots slots    // operations of connections under way
	lent  map[uint64]lending
	lost  error // the first connection has failed

	group  uint64      // of what the gateway has sent last that keeps to one connection
	pinned *nativeConn // that one

	copied  bool // Submit of a connection has copied everything
	access  bool // what a connection reports next is an access to lent memory
	busy    bool // the gateway is at work
	closing bool
	closed  bool
	more    bool
	waking  bool
}

// ending is the end of an operation of a connection.
type ending struct {
	token uint64
	err   error
}

// newNative puts a gateway between p and c, the connection on its link: operations of p are to be posted to n.upper from now on.
func newNative(ep *rdmEndpoint, p *peers.Peer, c *xengine.Conn, remote uint64) *native {
	n := &native{ep: ep, p: p}
	n.conns = []*nativeConn{{n: n, conn: c, link: p.Link}}
	d := ep.d
	n.sink = p.SinkOver(upperSink{p})
	u := xengine.NewWaiting(d.Pool(), ep.upper, ep.Own, ep.Memory(), n.sink)
	u.User, u.Src, u.Extended = p, c.Src, true
	n.upper = u
	n.conns[0].attach(c)
	cfg := d.s.gateway()
	cfg.RemoteConn = wire.ConnIndex(remote)
	n.gw = engine.New(cfg, u, ep.Memory(), n)
	p.Conn, p.Link, p.User = u, n, n
	return n
}

// upperSink is the peer as upper sees it.
type upperSink struct{ *peers.Peer }

// Connected implements engine.Sink: the peer was told when lower came up.
func (upperSink) Connected(*xengine.Conn, []byte) {}

// wake has service called soon.
func (n *native) wake() {
	if n.busy || n.waking || n.closed {
		return
	}
	n.waking = true
	n.ep.d.Progress().After(mono.Now(), func(mono.Time) {
		n.waking = false
		n.service()
	})
}

// service lets the gateway do what there is to do.
func (n *native) service() {
	if n.busy || n.closed {
		return
	}
	n.ep.packets.refill()
	n.busy = true
	for !n.closing && n.lost == nil && n.upper.State() == xengine.Connected {
		if len(n.ended) > 0 {
			n.tellEnded()
			continue
		}
		if n.deliver() {
			continue
		}
		n.gw.Pump()
		if len(n.ended) == 0 {
			break
		}
	}
	n.busy = false
	switch {
	case n.lost != nil:
		err := n.lost
		n.gw.Fail(err) // closes n by way of Sink.Failed of upper
		n.shut()
	case n.closing || n.upper.State() == xengine.Closed:
		n.shut()
	default:
		n.post()
	}
}

// post has the connections transmit, and takes from them what the gateway wants.
func (n *native) post() {
	n.ep.packets.refill() // of what was received from within
	if len(n.conns) > 1 {
		n.prune()
	}
	for i := 0; i < len(n.conns) && !n.closed; i++ { // one may end meanwhile, and all
		if s := n.conns[i]; !s.ended {
			s.link.Hold(len(s.inbox) > 0)
			s.link.Posted(n.more)
		}
	}
}

// tellEnded tells the gateway of the operations that have ended.
func (n *native) tellEnded() {
	for i := 0; i < len(n.ended) && !n.closing; i++ {
		e := n.ended[i]
		n.gw.Done(e.token, e.err)
	}
	clear(n.ended)
	n.ended = n.ended[:0]
}

// deliver gives the gateway the packets that it did not want before, and reports whether it took one. What it takes of one connection, others may have waited for.
func (n *native) deliver() (took bool) {
	for i := 0; i < len(n.conns) && !n.closing; i++ {
		took = n.deliverFrom(n.conns[i]) || took
	}
	return took
}

func (n *native) deliverFrom(s *nativeConn) bool {
	took := 0
	for took < len(s.inbox) && !n.closing && n.gw.Received(s.index, s.inbox[took]) {
		took++
	}
	if took == 0 {
		return false
	}
	rest := copy(s.inbox, s.inbox[took:])
	clear(s.inbox[rest:])
	s.inbox = s.inbox[:rest]
	return true
}

// Local, Peer and Attach implement stream.Link.
func (n *native) Local() netip.AddrPort        { return n.first().Local() }
func (n *native) Peer() netip.AddrPort         { return n.first().Peer() }
func (n *native) Attach(c *xengine.Conn) error { return n.first().Attach(c) }

// first is the link of the first connection.
func (n *native) first() stream.Link { return n.conns[0].link }

// Forget implements endpoint.Forgetter: peers knows the auxiliary connections.
func (n *native) Forget(key uint64) { n.conns[0].conn.Forget(key) }

// ObservePath implements endpoint.Path: that of the first connection stands for all.
func (n *native) ObservePath(c telemetry.Counts) {
	if p, ok := n.first().(endpoint.Path); ok {
		p.ObservePath(c)
	}
}

// Halted implements endpoint.Halting, like ObservePath.
func (n *native) Halted() (why string, bytes, token uint64, yes bool) {
	if h, ok := n.first().(endpoint.Halting); ok {
		return h.Halted()
	}
	return "", 0, 0, false
}

// OnMoved, Hold, Replied and Resumed implement stream.Link.
func (n *native) OnMoved(func()) {}
func (n *native) Hold(bool)      {}
func (n *native) Replied()       { n.wake() }
func (n *native) Resumed()       { n.wake() }

// Posted implements stream.Link.
func (n *native) Posted(more bool) *batch.Stream {
	n.more = more
	n.service()
	n.more = false
	return nil
}

// Receive implements stream.Link.
func (n *native) Receive() {
	for i := 0; i < len(n.conns) && !n.closed; i++ {
		if s := n.conns[i]; !s.ended {
			s.link.Receive()
		}
	}
}

// AtRest implements stream.Link.
func (n *native) AtRest() bool {
	for _, s := range n.conns { // peers looks at the others' connections
		if len(s.inbox) > 0 {
			return false
		}
	}
	return !n.busy && !n.closing && !n.closed && n.lost == nil && len(n.ended) == 0 && len(n.lent) == 0 &&
		n.gw.Idle() && n.conns[0].conn.Idle() && n.first().AtRest()
}

// StopReceiving implements stream.Link: what native peers send opens the way for what is due.
func (n *native) StopReceiving() {}

// Drained implements stream.Link.
func (n *native) Drained(all bool) bool {
	if n.closed || n.closing || n.lost != nil {
		return true
	}
	if n.busy || len(n.ended) > 0 || n.upper.Promised(all) || n.gw.Promised() {
		return false
	}
	for _, s := range n.conns {
		if !s.ended && !s.link.Drained(all) {
			return false
		}
	}
	return true
}

// End implements stream.Link. A native peer that has nothing under way closes its end without a word to its application.
func (n *native) End() { n.first().End() }

// Finish implements stream.Link.
func (n *native) Finish() {
	if n.closed {
		return
	}
	n.gw.Pump()
	n.first().OnMoved(nil)
	n.first().Finish()
	n.shut()
}

// Close implements stream.Link.
func (n *native) Close() {
	if n.busy {
		n.closing = true
		return
	}
	n.shut()
}

// shut ends everything below upper that is native's.
func (n *native) shut() {
	if n.closed {
		return
	}
	n.closed = true
	n.gw.Close()
	n.first().OnMoved(nil)
	n.conns[0].conn.Drop(xengine.ErrClosed)
	n.first().Close()
	n.ended, n.slots, n.lent = nil, slots{}, nil
	for _, s := range n.conns { // peers ends the others
		s.inbox = nil
		n.ep.packets.shrink()
	}
}
