package udp

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/shm"
)

// mate is a port of this host, of another process or of this one, with which memory is shared: two rings, and a local connection, whose end is
// the mate's. It is a source of the domain's progress engine. Somebody who has connected and not said hello has no memory yet, and no address.
type mate struct {
	*shm.End
	ns     *neighbours
	fd     netx.FD
	h      *progress.Handle
	at     netip.AddrPort
	from   netx.SockAddr
	most   int    // longest datagram that goes through the socket in one piece
	ours   bool   // we have connected, and made the memory
	proved bool   // the mate has written something
	over   bool   // the connection has ended
	aside  uint32 // what the mate had sent through the socket when that was looked at last
}

// bell wakes a mate that has fallen asleep.
var bell [1]byte

// put sends what is to be one datagram of total bytes, or count of them of seg bytes, if the mate looks by itself and there is room: else nothing has left.
func (m *mate) put(parts [][]byte, total, seg, count int) bool {
	size := seg
	if count == 1 {
		size, seg = total, 0
	}
	if m.over || size > m.most || count > netx.SegmentsMax || !m.PeerAwake() || !m.Rejoined() {
		return false
	}
	ok, err := m.Put(parts, total, uint32(seg))
	if err != nil {
		m.becomeBroken()
		return false
	}
	if ok && !m.PeerAwake() {
		netx.Send(m.fd, bell[:], false) // where there is no room for it there are enough
	}
	return ok
}

// take copies a record that Peek has found into b; if seg is not 0 it is a run of datagrams.
func (m *mate) take(b []byte) (size, seg int, err error) {
	size, mark, _, err := m.Take(b)
	seg = int(mark)
	if err == nil && (size > netx.MaxDatagram || mark > netx.MaxDatagram || seg > 0 && size > seg*netx.SegmentsMax) {
		err = shm.ErrBroken
	}
	return size, seg, err
}

// Ready implements progress.Source: a hello, bells, or the end.
func (m *mate) Ready(in, _ bool) {
	if !in || m.fd == netx.NoFD {
		return
	}
	if m.End == nil {
		m.hear()
		return
	}
	var b [64]byte
	if n, errno := netx.Recv(m.fd, b[:]); n == 0 && errno != unix.EAGAIN {
		m.over = true
	}
	s := m.ns.p.main
	s.flow = true
	s.receive() // what was written comes, also before the end; it may close the port
	if m.over && m.End != nil {
		if some, err := m.Peek(); !some || err != nil {
			m.becomeGone()
		} // else the poller says once more that it has ended
	}
}

// Poll implements progress.Source; it is never called, for mates are no streams.
func (m *mate) Poll() {}

// Expired implements progress.Source: no hello has come.
func (m *mate) Expired(mono.Time) { m.becomeGone() }

// Lost implements progress.Source.
func (m *mate) Lost(error) { m.becomeGone() }

// dead looks whether the connection has ended.
func (m *mate) dead() bool {
	if !m.over {
		n, err := netx.Peek(m.fd)
		m.over = n <= 0 && err != unix.EAGAIN && err != unix.EINTR
	}
	return m.over
}

// becomeUp begins to use the memory; if it cannot, nothing has changed. What left through the socket before comes first.
func (m *mate) becomeUp(at netip.AddrPort, end *shm.End) error {
	p := m.ns.p
	scope, err := p.zones.scope(at.Addr())
	if err == nil {
		err = m.from.Set(at, p.family, scope)
	}
	if err != nil {
		return err
	}
	m.End, m.at, m.most = end, at, p.MaxDatagram(at)
	m.ns.use(m)
	m.SentAside()
	return nil
}

// becomeBroken forgets a mate that has written nonsense into the memory: there will be none with that port again.
func (m *mate) becomeBroken() {
	m.proved = false
	m.ns.tally(m.at).next = never
	m.becomeGone()
}

// becomeGone forgets the mate; what it has written and nobody has taken is lost. Datagrams go through the socket, which hears whether anybody is there.
func (m *mate) becomeGone() {
	if m.fd == netx.NoFD {
		return
	}
	m.h.Remove()
	netx.Close(m.fd)
	m.fd = netx.NoFD
	m.ns.unuse(m)
	if m.End == nil {
		return
	}
	if m.proved {
		*m.ns.tally(m.at) = tally{at: m.at, next: m.ns.p.d.s.meetAfter} // another one may be there soon
	}
	m.End.Close()
	m.End = nil
}
