package tcp

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/netx"
	"gofabric/internal/transport/stream"
	"gofabric/internal/xnet/engine"
)

// What tcp offers to layers, and to its own RDM endpoints: sockets as links (package stream).

var (
	_ stream.Domain   = (*domain)(nil)
	_ stream.Listener = (*gate)(nil)
	_ stream.Link     = (*tcpStream)(nil)
)

// gate is a listener of a domain: what it accepts becomes a link.
type gate struct {
	listener
	d *domain
	a stream.Acceptor
}

// OpenListener implements stream.Domain.
func (d *domain) OpenListener(info *core.Info, a stream.Acceptor) (stream.Listener, error) {
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
	s := &tcpStream{prog: g.d.prog, bufs: g.d.bufs, fd: fd, peer: from, local: g.local}
	if g.a.Accepted(s); s.fd != netx.NoFD {
		g.meet(s)
	}
}

// Local, Listen and Close implement stream.Listener.
func (g *gate) Local() netip.AddrPort { return g.local }
func (g *gate) Listen() error         { return g.listen(g.d.prog) }
func (g *gate) Close()                { g.close() }

// Dial implements stream.Domain.
func (d *domain) Dial(info *core.Info, dest netip.AddrPort, c *engine.Conn, up func()) (stream.Link, error) {
	s := &tcpStream{fd: netx.NoFD, conn: c, peer: dest, open: up}
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

// Local and Peer implement stream.Link.
func (s *tcpStream) Local() netip.AddrPort { return s.local }
func (s *tcpStream) Peer() netip.AddrPort  { return s.peer }

// Attach implements stream.Link.
func (s *tcpStream) Attach(c *engine.Conn) error {
	s.conn = c
	if err := s.attach(s.prog, s.bufs, netx.In); err != nil {
		s.close()
		return err
	}
	return nil
}

// OnMoved implements stream.Link.
func (s *tcpStream) OnMoved(f func()) { s.carried = f }

// Hold implements stream.Link.
func (s *tcpStream) Hold(on bool) {
	if s.held != on {
		s.held = on
		s.setWant()
	}
}

// Posted, Receive, Replied and Resumed implement stream.Link.
func (s *tcpStream) Posted(more bool) *batch.Stream { return s.posted(more) }
func (s *tcpStream) Receive()                       { s.receive() }
func (s *tcpStream) Replied()                       { s.replied() }
func (s *tcpStream) Resumed()                       { s.setWant() }

// AtRest implements stream.Link.
func (s *tcpStream) AtRest() bool {
	return s.fd != netx.NoFD && (s.move == moveNever || s.move == moveMay)
}

// Wind prepares the end of the connection (engine.Conn.BeginClose).
func (s *tcpStream) Wind() {
	s.conn.BeginClose()
	if s.fd != netx.NoFD && s.conn.State() == engine.Connected {
		s.flush()
	}
	s.Deafen()
}

// Deafen implements stream.Link: it stops taking what the peer sends, once it has been told that this end takes nothing, unless something depends on it: another message, or a move.
func (s *tcpStream) Deafen() {
	if s.fd != netx.NoFD && s.conn.KnowsEnd() && !s.conn.Waiting() && (s.move == moveNever || s.move == moveMay) {
		s.Hold(true)
	}
}

// Drained implements stream.Link. What is in shared memory or in a local socket is the peer's, whatever becomes of this process. What is in a TCP socket is
// the peer's when its system has acknowledged it: closing a socket whose input was not read discards the rest (tcp(7), RFC 9293 3.10.4).
func (s *tcpStream) Drained(all bool) bool {
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
func (s *tcpStream) isReset() bool {
	err := netx.SocketError(s.fd)
	if err != nil {
		s.conn.Break(err)
	}
	return err != nil
}

// End implements stream.Link.
func (s *tcpStream) End() {
	if s.fd == netx.NoFD {
		return
	}
	s.flush()
	if err := netx.Shutdown(s.fd, unix.SHUT_WR); err != nil {
		s.failCall("shutdown", err)
	}
}

// Finish and Close implement stream.Link.
func (s *tcpStream) Finish() {
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

func (s *tcpStream) Close() { s.close() }
