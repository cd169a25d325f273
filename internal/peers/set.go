package peers

import (
	"net/netip"
	"time"

	"gofabric/core"
	"gofabric/internal/conduit"
	"gofabric/internal/front"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/xnet/engine"
)

// Config says what a Set stands on.
type Config struct {
	Endpoint *front.Endpoint
	Below    conduit.Domain
	Pool     *engine.Pool
	Conn     *engine.Config    // of connections
	Rx       *engine.RxContext // where they receive
	Memory   engine.Memory
	Manners  Manners
	Patience time.Duration // how long a peer may go on refusing
	// MaxConns is how many connections there should be: the longest idle is closed when there are more. 0: any number.
	MaxConns int
	// IdleTime is how long a connection may be idle before it is closed; 0: for ever.
	IdleTime time.Duration
	// Lanes is how many connections a peer may have besides its own; 0 for none, and then Lane is not asked.
	Lanes int
	Lane  LaneManners
}

// Manners is what the ends of a connection say to each other in its private data. Its methods are called locked. Data is borrowed; b is memory to append to.
type Manners interface {
	// Ask makes the private data of our request to p.
	Ask(p *Peer, b []byte) []byte
	// Asked reads that of a peer's request on c; an error refuses it.
	Asked(c *engine.Conn, data []byte) (Claim, error)
	// Take prepares p, whose request is about to be accepted on c, and makes the private data of the answer. c has what Config says.
	Take(p *Peer, c *engine.Conn, data, b []byte) []byte
	// Up tells that c of p is up, at either end: data is the peer's answer at the end that asked, nil at the other. It may give p another Conn and Link.
	Up(p *Peer, c *engine.Conn, data []byte)
	// Refuse makes the private data of a refusal of the request with data; crossed: because there is or will be another connection.
	Refuse(data []byte, crossed bool, b []byte) []byte
	// Refused says whether a refusal of our request with data may be because of another connection, so that it is worth waiting or asking again.
	Refused(data []byte) bool
}

// Claim is what a peer says of itself when it asks for a connection.
type Claim struct {
	Port   uint16 // where it listens
	ID     uint32 // names its incarnation
	Index  uint8  // the number of the lane that this is to be, 0 for the peer's own connection
	Hidden bool   // it cannot be connected to
}

// Set is the peers of one endpoint. It implements front.Router. Its methods must be called locked, if they do not say otherwise.
type Set struct {
	// Denied counts requests of peers without our authorization key, or with one that we have not.
	Denied uint64

	cfg   Config
	l     conduit.Listener
	local netip.AddrPort
	t     table

	meter   netx.Meter
	tending *progress.Handle   // calls tend; nil without a bound
	parting map[*Lane]struct{} // lanes of peers that are gone, which may still say something
}

// InitSet prepares s. The listener follows with SetListener.
func (s *Set) InitSet(cfg Config) {
	s.cfg = cfg
	s.cfg.Conn.Leaver = leaver{}
	for l := range s.parting {
		l.finish()
	}
	s.parting = nil
	s.t.init()
}

// SetRx makes connections receive elsewhere, before there are any.
func (s *Set) SetRx(rx *engine.RxContext) { s.cfg.Rx = rx }

// Rx is where connections receive.
func (s *Set) Rx() *engine.RxContext { return s.cfg.Rx }

// Conns implements front.Base.
func (s *Set) Conns(yield func(*engine.Conn) bool) {
	for p := range s.t.all {
		if o := p.old; o != nil && (!yield(o.conn) || !o.lanes.conns(yield)) {
			return
		}
		if !yield(p.Conn) || !p.lanes.conns(yield) {
			return
		}
	}
	for l := range s.parting {
		if !yield(l.Conn) {
			return
		}
	}
}

// Acceptor takes what the endpoint's listeners accept.
func (s *Set) Acceptor() conduit.Acceptor { return (*acceptor)(s) }

// SetListener makes l the endpoint's listener; one before it is closed.
func (s *Set) SetListener(l conduit.Listener) {
	if s.l != nil {
		s.l.Close()
	}
	s.l, s.local = l, l.Local()
}

// Listener is what SetListener was given last.
func (s *Set) Listener() conduit.Listener { return s.l }

// Listen lets peers connect.
func (s *Set) Listen() error { return s.l.Listen() }

// Local is where the endpoint listens.
func (s *Set) Local() netip.AddrPort { return s.local }

// Len counts connections, those under way and those of peers that have not said who they are included.
func (s *Set) Len() int { return len(s.t.all) }

// Each visits all peers with a connection; it may be ended early, and must not open or close connections.
func (s *Set) Each(yield func(*Peer) bool) {
	for p := range s.t.all {
		if !yield(p) {
			return
		}
	}
}

// Ends implements front.Ends.
func (s *Set) Ends(src uint64) (local, peer netip.AddrPort) {
	v := s.cfg.Endpoint.AV()
	if v == nil || src == engine.AnySource {
		return s.local, front.NoPeer
	}
	if a, ok := v.AddrPort(core.FIAddr(src)); ok {
		return s.local, a
	}
	return s.local, front.NoPeer
}

