package tcp

import (
	"errors"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"gofabric/core"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
)

const (
	listenBacklog = 4096
	// Accepts per event, because the connections of the domain wait in the meantime.
	acceptRounds = 16
	acceptPause  = 2 * time.Millisecond // between attempts to accept while room, descriptors or memory are missing
)

// listener is a listening socket. It gives accepted sockets to its owner.
//
// Accepted connections that have not sent a connection request are pending (pending.go). They hold descriptors, so
// their number and rate are bounded: a peer that only connects cannot exhaust the process.
type listener struct {
	fd           netx.FD
	h            *progress.Handle
	local        netip.AddrPort
	spare        *os.File // a descriptor to close when none is left, so that one connection can be accepted and reset
	accepted     func(fd netx.FD, peer netip.AddrPort)
	full         func() bool // reports that the owner takes no more for now; nil: it always does
	s            *settings
	tos          int          // the type-of-service byte of accepted sockets
	pending      pendingConns // accepted, but without a request so far
	pendingShare int          // of the process' descriptors
	refused      uint64
}

// open makes a socket that is bound to a, or to a port of the configured range if a has none. class is the traffic
// class of the answers to connection requests and of accepted sockets.
func (l *listener) open(s *settings, a netip.AddrPort, class core.TrafficClass) error {
	fd, err := netx.StreamSocket(netx.Family(a.Addr()))
	if err != nil {
		return err
	}
	l.fd, l.s, l.tos = fd, s, class.TOS()
	l.pendingShare = max(netx.DescriptorLimit()/2, 1)
	l.pending.init(min(pendingMax, l.pendingShare))
	if err = l.bind(s, a); err == nil {
		l.local, err = netx.LocalAddr(fd)
	}
	if err == nil && l.tos != 0 {
		err = netx.SetDSCP(fd, l.tos)
	}
	if err != nil {
		netx.Close(fd)
		l.fd = netx.NoFD
	}
	return err
}

// bind binds the socket to a, or to a free port of the configured range.
func (l *listener) bind(s *settings, a netip.AddrPort) error {
	if a.Port() != 0 || s.portHigh == 0 {
		if err := netx.SetReuseAddr(l.fd, true); err != nil {
			return err
		}
		return netx.Bind(l.fd, a)
	}
	// Two sockets that reuse addresses can be bound to one port until one of them listens (socket(7),
	// SO_REUSEADDR). The first round therefore looks for a port that no socket uses, the second for one that only
	// old connections use.
	var err error
	for _, reuse := range []bool{false, true} {
		if err = netx.SetReuseAddr(l.fd, reuse); err != nil {
			return err
		}
		for port := max(s.portLow, 1); port <= s.portHigh; port++ {
			if err = netx.Bind(l.fd, netip.AddrPortFrom(a.Addr(), uint16(port))); !errors.Is(err, syscall.EADDRINUSE) {
				return err
			}
		}
	}
	return err
}

// listen starts to accept on prog. Locked.
func (l *listener) listen(prog *progress.Engine) error {
	if err := netx.Listen(l.fd, listenBacklog); err != nil {
		return err
	}
	h, err := prog.Register(l.fd, l, false, netx.In)
	if err != nil {
		return err
	}
	l.h = h
	l.spare, _ = os.Open(os.DevNull)
	return nil
}

// close closes the socket. Locked.
func (l *listener) close() {
	if l.h != nil {
		l.h.Remove()
		l.h = nil
	}
	if l.fd != netx.NoFD {
		netx.Close(l.fd)
		l.fd = netx.NoFD
	}
	if l.spare != nil {
		l.spare.Close()
		l.spare = nil
	}
}

