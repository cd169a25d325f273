package tcp

import (
	"net/netip"
	"syscall"

	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/netx"
	"gofabric/internal/transport/stream"
	"gofabric/internal/xnet/engine"
)

// Connections (package stream) for layers and for the provider's own RDM endpoints: sockets without the calls of a MSG
// endpoint.

var (
	_ stream.Domain   = (*domain)(nil)
	_ stream.Listener = (*domainListener)(nil)
	_ stream.Conn     = (*tcpStream)(nil)
)

// domainListener is a listener of a domain. Accepted connections become stream.Conns.
type domainListener struct {
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
	g := &domainListener{d: d, a: a}
	if err := g.listener.open(d.s, addr, classOf(info)); err != nil {
		return nil, err
	}
	g.accepted = g.take
	return g, nil
}

// take makes a stream.Conn from an accepted socket.
func (g *domainListener) take(fd netx.FD, from netip.AddrPort) {
	s := acceptStream(g.d.bufs, fd, from)
	s.prog, s.bufs = g.d.prog, g.d.bufs
	if g.a.Accepted(s); s.isOpen() {
		g.admit(s)
	}
}

// Local, Listen and Close implement stream.Listener.
func (g *domainListener) Local() netip.AddrPort { return g.local }
func (g *domainListener) Listen() error         { return g.listen(g.d.prog) }
func (g *domainListener) Close()                { g.close() }

// Dial implements stream.Domain.
func (d *domain) Dial(info *core.Info, dest netip.AddrPort, c *engine.Conn, up func()) (stream.Conn, error) {
	s := &tcpStream{conn: c, peer: dest, start: up}
	if err := s.dial(d, netx.NoFD, info.SrcAddr, classOf(info)); err != nil {
		return nil, err
	}
	return s, nil
}

// dial connects a new socket to s.peer and registers it. It uses bound instead if that is a socket with an address.
// conn must be in state Opening.
func (s *tcpStream) dial(d *domain, bound netx.FD, src core.Addr, tclass core.TrafficClass) error {
	fd := bound
	if fd == netx.NoFD {
		var err error
		if fd, err = netx.StreamSocket(netx.Family(s.peer.Addr())); err != nil {
			return err
		}
	} else {
		src = core.Addr{}
	}
	s.setCarrier(d.bufs.newCarrier(fd))
	err := startConnect(fd, d.s, src.IP.Addr(), s.peer, tclass)
	if err == nil {
		err = s.attach(d.prog, d.bufs)
	}
	if err != nil {
		s.close()
	}
	return err
}

// classOf returns the traffic class of an Info.
func classOf(info *core.Info) core.TrafficClass {
	if info.Tx == nil {
		return core.TCUnspec
	}
	return info.Tx.TClass
}

// Local and Peer implement stream.Conn.
func (s *tcpStream) Local() netip.AddrPort { return s.local }
func (s *tcpStream) Peer() netip.AddrPort  { return s.peer }

// Attach implements stream.Conn.
func (s *tcpStream) Attach(c *engine.Conn) error {
	s.conn = c
	if err := s.attach(s.prog, s.bufs); err != nil {
		s.close()
		return err
	}
	return nil
}

// OnMoved implements stream.Conn.
func (s *tcpStream) OnMoved(f func()) { s.onMoved = f }

// Hold implements stream.Conn.
func (s *tcpStream) Hold(on bool) {
	if s.held != on {
		s.held = on
		s.setWant()
	}
}

// Posted, Receive, Replied and Resumed implement stream.Conn.
func (s *tcpStream) Posted(more bool) *batch.Stream { return s.posted(more) }
func (s *tcpStream) Receive()                       { s.receive() }
func (s *tcpStream) Replied()                       { s.replied() }
func (s *tcpStream) Resumed()                       { s.setWant() }

// AtRest implements stream.Conn.
func (s *tcpStream) AtRest() bool {
	return s.isOpen() && s.moveAtRest()
}

// BeginDrain starts the end of the connection (engine.Conn.BeginClose).
func (s *tcpStream) BeginDrain() {
	s.conn.BeginClose()
	if s.isOpen() && s.conn.State() == engine.Connected {
		s.flush()
	}
	s.StopReceiving()
}

// StopReceiving implements stream.Conn. It stops receiving after the peer has been told that this end receives no
// more. It goes on receiving while an operation waits for a message, or a move is in progress.
func (s *tcpStream) StopReceiving() {
	if s.isOpen() && s.conn.KnowsEnd() && !s.conn.Waiting() && s.moveAtRest() {
		s.Hold(true)
	}
}

// Drained implements stream.Conn.
func (s *tcpStream) Drained(all bool) bool {
	if !s.isOpen() || s.conn.State() >= engine.Broken {
		return true
	}
	if s.conn.Promised(all) {
		switch {
		// The peer's system has "moved", so the peer can read the next carrier.
		case s.move == moveHeld && s.carrier.delivery().unacknowledged == 0:
			s.finishMove()
		case s.h == nil:
			s.flush()
		}
		return !s.isOpen() || !s.conn.Promised(all)
	}
	if s.conn.State() < engine.Connected {
		return true
	}
	d := s.carrier.delivery()
	arrived := s.conn.BytesOut - min(d.unacknowledged, s.conn.BytesOut)
	switch {
	case arrived >= s.conn.Due(all):
		return true
	case all && arrived >= s.conn.Due(false) && d.unread == 0:
		return true // closing resets nothing, and the system transmits the rest of the goodbye
	// A stream that does not receive gets no other report of it, and the sent bytes would never be acknowledged.
	case d.err != nil:
		s.conn.Break(d.err)
		return true
	}
	return false
}

// End implements stream.Conn.
func (s *tcpStream) End() {
	if !s.isOpen() {
		return
	}
	s.flush()
	if !s.isOpen() {
		return
	}
	if err := netx.Shutdown(s.carrier.socket(), syscall.SHUT_WR); err != nil {
		s.failCall("shutdown", err)
	}
}

// Finish and Close implement stream.Conn.
func (s *tcpStream) Finish() {
	switch {
	case !s.isOpen():
	case s.conn.State() == engine.Closed:
		s.flushRejection()
	default:
		s.flush()
		s.finishMove()
	}
	s.close()
}

func (s *tcpStream) Close() { s.close() }
