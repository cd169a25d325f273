// The receive side of a port. A pass makes a bounded number of receives on each socket, and learns from them
// whether datagrams come one by one or in numbers.

package udp

import (
	"syscall"

	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
)

const (
	// rounds is the most receives of one pass, so that one port does not starve the others.
	rounds = 16
	// loneMax is the length in bytes up to which a datagram after a pause is taken for the only one. A second
	// receive, which finds nothing, would cost a ping-pong as much as the rest of the pass. If there is more, the
	// next pass comes soon.
	loneMax = 4096
	// burst is the number of datagrams in one pass that makes a socket receive runs. A receive that can return a
	// run costs a little more.
	burst = 8
)

// Datagrams of a length between these are likely pieces of a larger message, cut to the path's MTU, and are worth
// receiving in runs. Receiving in runs would cost a ping-pong of smaller ones 2 us. Larger ones, as on loopback,
// are long enough for a call each.
const (
	pieceMin = 512
	pieceMax = 9216
)

// socket is a socket of a port: its own, or that of a multicast group. It is a Source of the domain's progress
// engine.
type socket struct {
	p        *port
	fd       netx.FD
	datapath datapath
	h        *progress.Handle
	direct   bool   // every pass reads it, and the poller does not watch it
	drops    uint32 // the system's count of lost datagrams at the last query
	flow     bool   // the last pass received datagrams, and more may wait behind the first
}

// register gives a socket its datapath and adds it to the domain's engine. If it cannot, it closes the socket. Locked.
func (p *port) register(fd netx.FD) (*socket, error) {
	s := &socket{p: p, fd: fd, datapath: p.d.newDatapath(fd)}
	if p.main == nil {
		p.openXDP(s)
	}
	h, err := p.d.prog.Register(s.datapath.wait(), s, true, netx.In)
	if err != nil && p.main == nil && p.xdp != nil {
		p.removeXDP(s, err)
		h, err = p.d.prog.Register(s.datapath.wait(), s, true, netx.In)
	}
	if err != nil {
		s.datapath.close()
		return nil, err
	}
	s.h = h
	return s, nil
}

func (s *socket) close() {
	s.h.Remove()
	s.datapath.close()
	s.fd = netx.NoFD
}

// want sets the readiness that the poller reports.
func (s *socket) want(ev netx.Events) error {
	if x := s.p.xdp; x != nil && s == s.p.main {
		return x.want(ev)
	}
	return s.h.Want(ev)
}

// Ready implements progress.Source.
func (s *socket) Ready(in, out bool) {
	if s == s.p.main && (out || s.p.xdp != nil) {
		s.p.writable() // the epoll set of a bypassDatapath does not report whether the socket became writable
	}
	if in {
		s.datapath.ready()
		s.flow = true // waking up for the next datagram costs more than another receive
		s.receive()
	}
}

// Poll implements progress.Source.
func (s *socket) Poll() {
	if s.p.blocked && s == s.p.main {
		s.p.writable() // passes that read it directly receive no event
	}
	s.receive()
}

// Direct implements progress.Director.
func (s *socket) Direct(on bool) error {
	s.direct = on
	return s.datapath.direct(on)
}

// Expired implements progress.Source. Sockets have no deadlines.
func (s *socket) Expired(mono.Time) {}

// Lost implements progress.Source. The poller may be able to watch the socket if it cannot watch the AF_XDP datapath
// above it.
func (s *socket) Lost(err error) {
	if p := s.p; p.xdp != nil && s == p.main && !p.closed && p.useSockets(err) == nil {
		return
	}
	s.p.lost(err)
}

// receive passes received datagrams to the receiver, with up to `rounds` receives.
func (s *socket) receive() {
	d := s.p.d
	if d.receiving || s.fd == netx.NoFD {
		return
	}
	d.receiving = true
	if s.p.reports {
		s.p.tellErrors()
	}
	got, pieces, small := 0, 0, false
	for range rounds {
		in, last, errno := s.datapath.receive(got > 1 && small)
		if errno == 0 {
			lone := !s.flow && len(in) == 1 && in[0].N <= loneMax
			s.flow = true
			got += len(in)
			for i := range in {
				if n := in[i].N; n >= pieceMin && n <= pieceMax {
					pieces++
				}
			}
			if small = s.deliverAll(in); small && (last || lone) {
				break
			}
		}
		if errno != 0 && !s.survives(errno) {
			s.flow = got > 1
			break
		}
		if s.fd == netx.NoFD {
			break // the receiver has closed the port
		}
	}
	if pieces >= burst && s.fd != netx.NoFD {
		s.datapath.flood()
	}
	switch {
	case s.p.closed:
	case got > 0:
		s.p.r.Drained()
	case s.p.idler != nil && s == s.p.main:
		s.p.idler.Idle()
	}
	d.receiving = false
}

// drain delivers the datagrams that a bypassDatapath has received, before it ends.
func (s *socket) drain(x bypassDatapath) {
	d := s.p.d
	if d.receiving {
		return
	}
	d.receiving = true
	got := 0
	for s.fd != netx.NoFD {
		in := x.drain()
		if len(in) == 0 {
			break
		}
		got += len(in)
		s.deliverAll(in)
	}
	if got > 0 && !s.p.closed {
		s.p.r.Drained()
	}
	d.receiving = false
}

// survives reports whether another receive makes sense after an error.
func (s *socket) survives(errno syscall.Errno) bool {
	switch errno {
	case syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN, syscall.EMSGSIZE, syscall.EPROTO, syscall.ENOPROTOOPT:
		s.p.icmp++ // about a datagram sent earlier, which may also be lost for other reasons
		s.p.tellErrors()
		return s.fd != netx.NoFD
	}
	return false // EAGAIN, or ENOBUFS and ENOMEM, which may be temporary
}

// deliverAll delivers a batch, and reports whether all of it was small.
func (s *socket) deliverAll(batch []netx.Datagram) (small bool) {
	small = true
	for i := range batch {
		small = s.deliver(&batch[i]) && small
		if s.fd == netx.NoFD {
			break
		}
	}
	return small
}

// deliver delivers a datagram or a run. It reports whether it was small: small datagrams are received faster many
// at a time.
func (s *socket) deliver(m *netx.Datagram) (small bool) {
	p := s.p
	from, scope := m.From.AddrPort()
	switch {
	case m.Truncated:
		p.stats.Truncated++
		return true
	case !from.IsValid():
		return true
	}
	if scope != 0 && from.Addr().IsLinkLocalUnicast() {
		from = p.zones.with(from, scope)
	}
	n, seg, count := m.N, m.N, 1
	if m.Seg > 0 && m.Seg < n {
		seg, count = m.Seg, (n+m.Seg-1)/m.Seg
	}
	p.stats.ReceivedDatagrams += uint64(count)
	p.stats.ReceivedBytes += uint64(n)
	p.r.Received(from, m.Buf[:n:n], seg)
	return n <= loneMax
}

// countDrops asks the system how many datagrams it has lost for lack of room.
func (s *socket) countDrops() {
	if n, err := s.datapath.drops(); err == nil {
		s.p.stats.Overflows += uint64(n - s.drops) // the count wraps around
		s.drops = n
	}
}