// Route implements front.Router.
func (s *Set) Route(dest core.FIAddr) (*engine.Conn, error) {
	if uint64(dest) < uint64(len(s.t.byFI)) {
		if p := s.t.byFI[dest]; p != nil {
			return p.Conn, nil
		}
	}
	p, err := s.connect(dest)
	if err != nil {
		return nil, err
	}
	return p.Conn, nil
}

// Posted implements front.Router.
func (s *Set) Posted(c *engine.Conn, more bool) {
	var l conduit.Link
	switch u := c.User.(type) {
	case *Peer:
		l = u.Link
	case *Lane:
		l = u.Link
	}
	if l != nil {
		l.Posted(more)
	}
}

// connect finds or opens the connection to a peer not spoken to by this index before.
func (s *Set) connect(dest core.FIAddr) (*Peer, error) {
	ep := s.cfg.Endpoint
	a, ok := ep.AV().AddrPort(dest)
	if !ok {
		return nil, core.ErrInval
	}
	a = netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) // as connections have it that it opens itself
	if p := s.t.byAddr[a]; p != nil {
		p.setSource(dest)
		return p, nil
	}
	if _, hidden := s.t.hidden[a]; hidden || ep.AV().Hidden(dest) {
		return nil, core.ErrFirewallAddr // it said, or who inserted it, that it cannot be connected to: wait until it connects
	}
	now := mono.Now()
	p := &Peer{Endpoint: ep, set: s, addr: a, fi: dest, giveUp: now.Add(s.cfg.Patience)}
	p.renew(now)
	s.t.add(p)
	if err := p.dial(); err != nil {
		p.Conn.Drop(err)
		s.t.remove(p)
		no := front.Errno(err)
		if no == core.ErrAgain {
			no = core.ErrAddrNotAvail // out of local ports; EAGAIN would be tried for ever
		}
		return nil, no
	}
	s.tend()
	return p, nil
}

// Disconnect breaks off the connection to a peer: what is under way with it fails with ErrCanceled, and the next operation connects anew.
func (s *Set) Disconnect(fi core.FIAddr) error {
	if uint64(fi) >= uint64(len(s.t.byFI)) || s.t.byFI[fi] == nil {
		return core.ErrNotConn
	}
	p := s.t.byFI[fi]
	s.t.remove(p)
	p.drop(engine.ErrClosed)
	return nil
}

// Cancel cancels a send that has not begun.
func (s *Set) Cancel(ctx uint64) bool {
	for c := range s.Conns {
		if c.Cancel(ctx) {
			return true
		}
	}
	return false
}

// Forget lets every connection go of a memory region that is being closed.
func (s *Set) Forget(key uint64) {
	for c := range s.Conns {
		c.Forget(key)
	}
}

// Watch follows the bound address vector: a peer that connected before it was inserted gets its index then. Not locked; once.
func (s *Set) Watch() {
	s.cfg.Endpoint.WatchAV(func(fi core.FIAddr, a core.Addr) {
		for _, p := range s.t.at(netip.AddrPortFrom(a.IP.Addr().Unmap(), a.IP.Port())) {
			if p != nil && p.fi == core.AddrNotAvail {
				p.setSource(fi)
			}
		}
	}, func(fi core.FIAddr) {
		for _, p := range s.t.of(fi) {
			if p != nil && p.fi == fi { // else known by another index by now
				p.rename()
			}
		}
		if uint64(fi) < uint64(len(s.t.byFI)) {
			s.t.byFI[fi] = nil
		}
	})
}

// Wind prepares the end of all connections: each says that nothing more comes behind what it has queued. Drained then tells when peers have all of it.
func (s *Set) Wind() {
	for c := range s.Conns {
		c.BeginClose()
		s.Posted(c, false)
	}
	for p := range s.t.all {
		if p.Link != nil {
			p.Link.Deafen()
		}
	}
}

// Drained reports that no connection has anything left to transmit of what is due (conduit.Link).
func (s *Set) Drained(all bool) bool {
	for p := range s.t.all {
		if !drained(p.Conn, p.Link, all) {
			return false
		}
		for l := range p.lanes.each {
			if !drained(l.Conn, l.Link, all) {
				return false
			}
		}
	}
	for l := range s.parting {
		if !drained(l.Conn, l.Link, all) {
			return false
		}
	}
	return true
}

func drained(c *engine.Conn, l conduit.Link, all bool) bool {
	if l == nil {
		return !c.Promised(all)
	}
	return l.Drained(all)
}

// Close ends all connections; what is left is sent as far as the transport takes it at once.
func (s *Set) Close() {
	if s.l != nil {
		s.l.Close()
	}
	if s.tending != nil {
		s.tending.Remove()
	}
	for p := range s.t.all {
		p.waiting = false
		p.dropOld(engine.ErrClosed)
		ls := p.lanes
		p.lanes = nil
		for l := range ls.each {
			l.finish()
		}
		if l := p.Link; l != nil {
			p.Link = nil
			l.Finish()
		}
		p.Conn.Drop(engine.ErrClosed)
	}
	for l := range s.parting {
		l.finish()
	}
	s.parting = nil
	s.t.init()
}
