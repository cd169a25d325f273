package rxm

import (
	"bytes"

	"gofabric/internal/peers"
	"gofabric/internal/transport/stream"
	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
)

// nativeConn is one of the connections between the endpoint and a native peer. It is the engine.Sink of its
// connection, and the memory that the peer may access over it (engine.Memory).
type nativeConn struct {
	n      *native
	index  int // 0 for the first, which carries everything that must keep its order
	conn   *xengine.Conn
	stream stream.Conn
	l      *peers.AuxConn // nil for the first
	inbox  [][]byte       // packets that the gateway has refused for now
	ended  bool           // the connection has ended; inbox may still hold packets
}

// attach makes c the connection of s.
func (s *nativeConn) attach(c *xengine.Conn) {
	ep := s.n.ep
	c.Attach(&ep.d.pool, ep.d.lower, ep.packets.rx, s, s)
	c.Extended, c.Ours, c.Rendezvous = false, false, false
	c.Agreed &^= xwire.FeatureVerdicts
	ep.packets.grow()
	s.stream.OnMoved(s.n.service)
}

// addAux adds l to the connections of n. A connection that this endpoint has requested is up; one that the peer has
// requested is about to be.
func (n *native) addAux(l *peers.AuxConn) {
	s := &nativeConn{n: n, index: int(l.Index()), conn: l.Conn, stream: l.Stream, l: l}
	s.attach(l.Conn)
	l.User = s
	n.conns = append(n.conns, s)
}

// prune removes connections that have ended.
func (n *native) prune() {
	kept := n.conns[:1]
	for _, s := range n.conns[1:] {
		if s.ended && len(s.inbox) == 0 {
			n.ep.packets.shrink()
			continue
		}
		kept = append(kept, s)
	}
	clear(n.conns[len(kept):])
	n.conns = kept
}

// Completed implements engine.Sink: an operation of the gateway has ended, or the peer has accessed a region of the
// application.
func (s *nativeConn) Completed(c *xengine.Completion) {
	n := s.n
	switch c.Kind {
	case xengine.KindRemoteRead, xengine.KindRemoteWrite:
		if n.access { // to memory that the gateway has exposed, of which the application gets no event
			n.access = false
			return
		}
		c.Src = n.upper.Src
		n.sink.Completed(c)
	case xengine.KindRecv: // an error: the message was longer than a packet, or the connection ended within it
		n.ep.packets.put(c.Buf)
		if n.lost == nil && c.Err == xengine.ErrTruncated {
			n.lost = xengine.ErrProtocol
		}
	default:
		if token, ok := n.slots.end(c.Ctx); ok {
			n.ended = append(n.ended, ending{token, c.Err})
		}
	}
}

// Sent implements engine.Sink: a message was copied when it was posted.
func (s *nativeConn) Sent(*xengine.Send) { s.n.copied = true }

// Received implements engine.Sink: a packet has come.
func (s *nativeConn) Received(r *xengine.RxOp) {
	n := s.n
	b := r.Buf()
	pkt := b[:r.Len()]
	if len(s.inbox) > 0 || n.busy || n.closing || n.closed || n.lost != nil || n.upper.State() != xengine.Connected {
		s.keep(pkt)
		return
	}
	n.busy = true
	took := n.gw.Received(s.index, pkt)
	n.busy = false
	if !took {
		s.keep(pkt)
		return
	}
	n.ep.packets.put(pkt)
}

// keep stores a packet that the gateway has refused, and holds the receives of those behind it. The packet is
// copied, because all peers share the buffers: a peer whose messages find no room must not delay others. No more is
// kept of a peer than one receive has brought.
func (s *nativeConn) keep(pkt []byte) {
	s.inbox = append(s.inbox, bytes.Clone(pkt))
	s.n.ep.packets.put(pkt)
	s.stream.Hold(true)
}

// Requested, Connected, Failed, Resumed and Replied implement engine.Sink.
func (s *nativeConn) Requested(*xengine.Conn, []byte) {}

func (s *nativeConn) Connected(c *xengine.Conn, data []byte) {
	if s.l != nil {
		s.l.Connected(c, data)
		return
	}
	s.n.p.Connected(c, data)
}

func (s *nativeConn) Failed(c *xengine.Conn, err error, data []byte) {
	n := s.n
	if s.l != nil { // operations on it were under way, so the peer fails
		s.ended = true
		s.l.Failed(c, err, data)
	} else if n.lost == nil {
		n.lost = err
	}
	n.service()
}

func (s *nativeConn) Resumed(*xengine.Conn) { s.stream.Resumed() }
func (s *nativeConn) Replied(*xengine.Conn) { s.stream.Replied() }

// Verify implements engine.Memory: the memory that the gateway has exposed, and the domain's regions that the
// endpoint's peers may access.
func (s *nativeConn) Verify(key, addr, length uint64, write bool) ([]byte, xengine.Region, xengine.Refusal) {
	n := s.n
	if l, ok := n.lent[key]; ok {
		if l.write != write || addr > uint64(len(l.b)) || length > uint64(len(l.b))-addr {
			return nil, nil, xwire.RefusedRange
		}
		return l.b[addr : addr+length], l.seen, 0
	}
	return n.ep.Memory().Verify(key, addr, length, write)
}

// lentRegion counts accesses to exposed memory. It is called just before they are reported.
type lentRegion struct {
	n     *native
	bytes uint64 // accessed so far
}

// RemoteAccess implements engine.Region.
func (r *lentRegion) RemoteAccess(_ bool, n uint64) {
	r.n.access = true
	r.bytes += n
}

// Persist implements engine.Region. Exposed memory is not persistent memory.
func (r *lentRegion) Persist([]byte) error { return nil }
