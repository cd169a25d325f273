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

// Frame is a packet or, if More is set in the one before it, the next part of one, in memory shared with the kernel. It is the holder's until it is given
// back.
type Frame struct {
	// Data is what came, from the Ethernet header on; of a frame to transmit, room for that. What is to be transmitted is set by slicing: Data = Data[:n] or
	// Data[from:n].
	Data []byte
	// More says that the packet goes on in the next frame.
	More  bool
	chunk uint32
}

// Port is a live destination: an address and port for which packets come to this process past the kernel's stack. One goroutine at a time uses a Port; those
// of different ports do not disturb each other. Nothing here waits, and nothing but Close allocates.
type Port struct {
	i       *Interface
	addr    netip.AddrPort
	tags    []frame.Tag
	keys    map[key]struct{} // guarded by i.mu
	tx      *queue
	boxes   []box // for each queue; guarded by the queue's lock
	note    *netx.Notifier
	wait    netx.FD
	start   int         // queue to look at first
	told    atomic.Bool // note was signalled, or will be, for what is in the boxes
	watched atomic.Bool
	follows bool    // somebody else receives: FD is not the sockets' to make readable
	beside  netx.FD // see Attend
	events  uint32
	lost    atomic.Uint64
	ended   bool
}

// openWait opens what the port's user can wait on: a poll set, of what tells that others found something for this port, and, while the port is watched, of the
// sockets.
func (p *Port) openWait() error {
	p.wait, p.beside = netx.NoFD, netx.NoFD
	var err error
	if p.note, err = netx.NewNotifier(); err != nil {
		return err
	}
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		p.wait = netx.FD(ep)
		err = unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, p.note.FD(), &unix.EpollEvent{Events: unix.EPOLLIN})
	}
	if err != nil {
		p.closeWait()
	}
	return err
}

func (p *Port) closeWait() {
	p.note.Close()
	if p.wait != netx.NoFD {
		netx.Close(p.wait)
	}
}

// FD becomes readable, while the port is watched, when Receive may find something, at times when it does not: packets of other ports make it so, too, until
// somebody has received them. It is the port's; do not read from it.
func (p *Port) FD() netx.FD { return p.wait }

// Watch begins or ends making FD readable. A new port is watched. Whoever polls Receive without pause needs no FD, and the kernel spends a tenth of its time
// for a packet on telling, and for what comes to a socket that is attended, too: on the time of who sends. What waits already makes FD readable at once. Errors are those of
// epoll_ctl(2); nothing has changed then.
func (p *Port) Watch(on bool) error {
	if on == p.watched.Load() {
		return nil
	}
	if !on {
		p.watched.Store(false)
		if !p.follows {
			p.leave(len(p.i.queues))
		}
		p.drop(p.beside)
		return nil
	}
	if err := p.put(p.beside, p.events); err != nil {
		return err
	}
	if !p.follows {
		if err := p.enter(); err != nil {
			p.drop(p.beside)
			return err
		}
	}
	p.watched.Store(true)
	for n := range p.boxes {
		if p.boxes[n].n.Load() > 0 {
			p.tell()
		}
	}
	return nil
}

// Follow begins or ends leaving it to others to find what comes: while it lasts, FD is made readable by what another port's Receive has put aside for this one,
// and by nothing else. Of ports that one poller watches one is enough to hear of the sockets, and the kernel bounds how many ways a socket's news may go
// (fs/eventpoll.c, path_limits: 10 to 100, by how poll sets are nested). Errors are those of epoll_ctl(2); nothing has changed then.
func (p *Port) Follow(on bool) error {
	if on == p.follows {
		return nil
	}
	if p.watched.Load() {
		if on {
			p.leave(len(p.i.queues))
		} else if err := p.enter(); err != nil {
			return err
		}
	}
	p.follows = on
	return nil
}

// Attend makes FD readable, while the port is watched, when fd has one of events (epoll_ctl(2)), too, until fd is closed; the next Attend, which is of the same fd, replaces
// this one. Errors are those of epoll_ctl(2); nothing has changed then.
func (p *Port) Attend(fd netx.FD, events uint32) error {
	if p.watched.Load() {
		if err := p.put(fd, events); err != nil {
			return err
		}
	}
	p.beside, p.events = fd, events
	return nil
}

// put puts a descriptor into the poll set, or changes which of its events count there.
func (p *Port) put(fd netx.FD, events uint32) error {
	if fd == netx.NoFD {
		return nil
	}
	e := unix.EpollEvent{Events: events}
	err := unix.EpollCtl(int(p.wait), unix.EPOLL_CTL_ADD, int(fd), &e)
	if err == unix.EEXIST {
		err = unix.EpollCtl(int(p.wait), unix.EPOLL_CTL_MOD, int(fd), &e)
	}
	return err
}

// drop takes a descriptor out of the poll set.
func (p *Port) drop(fd netx.FD) {
	if fd != netx.NoFD {
		unix.EpollCtl(int(p.wait), unix.EPOLL_CTL_DEL, int(fd), nil)
	}
}

// enter puts the sockets into the poll set, all or none.
func (p *Port) enter() error {
	for n, q := range p.i.queues {
		if err := p.put(q.s.fd, unix.EPOLLIN); err != nil {
			p.leave(n)
			return err
		}
	}
	return nil
}

