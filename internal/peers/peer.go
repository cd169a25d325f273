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

// Peer is the main connection of the endpoint to another. It is its connection's engine.Sink, the endpoint being the Sink of completions.
type Peer struct {
	*endpoint.Endpoint // Completed, Sent, Received, Replied
	// Conn is what operations are posted to. Its User is the Peer.
	Conn *engine.Conn
	// Link carries it; nil before the first connect and between attempts.
	Link stream.Link
	// User is the endpoint's.
	User any

	set     *Set
	c       *cm.Conn       // what cm knows Conn as
	addr    netip.AddrPort // where the peer listens; invalid until its request came
	fi      core.FIAddr    // its index in the address vector, AddrNotAvail if not inserted
	named   bool           // it had another index, too, which may find it still
	id      uint32         // its incarnation, from its answer; 0 not known
	request []byte         // its private data, until it is answered
	old     *leaving       // the connection before, which is being closed; nil usually
	aux     *auxConns      // nil if there was none
}

// leaving is a connection on which we have said bye.
type leaving struct {
	c    *cm.Conn
	conn *engine.Conn
	link stream.Link
	user any
}

// Addr is where the peer listens.
func (p *Peer) Addr() netip.AddrPort { return p.addr }

// SetID takes note of the peer's incarnation, from its answer.
func (p *Peer) SetID(id uint32) { p.id = id }

// of is the connection that cm knows as c, and its link, which may be nil.
func (p *Peer) of(c *cm.Conn) (*engine.Conn, stream.Link) {
	if o := p.old; o != nil && o.c == c {
		return o.conn, o.link
	}
	return p.Conn, p.Link
}

// renew gives p a fresh connection in state Opening, which takes over what waits for the one before.
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

// sink is what takes the peer's completions: p, or what tells of peers that are not in the vector.
func (p *Peer) sink() engine.Sink { return p.SinkOver(p) }

// SinkOver is s, a sink of p's making, for a Conn of p: with FI_SOURCE_ERR it names who is not in the address vector.
func (p *Peer) SinkOver(s engine.Sink) engine.Sink {
	if p.NamesUnknownSources() {
		return &endpoint.UnknownSource{Sink: s, E: p.Endpoint, Addr: &p.addr}
	}
	return s
}

// setSource gives p the index that the address vector has for it.
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

// rename is called when the index was removed that p went by. The address may have another already: another owner of the vector has inserted it again, and the
// order in which other processes' changes are heard of is not the one in which they were made.
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

// close ends the transport.
func (p *Peer) close() {
	if l := p.Link; l != nil {
		p.Link = nil
		l.Close()
	}
}

// Requested implements engine.Sink: a peer wants to connect.
func (p *Peer) Requested(c *engine.Conn, data []byte) {
	s := p.set
	defer s.run()
	if c.Denied() {
		s.Denied++
		s.m.Invalid(p.c)
		return
	}
	p.request = bytes.Clone(data) // what is received next may go into the same memory
	claim, err := s.cfg.Negotiator.Asked(c, p.request)
	if err != nil {
		s.m.Invalid(p.c)
		return
	}
	s.measure(p.Link)
	p.addr = netip.AddrPortFrom(p.Link.Peer().Addr().Unmap(), claim.Port)
	s.m.Requested(p.c, cm.Request{Addr: p.addr, ID: claim.ID, Index: claim.Index, Hidden: claim.Hidden}, mono.Now())
}

// Connected implements engine.Sink.
func (p *Peer) Connected(c *engine.Conn, data []byte) {
	s := p.set
	s.cfg.Negotiator.Up(p, c, data)
	s.m.Connected(p.c, p.id, p.Conn.Ours, mono.Now())
	s.run()
}

// Failed implements engine.Sink. What waits for a connection that was refused moves to a fresh one at once, for what is left on c fails.
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
		o.link.Replied()
	} else if l := p.Link; l != nil && c == p.Conn {
		l.Replied()
	}
}

// Resumed implements engine.Sink.
func (p *Peer) Resumed(c *engine.Conn) {
	if o := p.old; o != nil && c == o.conn {
		o.link.Resumed()
	} else if l := p.Link; l != nil {
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

// known is what cm knows c as; nil if it was replaced.
func (p *Peer) known(c *engine.Conn) *cm.Conn {
	switch o := p.old; {
	case o != nil && o.conn == c:
		return o.c
	case p.Conn == c:
		return p.c
	}
	return nil
}
