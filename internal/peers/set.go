package peers

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/endpoint"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/peers/cm"
	"gofabric/internal/progress"
	"gofabric/internal/transport/stream"
	"gofabric/internal/xnet/engine"
)

// Set holds the peers of one endpoint. It implements endpoint.Router. Its methods must be called locked unless they
// say otherwise.
type Set struct {
	// Denied counts requests that failed authentication: the peer has no authorization key, or a different one.
	Denied uint64

	ep    *endpoint.Reliable
	cfg   Protocol
	m     *cm.Machine
	l     stream.Listener
	local netip.AddrPort
	t     table
	meter netx.Meter

	running bool             // the machine's actions are being executed
	timer   *progress.Handle // calls tick; nil until the first deadline
	armed   mono.Time        // its deadline
	dialErr error            // error of the last Dial
}

// InitSet prepares s for the endpoint ep. SetListener follows.
func (s *Set) InitSet(ep *endpoint.Reliable, cfg Protocol) {
	s.ep, s.cfg = ep, cfg
	s.cfg.Conn.Leaver = (*leaver)(s)
	s.m = cm.New(cm.Config{Patience: mono.Time(cfg.Patience), MaxConns: cfg.MaxConns, IdleTime: mono.Time(cfg.IdleTime), Aux: cfg.Aux}, (*probe)(s))
}

// active makes a connection that this end opens. u is its User.
func (s *Set) active(u any, src core.FIAddr, sink engine.Sink, now mono.Time) *engine.Conn {
	c := engine.NewActive(s.ep.Pool(), s.cfg.Conn, s.ep.Own, s.ep.Memory(), sink, int64(now))
	c.User, c.Src = u, uint64(src)
	return c
}

// attach configures c, a connection that a peer has opened.
func (s *Set) attach(c *engine.Conn, sink engine.Sink) {
	c.Attach(s.ep.Pool(), s.cfg.Conn, s.ep.Own, s.ep.Memory(), sink)
}

// connOf returns the connection c of package cm and its stream, which may be nil. It returns nil for a connection
// that has not begun.
func connOf(c *cm.Conn) (*engine.Conn, stream.Conn) {
	switch u := c.User.(type) {
	case *Peer:
		return u.of(c)
	case *AuxConn:
		return u.Conn, u.Stream
	}
	return nil, nil
}

// unlink is connOf, and removes the stream from its owner.
func unlink(c *cm.Conn) (*engine.Conn, stream.Conn) {
	n, l := connOf(c)
	switch u := c.User.(type) {
	case *Peer:
		if u.c == c {
			u.Stream = nil
		} else {
			u.old = nil
		}
	case *AuxConn:
		u.Stream = nil
	}
	return n, l
}

// Conns implements endpoint.Whole.
func (s *Set) Conns(yield func(*engine.Conn) bool) {
	for c := range s.m.Conns {
		if n, _ := connOf(c); n != nil && !yield(n) {
			return
		}
	}
}

// acceptor implements stream.Acceptor.
type acceptor Set

// Acceptor returns the acceptor for the endpoint's listeners.
func (s *Set) Acceptor() stream.Acceptor { return (*acceptor)(s) }

// Accepted implements stream.Acceptor.
func (s *acceptor) Accepted(l stream.Conn) {
	p := &Peer{Endpoint: &s.ep.Endpoint, set: (*Set)(s), fi: core.AddrNotAvail}
	p.Conn = engine.NewPassive(s.ep.Pool(), s.cfg.Conn, p, int64(mono.Now()))
	p.Conn.User = p
	if err := l.Attach(p.Conn); err != nil {
		return
	}
	p.Stream = l
	p.c = s.m.Accepted(p)
}

// SetListener sets the endpoint's listener. It closes the previous one.
func (s *Set) SetListener(l stream.Listener) {
	if s.l != nil {
		s.l.Close()
	}
	s.l, s.local = l, l.Local()
	s.m.SetLocal(s.local)
}

// Listener returns the endpoint's listener.
func (s *Set) Listener() stream.Listener { return s.l }

// Listen starts to accept connections.
func (s *Set) Listen() error { return s.l.Listen() }

// Local returns the listening address.
func (s *Set) Local() netip.AddrPort { return s.local }

// Len counts connections, including those that are opening and those whose request has not arrived.
func (s *Set) Len() int { return s.m.Len() }

// Each visits all peers with a main connection. It stops when yield returns false.
func (s *Set) Each(yield func(*Peer) bool) {
	for c := range s.m.Conns {
		if p, ok := c.User.(*Peer); ok && p.c == c && !yield(p) {
			return
		}
	}
}

// Ends implements endpoint.Ends.
func (s *Set) Ends(src uint64) (local, peer netip.AddrPort) {
	return s.local, s.ep.SourceAddr(src)
}

