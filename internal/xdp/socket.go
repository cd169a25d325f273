//go:build linux

package xdp

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
)

// The kernel frees a queue of a closed socket in deferred work, so it stays busy for a while.
const (
	busyWait  = 3 * time.Second
	busyPause = 5 * time.Millisecond
)

// sendKicks is the largest number of calls in one flush. A call sends as many packets as the socket's budget, which
// is 32 before Linux 6.17.
const sendKicks = 256

// socket is an AF_XDP socket on one queue, with all four rings.
type socket struct {
	fd    netx.FD
	queue uint32
	fill  producerRing[uint64]
	comp  consumerRing[uint64]
	rx    consumerRing[unix.XDPDesc]
	tx    producerRing[unix.XDPDesc]
	maps  [][]byte
	multi bool // packets may have several descriptors (XDP_USE_SG)
	zero  bool // the driver uses the umem itself

	noBusyPoll error // why the driver is not polled by receive calls
}

// openSocket opens a socket over u with rings that are not mapped yet. The first socket registers u, and the others
// share it. The socket is not bound yet.
func openSocket(u *umem, c *Config, queue uint32, first *socket) (*socket, error) {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, socketError(err)
	}
	s := &socket{fd: netx.FD(fd), queue: queue, noBusyPoll: errBusyOff}
	if err := s.setUp(u, c, first == nil); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// setUp makes the rings. With register it also makes u the umem of the socket.
func (s *socket) setUp(u *umem, c *Config, register bool) error {
	if register {
		if errno := sysSetUmem(s.fd, u.mem, u.chunkSize()); errno != 0 {
			return umemError(errno, len(u.mem))
		}
	}
	for _, o := range []struct{ name, n int }{
		{unix.XDP_UMEM_FILL_RING, fillSize(c)}, {unix.XDP_UMEM_COMPLETION_RING, c.TxFrames}, {unix.XDP_RX_RING, c.RxFrames}, {unix.XDP_TX_RING, c.TxFrames},
	} {
		if err := unix.SetsockoptInt(int(s.fd), unix.SOL_XDP, o.name, o.n); err != nil {
			return newError(NoMemory, err)
		}
	}
	s.setOptional(c, u)
	return nil
}

// fillSize returns the number of places in the fill ring: twice the number of chunks. In a full ring we would write
// into the cache line that the kernel, on another processor, reads next. The line would move to and fro with each
// packet: a ping-pong of two cores takes 6 % longer.
func fillSize(c *Config) int { return 2 * c.RxFrames }

// setOptional sets options that are not required.
func (s *socket) setOptional(c *Config, u *umem) {
	fd := int(s.fd)
	// In copy mode each packet in progress is charged to the send buffer, with some bytes for its skb.
	room := c.TxFrames * (int(u.chunkSize()) + 1024)
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, room) != nil {
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, room)
	}
	// If the kernel does not know the option, the budget is 32.
	unix.SetsockoptInt(fd, unix.SOL_XDP, unix.XDP_MAX_TX_SKB_BUDGET, min(c.TxFrames, 256))
	if c.BusyPoll > 0 {
		s.noBusyPoll = s.setBusyPoll(c.BusyPoll)
	}
}

// busyBudget is the number of packets that the driver may take in one of our polls. It is the number of its own polls
// (NAPI_POLL_WEIGHT).
const busyBudget = 64

// setBusyPoll makes this socket's receive calls poll the driver, which then needs no interrupts
// (Documentation/networking/napi.rst, busy polling).
func (s *socket) setBusyPoll(d time.Duration) error {
	for _, o := range []struct{ name, n int }{
		{unix.SO_PREFER_BUSY_POLL, 1}, {unix.SO_BUSY_POLL, max(int(d.Microseconds()), 1)}, {unix.SO_BUSY_POLL_BUDGET, busyBudget},
	} {
		switch err := unix.SetsockoptInt(int(s.fd), unix.SOL_SOCKET, o.name, o.n); err {
		case nil:
		case unix.ENOPROTOOPT:
			return errBusyOld
		case unix.EPERM:
			return errBusyDenied
		default:
			return err
		}
	}
	return nil
}

// These are the reasons why there is no busy polling.
var (
	errBusyOff     = errors.New("switched off")
	errBusyOld     = errors.New("the kernel is older than Linux 5.11")
	errBusyDenied  = errors.New("CAP_NET_ADMIN is missing")
	errBusyGeneric = errors.New("in generic mode the driver has no access to the socket")
)

