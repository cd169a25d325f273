//go:build !fabricbasic

// Readiness of many descriptors: epoll(7).

package netx

import (
	"time"

	"golang.org/x/sys/unix"
)

// EdgeTriggered reports whether the Edge flag has an effect on this system.
const EdgeTriggered = true

// waitBatch is the largest number of reports of one Wait. They are on the stack, so that concurrent Waits need no
// lock.
const waitBatch = 64

// Poller watches descriptors. Its methods may be called from several goroutines. Close must only be called when no
// other call is in progress.
type Poller struct{ fd FD }

// NewPoller opens a Poller that watches nothing.
func NewPoller() (*Poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &Poller{fd: FD(fd)}, nil
}

// Close stops watching. It does not close the watched descriptors, and does not wake a Wait.
func (p *Poller) Close() error {
	if p.fd == NoFD {
		return nil
	}
	fd := p.fd
	p.fd = NoFD
	return Close(fd)
}

// Add starts to watch fd for ev, and reports it as token. It returns unix.EEXIST when fd is watched already.
// Callers Del a descriptor before they close it.
func (p *Poller) Add(fd FD, ev Events, token uint64) error {
	return p.control(unix.EPOLL_CTL_ADD, fd, ev, token)
}

// Mod replaces conditions and token of a watched descriptor, and watches it again after a OneShot report. It
// returns unix.ENOENT when fd is not watched.
func (p *Poller) Mod(fd FD, ev Events, token uint64) error {
	return p.control(unix.EPOLL_CTL_MOD, fd, ev, token)
}

// Del stops watching fd. It returns unix.ENOENT when fd is not watched. A Wait in progress on another thread may
// still report it.
func (p *Poller) Del(fd FD) error { return errnoErr(sysEpollCtl(p.fd, unix.EPOLL_CTL_DEL, fd, nil)) }

func (p *Poller) control(op int, fd FD, ev Events, token uint64) error {
	// x/sys splits the kernel's 64-bit data word into two fields. The kernel does not interpret it.
	e := unix.EpollEvent{Events: toEpoll(ev), Fd: int32(uint32(token)), Pad: int32(uint32(token >> 32))}
	return errnoErr(sysEpollCtl(p.fd, op, fd, &e))
}

// Wait fills evs, which the caller owns, with events, and returns how many. A timeout of 0 never waits, a negative
// one waits without limit. Otherwise Wait returns 0 after timeout, rounded up to milliseconds. A Wait that waits
// holds a thread: goroutines wait with a Parker. It reports at most 64 events at a time and does not allocate.
func (p *Poller) Wait(evs []Event, timeout time.Duration) (int, error) {
	if len(evs) == 0 {
		return 0, unix.EINVAL
	}
	var raw [waitBatch]unix.EpollEvent
	var deadline time.Time
	if timeout > 0 {
		deadline = time.Now().Add(timeout)
	}
	for {
		n, err := sysEpollWait(p.fd, raw[:min(len(evs), waitBatch)], waitMillis(timeout))
		if err == 0 {
			for i := range raw[:n] {
				e := &raw[i]
				evs[i] = Event{uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32, fromEpoll(e.Events)}
			}
			return n, nil
		}
		if err != unix.EINTR {
			return 0, err
		}
		if timeout > 0 {
			timeout = max(time.Until(deadline), 0)
		}
	}
}

func toEpoll(ev Events) uint32 {
	var e uint32
	if ev&In != 0 {
		e |= unix.EPOLLIN
	}
	if ev&Out != 0 {
		e |= unix.EPOLLOUT
	}
	if ev&Edge != 0 {
		e |= unix.EPOLLET
	}
	if ev&OneShot != 0 {
		e |= unix.EPOLLONESHOT
	}
	return e
}

func fromEpoll(e uint32) Events {
	var ev Events
	if e&unix.EPOLLIN != 0 {
		ev |= In
	}
	if e&unix.EPOLLOUT != 0 {
		ev |= Out
	}
	if e&unix.EPOLLERR != 0 {
		ev |= Err
	}
	if e&unix.EPOLLHUP != 0 {
		ev |= Hup
	}
	return ev
}

// errnoErr makes 0 nil.
func errnoErr(e unix.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}
