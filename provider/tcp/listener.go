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
	acceptRounds  = 16                   // accepts per readiness: the domain's connections wait meanwhile
	acceptPause   = 2 * time.Millisecond // between attempts to accept without room, descriptors or memory
)

// listener is a listening socket. Accepted sockets go to its owner.
type listener struct {
	fd           netx.FD
	h            *progress.Handle
	local        netip.AddrPort
	spare        *os.File // a descriptor to give up when there are no more, so that a peer can be told
	accepted     func(fd netx.FD, peer netip.AddrPort)
	full         func() bool // the owner takes no more for now; nil: it always does
	s            *settings
	tos          int          // the type-of-service byte of accepted sockets
	pending      pendingConns // accepted, without a request so far
	pendingShare int          // of the descriptors that the process may have
	refused      uint64
}

// open makes a socket bound to a, or to a port of the configured range if a has none. Its packets, the answers to connection requests, and those of accepted sockets are of class.
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

func (l *listener) bind(s *settings, a netip.AddrPort) error {
	if a.Port() != 0 || s.portHigh == 0 {
		if err := netx.SetReuseAddr(l.fd, true); err != nil {
			return err
		}
		return netx.Bind(l.fd, a)
	}
	// Two sockets that reuse addresses can be bound to one port until one of them listens (socket(7), SO_REUSEADDR). So look for a port that no socket has
	// first, and only then for one that only old connections have.
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

// listen starts accepting on prog, whose lock is held.
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

// close stops listening. Locked.
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
			case !netx.OutOfResources(err) || !netx.Readable(l.fd): // without descriptors accept(2) fails so even when no connection waits
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

// sinceStart is the time that pendingConns are told.
func sinceStart() time.Duration { return time.Duration(mono.Now()) }

// displace closes a pending connection, if there is one.
func (l *listener) displace(x *pendingConn) bool {
	if x == nil {
		return false
	}
	x.s.conn.Fail(errDisplaced)
	return true
}

// errDisplaced ends a pending connection in favour of another one.
var errDisplaced = errors.New("no connection request has come, and other connections wait")

// admit notes that s was accepted and has sent no request yet, and looks whether it has by now.
func (l *listener) admit(s *tcpStream) {
	s.pending, s.listener = l.pending.add(s, s.peer.Addr(), sinceStart()), l
	pendingTotal.Add(1)
	s.receive()
}

// requestArrived is called when the request of a pending connection has come.
func (l *listener) requestArrived(s *tcpStream) error {
	l.pending.remove(s.pending, true, 0)
	s.pending = nil
	pendingTotal.Add(-1)
	return configure(s.carrier.socket(), l.s, l.tos, l.local.Addr(), s.peer.Addr())
}

// pendingClosed is called when s closes without a request.
func (l *listener) pendingClosed(s *tcpStream) {
	l.refused++
	l.pending.remove(s.pending, false, sinceStart())
	s.pending = nil
	pendingTotal.Add(-1)
}

// pendingTotal counts the pending connections of all listeners of the process: together they may have half of its descriptors.
var pendingTotal atomic.Int64

// resetOne resets one waiting connection with the descriptor that is kept for that: the peer sees a reset instead of silence, and the poller does not report
// the same connection for ever.
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

// pauseAccepting stops listening for a moment: while nothing can be accepted, the poller would report the same connection all the time.
func (l *listener) pauseAccepting() {
	if l.h.Want(netx.Edge) == nil {
		l.h.SetDeadline(mono.Now().Add(acceptPause))
	}
}

// Expired implements progress.Source: the pause is over.
func (l *listener) Expired(mono.Time) { l.h.Want(netx.In) }

// Poll implements progress.Source; a listener is not polled.
func (l *listener) Lost(error) {}
func (l *listener) Poll()      {}

// listenAddr is the address to listen on for an Info.
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
