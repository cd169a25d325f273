package udp

import (
	"net/netip"

	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/samehost"
	"gofabric/internal/shm"
)

// shmPeer is a port of this host, in this or another process, with which memory is shared: two rings, and a local
// connection that ends with the peer. It is a Source of the domain's progress engine.
type shmPeer struct {
	*samehost.Conn
	sh      *sameHost
	h       *progress.Handle
	at      netip.AddrPort
	from    netx.SockAddr
	most    int  // longest datagram that goes through the socket in one piece, in bytes
	ours    bool // this port has connected, and made the memory
	proved  bool // the peer has written a record
	removed bool
	drained uint32 // how much the peer had sent through the socket when that was last read
}

// put sends one datagram of total bytes, or count datagrams of seg bytes each, if the peer polls and there is room.
// If it returns false, nothing was sent.
func (m *shmPeer) put(parts [][]byte, total, seg, count int) bool {
	size := seg
	if count == 1 {
		size, seg = total, 0
	}
	if m.Ended() || size > m.most || count > netx.SegmentsMax || !m.PeerPolls() || !m.SocketDrained() {
		return false
	}
	ok, err := m.WriteRecord(parts, total, uint32(seg))
	if err != nil {
		m.discard()
		return false
	}
	if ok && !m.PeerPolls() {
		m.Ring()
	}
	return ok
}

// take copies a record that HasRecord has found into b. seg is not 0 for several datagrams of seg bytes.
func (m *shmPeer) take(b []byte) (size, seg int, err error) {
	size, mark, _, err := m.ReadRecord(b)
	seg = int(mark)
	if err == nil && (size > netx.MaxDatagram || mark > netx.MaxDatagram || seg > 0 && size > seg*netx.SegmentsMax) {
		err = shm.ErrBroken
	}
	return size, seg, err
}

// Ready implements progress.Source: a doorbell has come, or the connection has ended.
func (m *shmPeer) Ready(in, _ bool) {
	if !in || m.removed {
		return
	}
	m.TakeDoorbells()
	s := m.sh.p.main
	s.flow = true
	s.receive() // delivers what was written before the end; the receiver may close the port
	if m.Ended() && !m.removed {
		if some, err := m.HasRecord(); !some || err != nil {
			m.remove()
		} // otherwise the poller reports the end again
	}
}

// Poll implements progress.Source. It is never called for peers.
func (m *shmPeer) Poll() {}

// Expired implements progress.Source. A peer has no deadline.
func (m *shmPeer) Expired(mono.Time) {}

// Lost implements progress.Source.
func (m *shmPeer) Lost(error) { m.remove() }

// start begins to use the memory that m shares, or closes the connection.
// Datagrams sent through the socket before are received first.
func (sh *sameHost) start(m *shmPeer) {
	p := sh.p
	scope, err := p.zones.scope(m.at.Addr())
	if err == nil {
		err = m.from.Set(m.at, p.family, scope)
	}
	if err == nil {
		m.h, err = p.d.prog.Register(m.FD(), m, false, netx.In)
	}
	if err != nil {
		m.Close()
		return
	}
	m.most = p.MaxDatagram(m.at)
	sh.use(m)
	m.SentViaSocket()
}

// discard removes a peer that has written invalid records. Memory is not shared with that port again.
func (m *shmPeer) discard() {
	m.proved = false
	m.sh.counter(m.at).next = never
	m.remove()
}

// remove ends the sharing. Records that no receive has taken are lost. Datagrams then go through the socket, which
// reports whether the port exists.
func (m *shmPeer) remove() {
	if m.removed {
		return
	}
	m.removed = true
	m.h.Remove()
	m.sh.unuse(m)
	if m.proved {
		*m.sh.counter(m.at) = socketCount{at: m.at, next: m.sh.p.d.s.meetAfter} // another process may bind it soon
	}
	m.Close()
}
