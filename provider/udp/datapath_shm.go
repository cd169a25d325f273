package udp

import (
	"fmt"
	"slices"
	"syscall"

	"gofabric/internal/netx"
	"gofabric/internal/shm"
)

// Between ports of one host that both poll, datagrams go through memory that both have mapped (package shm),
// without a system call. The socket remains. It holds the port number, and it carries the datagrams that find no
// room in the memory or whose receiver does not poll. Order, source and length of datagrams are the same either
// way. samehost.go finds the ports to share memory with.
//
// The flag "awake" in the memory is set only while every pass reads this socket (progress.Director). A receiver
// that stops polling clears it and then reads the memory once more. A sender reads the flag once more after it has
// written. If the flag is clear, the sender sends a doorbell, which is a byte on the local connection between the
// two, and which the poller reports.

const (
	shmBatch = 32                           // records delivered at once
	shmRoom  = 2 * shm.RecordMax            // bytes of the buffer that they are copied to
	keptMost = shm.RingSize / 16 / shmBatch // receives that suffice for all records in one memory

	// When a receive also reads the socket, counted in receives.
	shmEvery    = 64  // one in shmEvery does in any case
	shmPatience = 16  // of those that find records one in shmPatience does, if datagrams may wait at the socket
	shmNear     = 256 // receives with records for which more datagrams are expected at the socket after some came
)

// shmDatapath receives the records that other ports of this host write into memory, and the datagrams of the socket.
type shmDatapath struct {
	datapath // of the socket
	s        *socket
	peers    []*shmPeer
	first    int             // index of the peer to read first
	awake    bool            // every pass receives
	woken    bool            // the poller has reported the socket
	turn     int             // number of receives so far
	near     int             // receives with records until the socket is read less often (shmNear)
	kept     []netx.Datagram // datagrams of the socket that wait until all records before them are delivered
	keptFor  int             // receives for which they have waited
	late     syscall.Errno   // error of the socket, for the next receive to return

	room []byte
	got  [shmBatch + batchSize]netx.Datagram
}

func newSHMDatapath(s *socket) *shmDatapath {
	return &shmDatapath{datapath: s.datapath, s: s, awake: s.direct, near: shmNear, room: make([]byte, shmRoom)}
}

func (l *shmDatapath) ready() {
	l.woken = true
	l.datapath.ready()
}

// direct implements datapath. Peers need not send a doorbell while every pass receives.
func (l *shmDatapath) direct(on bool) error {
	l.awake = on
	for _, m := range l.peers {
		m.SetPolling(on)
	}
	if !on && l.waiting() {
		l.s.h.Notify()
	}
	return l.datapath.direct(on)
}

// waiting reports whether data waits that the socket's descriptor does not report.
func (l *shmDatapath) waiting() bool {
	if l.kept != nil || l.late != 0 {
		return true
	}
	for _, m := range l.peers {
		if some, err := m.HasRecord(); some || err != nil {
			return true
		}
	}
	return false
}

func (l *shmDatapath) receive(many bool) (got []netx.Datagram, last bool, errno syscall.Errno) {
	if errno = l.late; errno != 0 {
		l.late = 0
		return nil, false, errno
	}
	n, whole := l.take(0)
	if n > 0 {
		l.near = max(l.near-1, 0)
	}
	if l.kept != nil {
		if l.keptFor++; n == 0 || l.keptFor > keptMost {
			n += copy(l.got[n:], l.kept)
			l.kept = nil
			return l.got[:n], false, 0
		}
	}
	if !whole && !l.awake {
		l.s.h.Notify() // in case this pass does not receive the rest
	}
	told := l.told()
	if l.kept != nil || !l.look(told, n > 0) {
		if n == 0 {
			return nil, true, syscall.EAGAIN
		}
		return l.got[:n], whole && l.kept == nil, 0
	}
	return l.receiveBoth(n, many, told)
}