// Ready implements progress.Source.
func (l *listener) Ready(in, _ bool) {
	if !in {
		return
	}
	now := sinceStart()
	for range acceptRounds {
		room := l.pending.room() && pendingTotal.Load() < int64(l.pendingShare)
		victim := l.pending.victim()
		if l.full != nil && l.full() || !l.pending.rateAllows(now) || !room && (victim == nil || !l.pending.graceOver(victim, now)) {
			l.pauseAccepting()
			return
		}
		fd, peer, err := netx.Accept(l.fd)
		if err != nil {
			switch {
			// Without descriptors accept(2) fails even when no connection waits.
			case !netx.OutOfResources(err) || !netx.Readable(l.fd):
				return
			case l.displace(victim) || l.resetOne(now):
				continue
			}
			l.pauseAccepting()
			return
		}
		if !room {
			l.displace(victim)
		}
		l.accepted(fd, peer)
		if l.fd == netx.NoFD {
			return
		}
	}
}

// sinceStart is the clock of pendingConns.
func sinceStart() time.Duration { return time.Duration(mono.Now()) }

// displace closes a pending connection. It returns false if x is nil.
func (l *listener) displace(x *pendingConn) bool {
	if x == nil {
		return false
	}
	x.s.conn.Fail(errDisplaced)
	return true
}

// errDisplaced ends a pending connection to make room for another one.
var errDisplaced = errors.New("no connection request came on the accepted connection, which was closed to make room for others")

// admit adds s, which was accepted and has sent no request, to the pending connections. It then receives, since the
// request may be there already.
func (l *listener) admit(s *tcpStream) {
	s.pending, s.listener = l.pending.add(s, s.peer.Addr(), sinceStart()), l
	pendingTotal.Add(1)
	s.receive()
}

// requestArrived is called when a pending connection has sent its request.
func (l *listener) requestArrived(s *tcpStream) error {
	l.pending.remove(s.pending, true, 0)
	s.pending = nil
	pendingTotal.Add(-1)
	return configure(s.carrier.socket(), l.s, l.tos, l.local.Addr(), s.peer.Addr())
}

// pendingClosed is called when s closes without having sent a request.
func (l *listener) pendingClosed(s *tcpStream) {
	l.refused++
	l.pending.remove(s.pending, false, sinceStart())
	s.pending = nil
	pendingTotal.Add(-1)
}

// pendingTotal counts the pending connections of all listeners of the process. Together they may use half of its
// descriptors.
var pendingTotal atomic.Int64

// resetOne accepts one waiting connection with the spare descriptor and resets it. The peer gets a reset rather
// than no answer, and the poller does not report the same connection for ever.
func (l *listener) resetOne(now time.Duration) bool {
	if l.spare == nil {
		l.spare, _ = os.Open(os.DevNull)
		if l.spare == nil {
			return false
		}
	}
	l.spare.Close()
	l.spare = nil
	fd, _, err := netx.Accept(l.fd)
	if err == nil {
		netx.SetLinger(fd, 0)
		netx.Close(fd)
		l.refused++
		l.pending.countFailure(now)
	}
	l.spare, _ = os.Open(os.DevNull)
	return err == nil
}

// pauseAccepting stops accepting for acceptPause. Otherwise the poller would report the same connection all the
// time.
func (l *listener) pauseAccepting() {
	if l.h.Want(netx.Edge) == nil {
		l.h.SetDeadline(mono.Now().Add(acceptPause))
	}
}

// Expired implements progress.Source. The pause is over.
func (l *listener) Expired(mono.Time) { l.h.Want(netx.In) }

// Lost and Poll implement progress.Source. A listener is not polled.
func (l *listener) Lost(error) {}
func (l *listener) Poll()      {}

// listenAddr returns the address of an Info to listen on.
func listenAddr(info *core.Info) (netip.AddrPort, error) {
	a := info.SrcAddr
	if a.IsZero() {
		return netip.AddrPortFrom(netip.IPv4Unspecified(), 0), nil
	}
	if !a.IP.IsValid() {
		return netip.AddrPort{}, core.ErrInval
	}
	return a.IP, nil
}
