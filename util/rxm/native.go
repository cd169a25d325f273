// A native peer: the gateway with its connections on the one side, and the endpoint on the other.

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
	"gofabric/util/rxm/gateway"
	"gofabric/util/rxm/wire"
)

// native translates between the endpoint and a native peer. Operations are posted to upper. The gateway translates
// upper's stream to messages, reads and writes over its connections, of which there is one or several. Streams carry
// these.
//
// To package peers, native is a stream.Conn; to the gateway it is engine.Lower (lower.go). below.go has what the
// connections call. The gateway is never called from within one of its own calls: events that come meanwhile are
// kept until service runs.
type native struct {
	ep    *rdmEndpoint
	p     *peers.Peer
	conns []*nativeConn // the first exists as long as native does
	upper *xengine.Conn
	gw    *gateway.Gateway
	sink  xengine.Sink // of upper

	ended []ending // operations of connections that have ended, not reported to the gateway yet
	slots slots    // posted operations of connections
	lent  map[uint64]lending
	lost  error // the error with which the first connection has failed

	group  uint64      // the group of the gateway's last operation that must keep to one connection
	pinned *nativeConn // the connection of that group

	copied  bool // Submit of a connection has copied everything
	access  bool // the next completion of a connection is an access to exposed memory
	busy    bool // the gateway is being called
	closing bool
	closed  bool
	more    bool
	waking  bool
}

// ending is the end of a connection's operation.
type ending struct {
	token uint64
	err   error
}

// newNative puts a gateway between p and its connection c. Operations for p are posted to n.upper from now on.
func newNative(ep *rdmEndpoint, p *peers.Peer, c *xengine.Conn, remote uint64) *native {
	n := &native{ep: ep, p: p}
	n.conns = []*nativeConn{{n: n, conn: c, stream: p.Stream}}
	d := ep.d
	n.sink = p.SinkOver(upperSink{p})
	u := xengine.NewWaiting(d.Pool(), ep.upper, ep.Own, ep.Memory(), n.sink)
	u.User, u.Src, u.Extended = p, c.Src, true
	n.upper = u
	n.conns[0].attach(c)
	cfg := d.s.gateway()
	cfg.RemoteConn = wire.ConnIndex(remote)
	n.gw = gateway.New(cfg, u, ep.Memory(), n)
	p.Conn, p.Stream, p.User = u, n, n
	return n
}

// upperSink makes the peer the engine.Sink of upper.
type upperSink struct{ *peers.Peer }

// Connected implements engine.Sink. It does nothing, as the peer was informed when lower came up.
func (upperSink) Connected(*xengine.Conn, []byte) {}

// wake arranges a call of service soon.
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

// service lets the gateway do all work that is possible now.
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
		n.gw.Fail(err) // Failed of upper's Sink closes n
		n.shut()
	case n.closing || n.upper.State() == xengine.Closed:
		n.shut()
	default:
		n.post()
	}
}

// post makes the connections transmit, and passes the gateway the packets that it has refused before.
func (n *native) post() {
	n.ep.packets.refill() // replaces buffers of packets that were received during this call
	if len(n.conns) > 1 {
		n.prune()
	}
	for i := 0; i < len(n.conns) && !n.closed; i++ { // a connection, or all of them, may end meanwhile
		if s := n.conns[i]; !s.ended {
			s.stream.Hold(len(s.inbox) > 0)
			s.stream.Posted(n.more)
		}
	}
}

// tellEnded reports ended operations to the gateway.
func (n *native) tellEnded() {
	for i := 0; i < len(n.ended) && !n.closing; i++ {
		e := n.ended[i]
		n.gw.Done(e.token, e.err)
	}
	clear(n.ended)
	n.ended = n.ended[:0]
}

// deliver offers the gateway the packets that it has refused before, and reports whether it took one. A packet of
// one connection may let packets of others be taken.
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

// Local, Peer and Attach implement stream.Conn.
func (n *native) Local() netip.AddrPort        { return n.first().Local() }
func (n *native) Peer() netip.AddrPort         { return n.first().Peer() }
func (n *native) Attach(c *xengine.Conn) error { return n.first().Attach(c) }

// first returns the stream of the first connection.
func (n *native) first() stream.Conn { return n.conns[0].stream }

// Forget implements endpoint.Forgetter. Package peers handles the auxiliary connections.
func (n *native) Forget(key uint64) { n.conns[0].conn.Forget(key) }

// ObservePath implements endpoint.Path with the first connection's path, which stands for all.
func (n *native) ObservePath(c telemetry.Counts) {
	if p, ok := n.first().(endpoint.Path); ok {
		p.ObservePath(c)
	}
}

// Stuck implements endpoint.StuckDetector, also with the first connection.
func (n *native) Stuck() (why string, bytes, token uint64, yes bool) {
	if h, ok := n.first().(endpoint.StuckDetector); ok {
		return h.Stuck()
	}
	return "", 0, 0, false
}

// OnMoved, Hold, Replied and Resumed implement stream.Conn.
func (n *native) OnMoved(func()) {}
func (n *native) Hold(bool)      {}
func (n *native) Replied()       { n.wake() }
func (n *native) Resumed()       { n.wake() }

// Posted implements stream.Conn.
func (n *native) Posted(more bool) *batch.Stream {
	n.more = more
	n.service()
	n.more = false
	return nil
}

// Receive implements stream.Conn.
func (n *native) Receive() {
	for i := 0; i < len(n.conns) && !n.closed; i++ {
		if s := n.conns[i]; !s.ended {
			s.stream.Receive()
		}
	}
}

// AtRest implements stream.Conn.
func (n *native) AtRest() bool {
	for _, s := range n.conns { // package peers asks the other connections itself
		if len(s.inbox) > 0 {
			return false
		}
	}
	return !n.busy && !n.closing && !n.closed && n.lost == nil && len(n.ended) == 0 && len(n.lent) == 0 &&
		n.gw.Idle() && n.conns[0].conn.Idle() && n.first().AtRest()
}

// StopReceiving implements stream.Conn. It does nothing: operations that are still due may need packets of the
// native peer.
func (n *native) StopReceiving() {}

// Drained implements stream.Conn.
func (n *native) Drained(all bool) bool {
	if n.closed || n.closing || n.lost != nil {
		return true
	}
	if n.busy || len(n.ended) > 0 || n.upper.Promised(all) || n.gw.Promised() {
		return false
	}
	for _, s := range n.conns {
		if !s.ended && !s.stream.Drained(all) {
			return false
		}
	}
	return true
}

// End implements stream.Conn. A native peer without posted operations closes its end and does not report this to
// its application.
func (n *native) End() { n.first().End() }

// Finish implements stream.Conn.
func (n *native) Finish() {
	if n.closed {
		return
	}
	n.gw.Pump()
	n.first().OnMoved(nil)
	n.first().Finish()
	n.shut()
}

// Close implements stream.Conn.
func (n *native) Close() {
	if n.busy {
		n.closing = true
		return
	}
	n.shut()
}

// shut ends all native connections below upper.
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
	for _, s := range n.conns { // package peers ends the others
		s.inbox = nil
		n.ep.packets.shrink()
	}
}
