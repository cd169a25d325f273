//go:build linux

package xdp

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
	"gofabric/internal/xdp/frame"
)

// Frame is a packet, or the next part of one if More is set in the frame before it, in memory shared with the kernel.
// Its holder owns it until the holder gives it back.
type Frame struct {
	// Data has the received bytes from the Ethernet header on. In a frame to transmit it is room for them; the caller
	// sets the part to transmit by slicing: Data = Data[:n] or Data[from:n].
	Data []byte
	// More means that the packet continues in the next frame.
	More  bool
	chunk uint32
}

// Port is a live destination: an address and port whose packets come to this process past the kernel's stack. One
// goroutine at a time may use a Port. Different ports may be used at the same time. No method waits, and none except
// Close allocates.
type Port struct {
	i        *Interface
	addr     netip.AddrPort
	tags     []frame.Tag
	keys     map[key]struct{} // guarded by i.mu
	tx       *queue
	backlogs []backlog // one for each queue; guarded by the queue's lock
	notifier *netx.Notifier
	epoll    netx.FD
	start    int         // the first queue for Receive
	notified atomic.Bool // notifier was or will be signalled for packets in the backlogs
	watched  atomic.Bool
	passive  bool    // see SetPassive
	socket   netx.FD // see WatchSocket
	events   uint32
	lost     atomic.Uint64
	ended    bool
}

// openEpoll opens the descriptor of FD: an epoll set with the notifier, which other ports signal, and, while the port
// is watched, with the AF_XDP sockets.
func (p *Port) openEpoll() error {
	p.epoll, p.socket = netx.NoFD, netx.NoFD
	var err error
	if p.notifier, err = netx.NewNotifier(); err != nil {
		return err
	}
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		p.epoll = netx.FD(ep)
		err = unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, p.notifier.FD(), &unix.EpollEvent{Events: unix.EPOLLIN})
	}
	if err != nil {
		p.closeEpoll()
	}
	return err
}

func (p *Port) closeEpoll() {
	p.notifier.Close()
	if p.epoll != netx.NoFD {
		netx.Close(p.epoll)
	}
}

// FD returns a descriptor that becomes readable, while the port is watched, when Receive may find packets. Sometimes
// Receive finds none, because packets of other ports make FD readable, too, until they are received. The port owns
// the descriptor; do not read from it.
func (p *Port) FD() netx.FD { return p.epoll }

// Watch switches FD on or off. It is on for a new port. A caller that polls Receive all the time needs no FD. The
// wakeup costs the kernel a tenth of its time for a packet, in the sender. Packets that wait already make FD readable
// at once. After an error of epoll_ctl(2) nothing has changed.
func (p *Port) Watch(on bool) error {
	if on == p.watched.Load() {
		return nil
	}
	if !on {
		p.watched.Store(false)
		if !p.passive {
			p.unwatchQueues(len(p.i.queues))
		}
		p.epollDel(p.socket)
		return nil
	}
	if err := p.epollAdd(p.socket, p.events); err != nil {
		return err
	}
	if !p.passive {
		if err := p.watchQueues(); err != nil {
			p.epollDel(p.socket)
			return err
		}
	}
	p.watched.Store(true)
	for n := range p.backlogs {
		if p.backlogs[n].n.Load() > 0 {
			p.notify()
		}
	}
	return nil
}

// SetPassive switches passive mode, in which the port does not watch the AF_XDP sockets. FD then becomes readable
// only when another port's Receive finds packets of this one. If one poller watches several ports, one of them is
// enough to watch the sockets. The kernel limits how many epoll sets may watch a descriptor, directly or nested
// (fs/eventpoll.c, path_limits: 10 to 100, by depth). After an error of epoll_ctl(2) nothing has changed.
func (p *Port) SetPassive(on bool) error {
	if on == p.passive {
		return nil
	}
	if p.watched.Load() {
		if on {
			p.unwatchQueues(len(p.i.queues))
		} else if err := p.watchQueues(); err != nil {
			return err
		}
	}
	p.passive = on
	return nil
}