// mapRings maps the four rings.
func (s *socket) mapRings(c *Config) error {
	var off unix.XDPMmapOffsets
	if n, errno := sysGetOption(s.fd, unix.XDP_MMAP_OFFSETS, &off); errno != 0 {
		return errno
	} else if n < offsetsSize {
		return newError(OldKernel, errors.New("its rings have no flags, which came with Linux 5.4"))
	}
	err := mapRing(s, &s.rx.ring, unix.XDP_PGOFF_RX_RING, off.Rx, c.RxFrames)
	if err == nil {
		err = mapRing(s, &s.tx.ring, unix.XDP_PGOFF_TX_RING, off.Tx, c.TxFrames)
	}
	if err == nil {
		err = mapRing(s, &s.fill.ring, unix.XDP_UMEM_PGOFF_FILL_RING, off.Fr, fillSize(c))
	}
	if err == nil {
		err = mapRing(s, &s.comp.ring, unix.XDP_UMEM_PGOFF_COMPLETION_RING, off.Cr, c.TxFrames)
	}
	return err
}

func mapRing[T entry](s *socket, r *ring[T], at int64, off unix.XDPRingOffset, n int) error {
	mem, err := unix.Mmap(int(s.fd), at, int(off.Desc)+n*entrySize[T](), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return newError(NoMemory, err)
	}
	s.maps = append(s.maps, mem)
	*r, err = newRing[T](mem, off, uint32(n))
	return err
}

// bind binds the socket to its queue. A socket that shares the umem of another one has the mode of that one.
func (s *socket) bind(ifindex int, c *Config, multi bool, first *socket) error {
	sa := unix.SockaddrXDP{Ifindex: uint32(ifindex), QueueID: s.queue}
	if first != nil {
		sa.Flags, sa.SharedUmemFD = unix.XDP_SHARED_UMEM, uint32(first.fd)
		if err := s.bindOnce(&sa); err != nil {
			return bindError(err, s.queue)
		}
		s.multi = first.multi
		s.zero = s.askZeroCopy()
		return nil
	}
	sa.Flags = unix.XDP_USE_NEED_WAKEUP
	switch c.ZeroCopy {
	case ZeroCopyOff:
		sa.Flags |= unix.XDP_COPY
	case ZeroCopyOnly:
		sa.Flags |= unix.XDP_ZEROCOPY
	}
	if multi {
		sa.Flags |= unix.XDP_USE_SG
	}
	err := s.bindOnce(&sa)
	if multi && (err == unix.EINVAL || err == unix.EOPNOTSUPP) {
		sa.Flags &^= unix.XDP_USE_SG // Linux before 6.6, or a driver that lacks it with zero-copy
		err = s.bindOnce(&sa)
	}
	if err != nil {
		return bindError(err, s.queue)
	}
	s.multi = sa.Flags&unix.XDP_USE_SG != 0
	s.zero = s.askZeroCopy()
	return nil
}

// bindOnce binds. While the queue is busy, it waits for a bounded time.
func (s *socket) bindOnce(sa *unix.SockaddrXDP) error {
	for end := time.Now().Add(busyWait); ; time.Sleep(busyPause) {
		err := unix.Bind(int(s.fd), sa)
		if err != unix.EBUSY || time.Now().After(end) {
			return err
		}
	}
}

func (s *socket) askZeroCopy() bool {
	var flags uint32 // struct xdp_options
	_, errno := sysGetOption(s.fd, unix.XDP_OPTIONS, &flags)
	return errno == 0 && flags&unix.XDP_OPTIONS_ZEROCOPY != 0
}

// statistics returns the kernel's counters of the socket.
func (s *socket) statistics() (unix.XDPStatistics, error) {
	var st unix.XDPStatistics
	if _, errno := sysGetOption(s.fd, unix.XDP_STATISTICS, &st); errno != 0 {
		return st, errno
	}
	return st, nil
}

// kick makes the kernel send the packets in the transmit ring, if it needs a call for that. 0: it has taken all, or
// will without further calls. EAGAIN: some are left for later, because the system had no room. Other errors are the
// device's (ENETDOWN, ENXIO); packets in the ring stay there. Any thread may call it.
func (s *socket) kick() unix.Errno {
	if !s.tx.needsWakeup() {
		return 0
	}
	before := s.tx.unconsumed()
	for range sendKicks {
		switch errno := sysKickSend(s.fd); errno {
		case 0:
			return 0
		case unix.EAGAIN, unix.EBUSY, unix.ENOBUFS, unix.EINTR:
			// The kernel also returns EAGAIN when the budget of one call is used up (net/xdp/xsk.c,
			// xsk_generic_xmit).
			left := s.tx.unconsumed()
			if left == 0 {
				return 0
			}
			if left >= before {
				return unix.EAGAIN
			}
			before = left
		default:
			return errno
		}
	}
	return unix.EAGAIN
}

// close closes the socket. The caller owns the umem.
func (s *socket) close() {
	for _, m := range s.maps {
		unix.Munmap(m)
	}
	s.maps = nil
	netx.Close(s.fd)
	s.fd = netx.NoFD
}