// leave takes the sockets of the first n queues out of the poll set.
func (p *Port) leave(n int) {
	for _, q := range p.i.queues[:n] {
		p.drop(q.s.fd)
	}
}

// Interface is where the port is.
func (p *Port) Interface() *Interface { return p.i }

// Addr is what Bind was given.
func (p *Port) Addr() netip.AddrPort { return p.addr }

// Receive fills f with packets that came, whole ones only, and returns how many frames that are; len(f) must be at least MaxParts. The frames are the caller's
// until Release; who holds many makes the kernel drop what comes. Packets are as they came: their destination is this port's, nothing else is checked.
func (p *Port) Receive(f []Frame) (n int) {
	told := p.told.Load()
	if told {
		p.note.Reset()
		p.told.Store(false) // whoever boxes something from now on signals again
	}
	queues, left := p.i.queues, false
	for k := range queues {
		q := queues[(p.start+k)%len(queues)]
		if !q.quiet(p) {
			n += q.receive(p, f[n:])
			left = left || told && p.boxes[q.n].n.Load() > 0
		}
	}
	if left {
		p.tell()
	}
	if n == 0 && p.i.busy {
		n = p.poll(f)
	}
	if len(queues) > 1 {
		p.start = (p.start + 1) % len(queues)
	}
	return n
}

// poll has the driver look for what has come, and receives it.
func (p *Port) poll(f []Frame) (n int) {
	for _, q := range p.i.queues {
		sysKickReceive(q.s.fd)
		if !q.quiet(p) {
			n += q.receive(p, f[n:])
		}
	}
	return n
}

// tell makes FD readable if the port is watched: there is something in a box.
func (p *Port) tell() {
	// Watch looks at the boxes after it has set watched: one of the two sees what the other did.
	if p.watched.Load() && !p.told.Swap(true) {
		p.note.Signal()
	}
}

// Release gives received frames back. Their Data may not be used any more, and is nil.
func (p *Port) Release(f []Frame) {
	for len(f) > 0 {
		q := int(f[0].chunk / p.i.u.perQueue)
		n := 0
		if q < len(p.i.queues) {
			n = p.i.queues[q].release(p, f)
		}
		f = f[max(n, 1):] // a frame that was not received is left alone
	}
}

// Reserve fills f with empty frames of Interface.Chunk bytes to transmit, and returns how many there were. If there are none, those under way come back as the
// system transmits them: try again later. What is reserved is submitted or discarded.
func (p *Port) Reserve(f []Frame) int { return p.tx.reserve(p, f) }

// Discard gives reserved frames back unused.
func (p *Port) Discard(f []Frame) { p.tx.discard(p, f) }

// Submit hands over reserved frames for transmitting, all of them or none. EINVAL: a frame is empty, is not this port's, has other memory than it had, or is a
// part of a packet (More) though the last of f or though the interface cannot (Multi). They leave with Flush.
func (p *Port) Submit(f []Frame) unix.Errno { return p.tx.submit(p, f) }

// Flush transmits what was submitted. EAGAIN: the system has no room for some of it; it waits for the next Flush. ENETDOWN and ENXIO: the interface is down,
// or gone; what was submitted goes when it is up again.
func (p *Port) Flush() unix.Errno { return p.tx.s.kick() }

// Lost is how many packets of this port were dropped because it did not come for them while others received them. The kernel's losses are in Interface.Stats.
func (p *Port) Lost() uint64 { return p.lost.Load() }

// Stop makes packets that are still to come go to the kernel's stack. Those that came before are here to be received, until Close. Errors are those of bpf(2).
func (p *Port) Stop() error {
	p.i.mu.Lock()
	defer p.i.mu.Unlock()
	var errs []error
	for k := range p.keys { // the table keeps them: it says whose the packets are
		errs = append(errs, p.i.prog.deletePort(k))
	}
	// The kernel may be at packets that it looked up before, and shows them only after some more: it is when no processor is in the midst of that
	// (membarrier(2); synchronize_rcu). Where it cannot wait for that, such a packet is lost.
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

// Quiet reports whether nothing has come that Receive would look at. It is not when packets wait that are others', or that somebody else is about to put aside.
func (p *Port) Quiet() bool {
	for _, q := range p.i.queues {
		if !q.quiet(p) {
			return false
		}
	}
	return true
}

// Close ends the port. Frames that it holds are gone with it; what was submitted may still be transmitted. Packets to it go to the kernel's stack again.
func (p *Port) Close() error {
	if p.ended {
		return nil
	}
	p.ended = true
	p.i.mu.Lock()
	err := p.i.place(p, nil, true)
	delete(p.i.ports, p)
	p.i.mu.Unlock()
	for _, q := range p.i.queues {
		q.forget(p)
	}
	p.closeWait()
	p.i.Close()
	return err
}

// destination reads where a packet goes, as the program does: Ethernet, up to two VLAN tags, IPv4 without options or IPv6 without extension headers, UDP. Here
// it need not check more than that nothing is read beyond the end.
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

// vlan is the Ethernet type.
func vlan(b []byte) uint16 { return binary.BigEndian.Uint16(b[12:]) }