// Route implements endpoint.Router.
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

// Posted implements endpoint.Router.
func (s *Set) Posted(c *engine.Conn, more bool) *batch.Stream {
	var l stream.Conn
	switch u := c.User.(type) {
	case *Peer:
		l = u.Stream
	case *AuxConn:
		l = u.Stream
	}
	if l == nil {
		return nil
	}
	return l.Posted(more)
}

// connect returns the connection to a peer that has not been used by this index before. It opens one if there is
// none.
func (s *Set) connect(dest core.FIAddr) (*Peer, error) {
	ep := s.ep
	a, ok := ep.AV().AddrPort(dest)
	if !ok {
		return nil, core.ErrInval
	}
	a = netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) // in the form of the addresses of accepted connections
	if p := s.at(a); p != nil {
		p.setSource(dest)
		return p, nil
	}
	if s.m.Hidden(a) || ep.AV().Hidden(dest) {
		// The peer, or the inserter of its address, has said that it accepts no connections: wait for the peer's
		// own.
		return nil, core.ErrFirewallAddr
	}
	now := mono.Now()
	p := &Peer{Endpoint: &ep.Endpoint, set: s, addr: a, fi: dest}
	p.renew(now)
	p.c = s.m.Want(a, now)
	p.c.User = p
	s.t.index(p)
	s.dialErr = nil
	s.run()
	if p.Conn.State() == engine.Closed && s.dialErr != nil {
		no := endpoint.Errno(s.dialErr)
		if no == core.ErrAgain {
			// No local ports are left; an application would repeat the call for ever after EAGAIN.
			no = core.ErrAddrNotAvail
		}
		return nil, no
	}
	return p, nil
}

// at returns the peer that listens at a, nil if there is none.
func (s *Set) at(a netip.AddrPort) *Peer {
	if c := s.m.At(a); c != nil {
		return c.User.(*Peer)
	}
	return nil
}

// Disconnect aborts the connection to a peer. Its operations in progress fail with ErrCanceled, and the next
// operation connects again.
func (s *Set) Disconnect(fi core.FIAddr) error {
	if uint64(fi) >= uint64(len(s.t.byFI)) || s.t.byFI[fi] == nil {
		return core.ErrNotConn
	}
	s.m.Disconnect(s.t.byFI[fi].c, mono.Now())
	s.run()
	return nil
}

// Forget makes every connection drop its references to a closed memory region, also the connections behind
// gateways.
func (s *Set) Forget(key uint64) {
	for c := range s.m.Conns {
		n, l := connOf(c)
		if n != nil {
			n.Forget(key)
		}
		if f, ok := l.(endpoint.Forgetter); ok {
			f.Forget(key)
		}
	}
}

// Watch follows the bound address vector: a connected peer that is inserted later gets its index. Not locked;
// called once.
func (s *Set) Watch() {
	s.ep.WatchAV(func(fi core.FIAddr, a core.Addr) {
		at := netip.AddrPortFrom(a.IP.Addr().Unmap(), a.IP.Port())
		for _, p := range [2]*Peer{s.at(at), s.t.loopAt(at)} {
			if p != nil && p.fi == core.AddrNotAvail {
				p.setSource(fi)
			}
		}
	}, func(fi core.FIAddr) {
		for _, p := range s.t.of(fi) {
			if p != nil && p.fi == fi { // otherwise it has another index by now
				p.rename()
			}
		}
		if uint64(fi) < uint64(len(s.t.byFI)) {
			s.t.byFI[fi] = nil
		}
	})
}

// BeginDrain starts the end of all connections: each queues the message that nothing follows. Drained then reports
// whether peers have all data.
func (s *Set) BeginDrain() {
	for c := range s.Conns {
		c.BeginClose()
		s.Posted(c, false)
	}
	for p := range s.Each {
		if p.Stream != nil {
			p.Stream.StopReceiving()
		}
	}
}

// Drained reports that no connection has due data left to deliver (stream.Conn).
func (s *Set) Drained(all bool) bool {
	for c := range s.m.Conns {
		if n, l := connOf(c); n != nil && !drained(n, l, all) {
			return false
		}
	}
	return true
}

func drained(c *engine.Conn, l stream.Conn, all bool) bool {
	if l == nil {
		return !c.Promised(all)
	}
	return l.Drained(all)
}

// Close closes all connections. Queued data is transmitted as far as the transport has room at once.
func (s *Set) Close() {
	if s.l != nil {
		s.l.Close()
	}
	if s.timer != nil {
		s.timer.Remove()
		s.armed = mono.None
	}
	for _, c := range s.m.Close() {
		n, l := unlink(c)
		if l != nil {
			l.Finish()
		}
		if n != nil {
			n.Drop(engine.ErrClosed)
		}
	}
	s.t = table{}
}
