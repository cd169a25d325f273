package udp

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/shm"
)

// shmPeer is a port of this host, of this or another process, with which memory is shared: two rings, and a local connection that ends with the peer. It is a source of the
// domain's progress engine. Before its hello a peer has no memory and no address.
type shmPeer struct {
	*shm.End
	sh     *sameHost
	fd     netx.FD
	h      *progress.Handle
	at     netip.AddrPort
	from   netx.SockAddr
	most   int    // longest datagram that goes through the socket in one piece
	ours   bool   // this port has connected, and made the memory
	proved bool   // the peer has written something
	over   bool   // the connection has ended
	aside  uint32 // how much the peer had sent through the socket at the last look
}

// doorbell wakes a peer that does not poll any more.
var doorbell [1]byte

// put sends one datagram of total bytes, or count of seg bytes each, if the peer polls and there is room. false: nothing was sent.
func (m *shmPeer) put(parts [][]byte, total, seg, count int) bool {
	size := seg
	if count == 1 {
		size, seg = total, 0
	}
	if m.over || size > m.most || count > netx.SegmentsMax || !m.PeerAwake() || !m.Rejoined() {
		return false
	}
	ok, err := m.Put(parts, total, uint32(seg))
	if err != nil {
		m.discard()
		return false
	}
	if ok && !m.PeerAwake() {
		netx.Send(m.fd, doorbell[:], false) // if there is no room for it, enough are under way
	}
	return ok
}

// take copies a record that Peek has found into b. seg is not 0 for several datagrams of seg bytes.
func (m *shmPeer) take(b []byte) (size, seg int, err error) {
	size, mark, _, err := m.Take(b)
	seg = int(mark)
	if err == nil && (size > netx.MaxDatagram || mark > netx.MaxDatagram || seg > 0 && size > seg*netx.SegmentsMax) {
		err = shm.ErrBroken
	}
	return size, seg, err
}

// Ready implements progress.Source: a hello, doorbells, or the end.
func (m *shmPeer) Ready(in, _ bool) {
	if !in || m.fd == netx.NoFD {
		return
	}
	if m.End == nil {
		m.receiveHello()
		return
	}
	var b [64]byte
	if n, errno := netx.Recv(m.fd, b[:]); n == 0 && errno != unix.EAGAIN {
		m.over = true
	}
	s := m.sh.p.main
	s.flow = true
	s.receive() // delivers what was written before the end; it may close the port
	if m.over && m.End != nil {
		if some, err := m.Peek(); !some || err != nil {
			m.remove()
		} // else the poller reports the end again
	}
}

// Poll implements progress.Source; it is never called for peers.
func (m *shmPeer) Poll() {}

// Expired implements progress.Source: no hello has come.
func (m *shmPeer) Expired(mono.Time) { m.remove() }

// Lost implements progress.Source.
func (m *shmPeer) Lost(error) { m.remove() }

// dead reports whether the connection has ended.
func (m *shmPeer) dead() bool {
	if !m.over {
		n, err := netx.Peek(m.fd)
		m.over = n <= 0 && err != unix.EAGAIN && err != unix.EINTR
	}
	return m.over
}

// start begins to use the memory; after an error nothing has changed. What was sent through the socket before comes first.
func (m *shmPeer) start(at netip.AddrPort, end *shm.End) error {
	p := m.sh.p
	scope, err := p.zones.scope(at.Addr())
	if err == nil {
		err = m.from.Set(at, p.family, scope)
	}
	if err != nil {
		return err
	}
	m.End, m.at, m.most = end, at, p.MaxDatagram(at)
	m.sh.use(m)
	m.SentAside()
	return nil
}

// discard removes a peer that has written invalid records; memory is not shared with that port again.
func (m *shmPeer) discard() {
	m.proved = false
	m.sh.counter(m.at).next = never
	m.remove()
}

// remove ends the sharing. What the peer has written and no receive has taken is lost. Datagrams then go through the socket, which reports whether the port exists.
func (m *shmPeer) remove() {
	if m.fd == netx.NoFD {
		return
	}
	m.h.Remove()
	netx.Close(m.fd)
	m.fd = netx.NoFD
	m.sh.unuse(m)
	if m.End == nil {
		return
	}
	if m.proved {
		*m.sh.counter(m.at) = socketCount{at: m.at, next: m.sh.p.d.s.meetAfter} // another process may bind the port soon
	}
	m.End.Close()
	m.End = nil
}
