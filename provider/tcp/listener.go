package tcp

import (
	"errors"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/core"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
)

const (
	listenBacklog = 4096
	acceptRounds  = 16                   // accepts per readiness: what waits behind them are honest peers
	restTime      = 2 * time.Millisecond // between attempts to accept without room, descriptors or memory
)

// listener is a listening socket. Accepted sockets go to its owner.
type listener struct {
	fd       netx.FD
	h        *progress.Handle
	local    netip.AddrPort
	spare    *os.File // a descriptor to give up when there are no more, so that the caller can be told
	accepted func(fd netx.FD, peer netip.AddrPort)
	full     func() bool // the owner takes no more for now; nil never
	s        *settings
	tos      int       // the type-of-service byte of accepted sockets
	waiting  strangers // accepted, the request not yet come
	half     int       // of the descriptors that the process may have
	refused  uint64
}

// open makes a socket bound to a, or to a port of the configured range if a has none. Its packets, the answers to connection requests, and those of accepted sockets are of class.
func (l *listener) open(s *settings, a netip.AddrPort, class core.TrafficClass) error {
	fd, err := netx.StreamSocket(netx.Family(a.Addr()))
	if err != nil {
		return err
	}
	l.fd, l.s, l.tos = fd, s, class.TOS()
	l.half = max(netx.DescriptorLimit()/2, 1)
	l.waiting.init(min(strangersMax, l.half))
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
	// Two sockets that reuse addresses can be bound to one port until one of them listens (socket(7), SO_REUSEADDR). So look for a port that nobody has
	// first, and only then for one with nothing but old connections.
	var err error
	for _, reuse := range []bool{false, true} {
		if err = netx.SetReuseAddr(l.fd, reuse); err != nil {
			return err
		}
		for port := max(s.portLow, 1); port <= s.portHigh; port++ {
			if err = netx.Bind(l.fd, netip.AddrPortFrom(a.Addr(), uint16(port))); !errors.Is(err, unix.EADDRINUSE) {
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
		room := l.waiting.room() && silent.Load() < int64(l.half)
		goes := l.waiting.crowded() // who makes room
		if l.full != nil && l.full() || !l.waiting.calm(now) || !room && (goes == nil || !l.waiting.ripe(goes, now)) {
			l.rest()
			return
		}
		fd, peer, err := netx.Accept(l.fd)
		if err != nil {
			switch {
			case !wanting(err) || !netx.Readable(l.fd): // without descriptors it says so, too, when there is nobody
				return
			case l.evict(goes) || l.shed(now):
				continue
			}
			l.rest()
			return
		}
		if !room {
			l.evict(goes)
		}
		l.accepted(fd, peer)
		if l.fd == netx.NoFD {
			return
		}
	}
}

// sinceStart is now, as strangers are told it.
func sinceStart() time.Duration { return time.Duration(mono.Now()) }

// evict sends a stranger away, if there is one.
func (l *listener) evict(x *stranger) bool {
	if x == nil {
		return false
	}
	x.s.conn.Fail(errCrowd)
	return true
}

// errCrowd ends the connection of a stranger in favour of another's.
var errCrowd = errors.New("it said nothing, and others wait")

// meet notes that s was accepted and has said nothing yet, and looks whether it says something now.
func (l *listener) meet(s *tcpStream) {
	s.met, s.door = l.waiting.enter(s, s.peer.Addr(), sinceStart()), l
	silent.Add(1)
	s.receive()
}

// greeted is called when a stranger's request has come: it is one no more.
func (l *listener) greeted(s *tcpStream) error {
	l.waiting.leave(s.met, true, 0)
	s.met = nil
	silent.Add(-1)
	return configure(s.fd, l.s, l.tos, l.local.Addr(), s.peer.Addr())
}

// left is called when s closes without a request. Nothing was said to it, and so nothing must arrive: the system need not remember it.
func (l *listener) left(s *tcpStream) {
	l.refused++
	l.waiting.leave(s.met, false, sinceStart())
	s.met = nil
	silent.Add(-1)
	if s.conn.BytesOut == 0 {
		netx.SetLinger(s.fd, 0)
	}
}

// silent counts the strangers of all listeners of the process: they may have half of its descriptors together.
var silent atomic.Int64

// wanting says that err is for want of descriptors or memory: what was to be accepted is still there.
func wanting(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENOMEM)
}

// shed closes one waiting connection with the descriptor kept for that: the peer sees a reset instead of silence, and the poller does not report
// the same connection for ever.
func (l *listener) shed(now time.Duration) bool {
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
		l.waiting.spend(now)
	}
	l.spare, _ = os.Open(os.DevNull)
	return err == nil
}

// rest stops listening for a moment: while we cannot accept, the poller would report the same connection all the time.
func (l *listener) rest() {
	if l.h.Want(netx.Edge) == nil {
		l.h.SetDeadline(mono.Now().Add(restTime))
	}
}

// Expired implements progress.Source: the rest is over.
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
