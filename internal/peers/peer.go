package peers

import (
	"bytes"
	"net/netip"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/mono"
	"gofabric/internal/peers/cm"
	"gofabric/internal/transport/stream"
	"gofabric/internal/xnet/engine"
)

// Peer is the main connection to a peer. It is the engine.Sink of its Conn, and the embedded endpoint takes the
// completions.
type Peer struct {
	*endpoint.Endpoint // Completed, Sent, Received, Replied
	// Conn takes the operations. Its User is the Peer.
	Conn *engine.Conn
	// Stream carries the Conn's bytes. It is nil before the first connect and between attempts.
	Stream stream.Conn
	// User is for the provider.
	User any

	set     *Set
	c       *cm.Conn       // the connection in package cm
	addr    netip.AddrPort // the peer's listening address; invalid until its request has arrived
	fi      core.FIAddr    // its index in the address vector; AddrNotAvail if it has none
	named   bool           // it has had another index, which table.byFI may still contain
	id      uint32         // its incarnation, from its answer; 0: not known
	request []byte         // private data of its request, until the answer
	old     *leaving       // the previous connection, while it is closing; usually nil
	aux     *auxConns      // nil if there was none so far
}

// leaving is a connection on which this end has sent bye.
type leaving struct {
	c      *cm.Conn
	conn   *engine.Conn
	stream stream.Conn
	user   any
}

// Addr returns the peer's listening address.
func (p *Peer) Addr() netip.AddrPort { return p.addr }

// SetID sets the peer's incarnation, from its answer.
func (p *Peer) SetID(id uint32) { p.id = id }

// of returns the connection c of package cm, and its stream, which may be nil.
func (p *Peer) of(c *cm.Conn) (*engine.Conn, stream.Conn) {
	if o := p.old; o != nil && o.c == c {
		return o.conn, o.stream
	}
	return p.Conn, p.Stream
}

// renew gives p a new connection in state Opening. It takes over the waiting operations of the previous one.
func (p *Peer) renew(now mono.Time) {
	old := p.Conn
	c := p.set.active(p, p.fi, p.sink(), now)
	p.Conn = c
	p.id = 0
	if old != nil {
		c.Adopt(old)
		c.AdoptMessages(old)
	}
}

// sink returns the sink of the main connection.
func (p *Peer) sink() engine.Sink { return p.SinkOver(p) }

// SinkOver returns the sink for a Conn of p, over s. With FI_SOURCE_ERR it also reports senders that are not in the
// address vector.
func (p *Peer) SinkOver(s engine.Sink) engine.Sink {
	if p.NamesUnknownSources() {
		return &endpoint.UnknownSource{Sink: s, E: p.Endpoint, Addr: &p.addr}
	}
	return s
}

// setSource sets the peer's index in the address vector.
func (p *Peer) setSource(fi core.FIAddr) {
	if p.fi == fi {
		return
	}
	p.named = p.named || p.fi != core.AddrNotAvail
	p.fi = fi
	p.Conn.Src = uint64(fi)
	p.set.ep.Own.SetSource(p.Conn, uint64(fi))
	for l := range p.aux.each {
		p.set.ep.Own.SetSource(l.Conn, uint64(fi))
	}
	p.set.t.index(p)
}

// rename is called when the peer's index was removed. The address may have another index already: in a shared
// vector, another process may have inserted it again, and changes of other processes do not arrive in their order.
func (p *Peer) rename() {
	fi := p.AV().ReverseAddrPort(p.addr)
	if fi == p.fi {
		return
	}
	p.fi, p.Conn.Src = core.AddrNotAvail, engine.AnySource
	for l := range p.aux.each {
		l.Conn.Src = engine.AnySource
	}
	if fi != core.AddrNotAvail {
		p.setSource(fi)
	}
}

// close closes the transport.
func (p *Peer) close() {
	if l := p.Stream; l != nil {
		p.Stream = nil
		l.Close()
	}
}

// Requested implements engine.Sink. A peer wants to connect.
func (p *Peer) Requested(c *engine.Conn, data []byte) {
	s := p.set
	defer s.run()
	if c.Denied() {
		s.Denied++
		s.m.Invalid(p.c)
		return
	}
	p.request = bytes.Clone(data) // the receive buffer is reused
	claim, err := s.cfg.Negotiator.Asked(c, p.request)
	if err != nil {
		s.m.Invalid(p.c)
		return
	}
	s.measure(p.Stream)
	p.addr = netip.AddrPortFrom(p.Stream.Peer().Addr().Unmap(), claim.Port)
	s.m.Requested(p.c, cm.Request{Addr: p.addr, ID: claim.ID, Index: claim.Index, Hidden: claim.Hidden}, mono.Now())
}

// Connected implements engine.Sink.
func (p *Peer) Connected(c *engine.Conn, data []byte) {
	s := p.set
	s.cfg.Negotiator.Up(p, c, data)
	s.m.Connected(p.c, p.id, p.Conn.Ours, mono.Now())
	s.run()
}

// Failed implements engine.Sink. After a refusal, the waiting operations move to a new connection at once, because
// those that stay on c fail.
func (p *Peer) Failed(c *engine.Conn, err error, data []byte) {
	s, now := p.set, mono.Now()
	switch o := p.old; {
	case o != nil && c == o.conn:
		s.m.Failed(o.c, o.user == nil, now)
	case c != p.Conn: // it was replaced
		return
	default:
		p.close()
		if err == engine.ErrRefused && (c.Waiting() || c.Expecting()) && !p.Closed() && s.cfg.Negotiator.Refused(data) {
			p.renew(now)
			s.m.Refused(p.c, now)
		} else {
			s.m.Failed(p.c, err == engine.ErrPeerClose && p.User == nil, now)
		}
	}
	s.run()
}

// Replied implements engine.Sink.
func (p *Peer) Replied(c *engine.Conn) {
	if o := p.old; o != nil && c == o.conn {
		o.stream.Replied()
	} else if l := p.Stream; l != nil && c == p.Conn {
		l.Replied()
	}
}

// Resumed implements engine.Sink.
func (p *Peer) Resumed(c *engine.Conn) {
	if o := p.old; o != nil && c == o.conn {
		o.stream.Resumed()
	} else if l := p.Stream; l != nil {
		l.Resumed()
	}
}

// leaver implements engine.Leaver for all connections of a Set.
type leaver Set

// Bye implements engine.Leaver.
func (s *leaver) Bye(c *engine.Conn) {
	switch u := c.User.(type) {
	case *Peer:
		if k := u.known(c); k != nil {
			s.m.Bye(k, mono.Now())
		}
	case *AuxConn:
		s.m.Bye(u.c, mono.Now())
	default:
		c.SayStay()
	}
	(*Set)(s).run()
}

// Stay implements engine.Leaver.
func (s *leaver) Stay(c *engine.Conn) {
	if p, ok := c.User.(*Peer); ok {
		if k := p.known(c); k != nil {
			s.m.Stay(k, mono.Now())
			(*Set)(s).run()
		}
	}
}

// known returns c's connection in package cm, nil if c was replaced.
func (p *Peer) known(c *engine.Conn) *cm.Conn {
	switch o := p.old; {
	case o != nil && o.conn == c:
		return o.c
	case p.Conn == c:
		return p.c
	}
	return nil
}