// receiveBoth receives from the socket, behind n records that were taken.
func (l *shmDatapath) receiveBoth(n int, many, told bool) (got []netx.Datagram, last bool, errno syscall.Errno) {
	got, last, errno = l.datapath.receive(many)
	if errno == syscall.EAGAIN {
		l.woken = false
		l.rejoin()
	}
	switch {
	case errno == syscall.EAGAIN && n > 0:
		return l.got[:n], true, 0
	case errno != 0 && n > 0:
		l.late = errno
		return l.got[:n], false, 0
	case errno != 0:
		return got, last, errno
	case !told:
		l.near = shmNear
	}
	n, whole := l.take(n) // records that a peer wrote before it sent through the socket come first
	switch {
	case !whole:
		l.keep(got)
		return l.got[:n], false, 0
	case n == 0:
		return got, last, 0
	}
	return l.got[:n+copy(l.got[n:], got)], false, 0
}

// keep copies datagrams of the socket, as there is no room for all records that precede them. Their buffers are the
// domain's, which the next pass uses again.
func (l *shmDatapath) keep(got []netx.Datagram) {
	if !l.awake {
		l.s.h.Notify()
	}
	l.kept, l.keptFor = slices.Clone(got), 0
	for i := range l.kept {
		d := &l.kept[i]
		d.Buf = slices.Clone(d.Buf[:d.N])
	}
}

// look reports whether to read the socket. It is read when there are no records and data may have come, and now and
// then in any case.
func (l *shmDatapath) look(told, busy bool) bool {
	l.turn++
	if l.turn%shmEvery == 0 {
		return true
	}
	return (!busy || l.turn%shmPatience == 0) && (told || l.woken || l.near > 0 || !l.awake)
}

// told notes how much peers have sent through the socket, and reports whether there is more of it than before.
func (l *shmDatapath) told() (news bool) {
	for _, m := range l.peers {
		var is bool
		m.drained, is = m.PeerSentViaSocket()
		news = news || is
	}
	return news
}

// rejoin tells peers that the socket holds no more of the datagrams that told has noted, so that they may use the
// memory again.
func (l *shmDatapath) rejoin() {
	for _, m := range l.peers {
		if _, news := m.PeerSentViaSocket(); news {
			m.SetSocketDrained(m.drained)
		}
	}
}

// take copies records out of the memories, behind n that were taken before. all is the number of records now; whole
// reports that none is left.
func (l *shmDatapath) take(n int) (all int, whole bool) {
	whole = true
	used := 0
	for i := range n {
		used += len(l.got[i].Buf)
	}
	var bad *shmPeer
	k := len(l.peers)
	for i := range k {
		at := l.first + i
		if at >= k {
			at -= k
		}
		m := l.peers[at]
		before := n
		var err error
		n, used, whole, err = l.takeFrom(m, n, used)
		if n > before {
			m.proved = true
			m.FreeRecords()
		}
		if err != nil {
			bad = m
		}
		if !whole {
			if l.first = at + 1; l.first == k {
				l.first = 0 // the other peers come next
			}
			break
		}
	}
	if bad != nil {
		bad.discard()
	}
	return n, whole
}

// takeFrom takes the records of one peer, behind n others that use `used` bytes of the buffer. The third result is
// false if there is no room for all.
func (l *shmDatapath) takeFrom(m *shmPeer, n, used int) (int, int, bool, error) {
	for {
		some, err := m.HasRecord()
		if !some || err != nil {
			return n, used, true, err
		}
		if n == shmBatch || len(l.room)-used < shm.RecordMax {
			return n, used, false, nil
		}
		size, seg, err := m.take(l.room[used:])
		if err != nil {
			return n, used, true, err
		}
		d := &l.got[n]
		d.Buf, d.N, d.Seg, d.From, d.Truncated = l.room[used:used+size], size, seg, m.from, false
		n++
		used += size
		count := uint64(1)
		if seg > 0 && seg < size {
			count = uint64((size + seg - 1) / seg)
		}
		l.s.p.stats.MemoryReceived += count
	}
}

func (l *shmDatapath) String() string {
	return fmt.Sprintf("memory shared with %d endpoints of this host, beside %v", len(l.peers), l.datapath)
}

// end removes all peers, and returns the datapath of the socket.
func (l *shmDatapath) end() datapath {
	for len(l.peers) > 0 {
		l.peers[0].remove()
	}
	return l.datapath
}