// WatchSocket makes FD readable, while the port is watched, also when fd has one of events (epoll_ctl(2)), until fd
// is closed. Another call for the same fd changes the events. After an error of epoll_ctl(2) nothing has changed.
func (p *Port) WatchSocket(fd netx.FD, events uint32) error {
	if p.watched.Load() {
		if err := p.epollAdd(fd, events); err != nil {
			return err
		}
	}
	p.socket, p.events = fd, events
	return nil
}

// epollAdd adds a descriptor to the epoll set, or changes its events.
func (p *Port) epollAdd(fd netx.FD, events uint32) error {
	if fd == netx.NoFD {
		return nil
	}
	e := unix.EpollEvent{Events: events}
	err := unix.EpollCtl(int(p.epoll), unix.EPOLL_CTL_ADD, int(fd), &e)
	if err == unix.EEXIST {
		err = unix.EpollCtl(int(p.epoll), unix.EPOLL_CTL_MOD, int(fd), &e)
	}
	return err
}

// epollDel removes a descriptor from the epoll set.
func (p *Port) epollDel(fd netx.FD) {
	if fd != netx.NoFD {
		unix.EpollCtl(int(p.epoll), unix.EPOLL_CTL_DEL, int(fd), nil)
	}
}

// watchQueues adds the AF_XDP sockets to the epoll set, all or none.
func (p *Port) watchQueues() error {
	for n, q := range p.i.queues {
		if err := p.epollAdd(q.s.fd, unix.EPOLLIN); err != nil {
			p.unwatchQueues(n)
			return err
		}
	}
	return nil
}

// unwatchQueues removes the AF_XDP sockets of the first n queues from the epoll set.
func (p *Port) unwatchQueues(n int) {
	for _, q := range p.i.queues[:n] {
		p.epollDel(q.s.fd)
	}
}

// Interface returns the interface of the port.
func (p *Port) Interface() *Interface { return p.i }

// Addr returns the address of Bind.
func (p *Port) Addr() netip.AddrPort { return p.addr }

// Receive fills f with received packets, whole ones only, and returns the number of frames. len(f) must be at least
// MaxFrames. The caller owns the frames until Release. The kernel drops packets while too many frames are held. Only
// the destination of packets has been checked: it is this port.
func (p *Port) Receive(f []Frame) (n int) {
	notified := p.notified.Load()
	if notified {
		p.notifier.Reset()
		p.notified.Store(false) // a port that appends to a backlog after this signals again
	}
	queues, left := p.i.queues, false
	for k := range queues {
		q := queues[(p.start+k)%len(queues)]
		if !q.empty(p) {
			n += q.receive(p, f[n:])
			left = left || notified && p.backlogs[q.n].n.Load() > 0
		}
	}
	if left {
		p.notify()
	}
	if n == 0 && p.i.busyPoll {
		n = p.poll(f)
	}
	if len(queues) > 1 {
		p.start = (p.start + 1) % len(queues)
	}
	return n
}

// poll polls the driver, and receives packets.
func (p *Port) poll(f []Frame) (n int) {
	for _, q := range p.i.queues {
		sysKickReceive(q.s.fd)
		if !q.empty(p) {
			n += q.receive(p, f[n:])
		}
	}
	return n
}

// notify makes FD readable if the port is watched, because there are packets in a backlog.
func (p *Port) notify() {
	// Watch reads the backlogs after it has set watched. So one of the two sees the other's change.
	if p.watched.Load() && !p.notified.Swap(true) {
		p.notifier.Signal()
	}
}

// Release gives received frames back. It sets their Data to nil; the caller must not use it any more.
func (p *Port) Release(f []Frame) {
	for len(f) > 0 {
		q := int(f[0].chunk / p.i.u.perQueue)
		n := 0
		if q < len(p.i.queues) {
			n = p.i.queues[q].release(p, f)
		}
		f = f[max(n, 1):] // a frame that was not received is skipped
	}
}

// Reserve fills f with empty frames of Interface.Chunk bytes to transmit, and returns their number. If there are
// none, try again later: frames become free when the system has transmitted them. The caller must submit or discard
// them.
func (p *Port) Reserve(f []Frame) int { return p.tx.reserve(p, f) }

