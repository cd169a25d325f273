//go:build !fabricbasic

// Readiness of many descriptors: epoll(7).

package netx

import (
	"time"

	"golang.org/x/sys/unix"
)

// EdgeTriggered tells whether Edge means anything here.
const EdgeTriggered = true

// waitBatch is the largest number of reports of one Wait; they pass over the stack, so that Waits need not exclude one another.
const waitBatch = 64

// Poller watches descriptors. Its methods may be called from several goroutines, but Close only when no other call is under way.
type Poller struct{ fd FD }

// NewPoller opens one that watches nothing.
func NewPoller() (*Poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &Poller{fd: FD(fd)}, nil
}

// Close stops watching. It does not touch the descriptors, and does not wake a Wait.
func (p *Poller) Close() error {
	if p.fd == NoFD {
		return nil
	}
	fd := p.fd
	p.fd = NoFD
	return Close(fd)
}

// FD is a descriptor that is readable while any watched one is ready (an epoll nests), or NoFD where the system has no such thing.
func (p *Poller) FD() FD { return p.fd }

// Add starts to watch fd for ev and reports it as token; unix.EEXIST when it is watched already. Del it before closing it.
func (p *Poller) Add(fd FD, ev Events, token uint64) error {
	return p.control(unix.EPOLL_CTL_ADD, fd, ev, token)
}

// Mod replaces conditions and token of a watched descriptor, and watches it again after a OneShot report; unix.ENOENT when it is not watched.
func (p *Poller) Mod(fd FD, ev Events, token uint64) error {
	return p.control(unix.EPOLL_CTL_MOD, fd, ev, token)
}

// Del stops to watch fd; unix.ENOENT when it is not watched. A Wait under way elsewhere may still report it.
func (p *Poller) Del(fd FD) error { return errnoErr(sysEpollCtl(p.fd, unix.EPOLL_CTL_DEL, fd, nil)) }

func (p *Poller) control(op int, fd FD, ev Events, token uint64) error {
	// The kernel's data word is split in two fields by x/sys; it is opaque to it.
	e := unix.EpollEvent{Events: toEpoll(ev), Fd: int32(uint32(token)), Pad: int32(uint32(token >> 32))}
	return errnoErr(sysEpollCtl(p.fd, op, fd, &e))
}

// Wait fills evs, which is the caller's, with what is ready and returns how many. timeout 0 never waits; negative waits for ever; else it returns 0
// after timeout, rounded up to milliseconds. A Wait that waits holds a thread: goroutines wait with a Parker. It reports at most 64 at a time and
// does not allocate.
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
