package tcp

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"gofabric/core"
	"gofabric/internal/conduit"
	"gofabric/internal/netx"
	"gofabric/internal/xnet/engine"
)

// What tcp offers to layers, and to its own RDM endpoints: sockets as links (package conduit).

var (
	_ conduit.Domain   = (*domain)(nil)
	_ conduit.Listener = (*gate)(nil)
	_ conduit.Link     = (*stream)(nil)
)

// gate is a listener of a domain: what it accepts becomes a link.
type gate struct {
	listener
	d *domain
	a conduit.Acceptor
}

// OpenListener implements conduit.Domain.
func (d *domain) OpenListener(info *core.Info, a conduit.Acceptor) (conduit.Listener, error) {
	addr, err := listenAddr(info)
	if err != nil {
		return nil, err
	}
	g := &gate{d: d, a: a}
	if err := g.listener.open(d.s, addr, classOf(info)); err != nil {
		return nil, err
	}
	g.accepted = g.take
	return g, nil
}

// take makes a link of an accepted socket.
func (g *gate) take(fd netx.FD, from netip.AddrPort) {
	s := &stream{prog: g.d.prog, bufs: g.d.bufs, fd: fd, peer: from, local: g.local}
	if g.a.Accepted(s); s.fd != netx.NoFD {
		g.meet(s)
	}
}

// Local, Listen and Close implement conduit.Listener.
func (g *gate) Local() netip.AddrPort { return g.local }
func (g *gate) Listen() error         { return g.listen(g.d.prog) }
func (g *gate) Close()                { g.close() }

// Dial implements conduit.Domain.
func (d *domain) Dial(info *core.Info, dest netip.AddrPort, c *engine.Conn, up func()) (conduit.Link, error) {
	s := &stream{fd: netx.NoFD, conn: c, peer: dest, open: up}
	if err := s.dial(d, info.SrcAddr, classOf(info)); err != nil {
		return nil, err
	}
	return s, nil
}

// classOf is the traffic class that an Info asks for.
func classOf(info *core.Info) core.TrafficClass {
	if info.Tx == nil {
		return core.TCUnspec
	}
	return info.Tx.TClass
}

// Local and Peer implement conduit.Link.
func (s *stream) Local() netip.AddrPort { return s.local }
func (s *stream) Peer() netip.AddrPort  { return s.peer }

// Attach implements conduit.Link.
func (s *stream) Attach(c *engine.Conn) error {
	s.conn = c
	if err := s.attach(s.prog, s.bufs, netx.In); err != nil {
		s.close()
		return err
	}
	return nil
}

// OnMoved implements conduit.Link.
func (s *stream) OnMoved(f func()) { s.carried = f }

// Hold implements conduit.Link.
func (s *stream) Hold(on bool) {
	if s.held != on {
		s.held = on
		s.setWant()
	}
}

// Posted, Receive, Replied and Resumed implement conduit.Link.
func (s *stream) Posted(more bool) { s.posted(more) }
func (s *stream) Receive()         { s.receive() }
func (s *stream) Replied()         { s.replied() }
func (s *stream) Resumed()         { s.setWant() }

// AtRest implements conduit.Link.
func (s *stream) AtRest() bool {
	return s.fd != netx.NoFD && (s.move == moveNever || s.move == moveMay)
}

// Wind prepares the end of the connection (engine.Conn.BeginClose).
func (s *stream) Wind() {
	s.conn.BeginClose()
	if s.fd != netx.NoFD && s.conn.State() == engine.Connected {
		s.flush()
	}
	s.Deafen()
}

// Deafen implements conduit.Link: it stops taking what the peer sends, once it has been told that this end takes nothing, unless something depends on it: another message, or a move.
func (s *stream) Deafen() {
	if s.fd != netx.NoFD && s.conn.KnowsEnd() && !s.conn.Waiting() && (s.move == moveNever || s.move == moveMay) {
		s.Hold(true)
	}
}

// Drained implements conduit.Link. What is in shared memory or in a local socket is the peer's, whatever becomes of this process. What is in a TCP socket is
// the peer's when its system has acknowledged it: closing a socket whose input was not read discards the rest (tcp(7), RFC 9293 3.10.4).
func (s *stream) Drained(all bool) bool {
	if s.fd == netx.NoFD || s.conn.State() >= engine.Broken || s.pipe != nil && s.pipe.over {
		return true
	}
	if s.conn.Promised(all) {
		switch {
		case s.move == moveHeld && netx.Unacknowledged(s.fd) == 0:
			s.sayAll()
		case s.h == nil:
			s.flush()
		}
		return s.fd == netx.NoFD || !s.conn.Promised(all)
	}
	if s.conn.State() < engine.Connected || s.moved {
		return true
	}
	heard := s.conn.BytesOut - min(uint64(netx.Unacknowledged(s.fd)), s.conn.BytesOut)
	switch {
	case heard >= s.conn.Due(all):
		return true
	case all && heard >= s.conn.Due(false) && netx.Waiting(s.fd) == 0:
		return true // closing resets nothing: the system goes on sending the goodbye by itself
	}
	return s.isReset()
}

// isReset looks whether the peer has closed its end or died. A stream that takes nothing is not told of it otherwise, and what was sent is never acknowledged then.
func (s *stream) isReset() bool {
	err := netx.SocketError(s.fd)
	if err != nil {
		s.conn.Break(err)
	}
	return err != nil
}

// End implements conduit.Link.
func (s *stream) End() {
	if s.fd == netx.NoFD {
		return
	}
	s.flush()
	if err := netx.Shutdown(s.fd, unix.SHUT_WR); err != nil {
		s.failCall("shutdown", err)
	}
}

// Finish and Close implement conduit.Link.
func (s *stream) Finish() {
	switch {
	case s.fd == netx.NoFD:
	case s.conn.State() == engine.Closed:
		s.flushClosing()
	default:
		s.flush()
		s.sayAll()
	}
	s.close()
}

func (s *stream) Close() { s.close() }