// Discard gives reserved frames back unused.
func (p *Port) Discard(f []Frame) { p.tx.discard(p, f) }

// Submit queues reserved frames for transmitting, all of them or none. They leave with Flush. It returns EINVAL if a
// frame is empty, does not belong to this port, or has other memory than it had. It also does if a frame has More and
// is the last of f, or the interface does not support packets of several frames (MultiBuffer).
func (p *Port) Submit(f []Frame) unix.Errno { return p.tx.submit(p, f) }

// Flush transmits the submitted frames. EAGAIN: the system has no room for some of them, which wait for the next
// Flush. ENETDOWN and ENXIO: the interface is down, or was removed; the frames leave when it is up again.
func (p *Port) Flush() unix.Errno { return p.tx.s.kick() }

// Lost returns the number of packets of this port that were dropped because its backlog was full. Interface.Stats has
// the kernel's losses.
func (p *Port) Lost() uint64 { return p.lost.Load() }

// Stop makes the program pass further packets to the kernel's stack. Packets from before can be received until Close.
// Errors are those of bpf(2).
func (p *Port) Stop() error {
	p.i.mu.Lock()
	defer p.i.mu.Unlock()
	var errs []error
	for k := range p.keys { // the table keeps them: earlier packets need it
		errs = append(errs, p.i.prog.deletePort(k))
	}
	// A processor may be redirecting a packet whose key it has looked up before. This waits until none is
	// (membarrier(2), which calls synchronize_rcu). If the kernel has no such call, that packet is lost.
	unix.Syscall(unix.SYS_MEMBARRIER, membarrierGlobal, 0, 0)
	return errors.Join(errs...)
}

// Resume ends Stop. Errors are those of bpf(2).
func (p *Port) Resume() error {
	p.i.mu.Lock()
	defer p.i.mu.Unlock()
	var errs []error
	for k := range p.keys {
		errs = append(errs, p.i.prog.setPort(k))
	}
	return errors.Join(errs...)
}

// membarrierGlobal is MEMBARRIER_CMD_GLOBAL.
const membarrierGlobal = 1

// Empty reports whether there is nothing to receive. It is false while there are packets that may belong to another
// port, or that another port may append to a backlog now.
func (p *Port) Empty() bool {
	for _, q := range p.i.queues {
		if !q.empty(p) {
			return false
		}
	}
	return true
}

// Close closes the port. The frames that it holds become invalid, and submitted ones may still be transmitted.
// Packets to it go to the kernel's stack again.
func (p *Port) Close() error {
	if p.ended {
		return nil
	}
	p.ended = true
	p.i.mu.Lock()
	err := p.i.setKeys(p, nil, true)
	delete(p.i.ports, p)
	p.i.mu.Unlock()
	for _, q := range p.i.queues {
		q.forget(p)
	}
	p.closeEpoll()
	p.i.Close()
	return err
}

// destination reads the destination of a packet, as the program does: Ethernet, up to two VLAN tags, IPv4 without
// options or IPv6 without extension headers, UDP. The only necessary check here is that it does not read beyond the
// end.
func destination(b []byte) (k key, ok bool) {
	for tags := 0; tags < 2 && len(b) >= etherLen+tagLen && (vlan(b) == etherVLAN || vlan(b) == etherQinQ); tags++ {
		k.setVLAN(tags, vlan(b), binary.BigEndian.Uint16(b[etherLen:]))
		b = b[tagLen:]
	}
	if len(b) < etherLen+ip4Len+udpLen {
		return k, false
	}
	copy(k[18:], b[12:14])
	switch ip := b[etherLen:]; vlan(b) {
	case etherIPv4:
		k[10], k[11] = 0xff, 0xff
		copy(k[12:16], ip[16:20])
		copy(k[16:18], ip[ip4Len+2:])
	case etherIPv6:
		if len(ip) < ip6Len+udpLen {
			return k, false
		}
		copy(k[:16], ip[24:40])
		copy(k[16:18], ip[ip6Len+2:])
	default:
		return k, false
	}
	return k, true
}

// vlan returns the Ethernet type.
func vlan(b []byte) uint16 { return binary.BigEndian.Uint16(b[12:]) }
