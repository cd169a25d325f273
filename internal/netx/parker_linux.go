//go:build !fabricbasic

// Waiting without a thread: an epoll of our own inside the runtime's.

package netx

import (
	"math"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Parker lets one goroutine wait for a timer, a wake-up and a Poller at once, parked in the runtime's poller: it holds no thread. All methods but
// Park may be called at any time from any goroutine.
//
// The runtime watches an epoll that holds three descriptors: an eventfd, a timerfd, and the Poller's own epoll. The last is registered EPOLLONESHOT
// and without events while disarmed, so that traffic on its sockets then wakes neither the goroutine nor the runtime, which otherwise would be
// woken by every packet, also when somebody else polls.
type Parker struct {
	wake *Notifier

	mu     sync.Mutex // guards what follows, and orders system calls against Close
	outer  FD         // owned by file
	timer  FD
	poller FD // of the attached Poller
	closed bool

	file *os.File
	conn syscall.RawConn
	look func(fd uintptr) bool // k.collect, made once so that Park does not allocate

	// Park's result, between look and Park.
	why Why
	err unix.Errno
}

// NewParker opens one with no timer set and no Poller. Errors are unix.Errno values: descriptors may run out.
func NewParker() (*Parker, error) {
	wake, err := NewNotifier()
	if err != nil {
		return nil, err
	}
	k := &Parker{wake: wake, outer: NoFD, timer: NoFD, poller: NoFD}
	if err := k.open(); err != nil {
		if k.file != nil {
			k.file.Close()
		} else if k.outer != NoFD {
			Close(k.outer)
		}
		if k.timer != NoFD {
			Close(k.timer)
		}
		wake.Close()
		return nil, err
	}
	return k, nil
}

func (k *Parker) open() error {
	n, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return err
	}
	k.timer = FD(n)
	if n, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	k.outer = FD(n)
	// Edge-triggered, a timer that fired need not be read: setting it again takes its readiness back.
	if err := k.watch(k.timer, unix.EPOLL_CTL_ADD, unix.EPOLLIN|unix.EPOLLET, WhyTimer); err != nil {
		return err
	}
	if err := k.watch(FD(k.wake.FD()), unix.EPOLL_CTL_ADD, unix.EPOLLIN, WhyWake); err != nil {
		return err
	}
	// os.NewFile hands a descriptor to the runtime's poller if it is non-blocking; an epoll accepts the flag and ignores it.
	if err := unix.SetNonblock(n, true); err != nil {
		return err
	}
	k.file = os.NewFile(uintptr(n), "epoll")
	// It does not say whether that worked; deadlines exist exactly if it did.
	if err := k.file.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	k.conn, err = k.file.SyscallConn()
	k.look = k.collect
	return err
}

func (k *Parker) watch(fd FD, op int, events uint32, why Why) error {
	return errnoErr(sysEpollCtl(k.outer, op, fd, &unix.EpollEvent{Events: events, Fd: int32(why)}))
}

// Attach gives the Parker a Poller to watch, disarmed at first; unix.EEXIST when it has one. The Poller may be closed before or after the Parker.
func (k *Parker) Attach(p *Poller) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return os.ErrClosed
	}
	if k.poller != NoFD {
		return unix.EEXIST
	}
	if err := k.watch(p.fd, unix.EPOLL_CTL_ADD, unix.EPOLLONESHOT, WhyPoller); err != nil {
		return err
	}
	k.poller = p.fd
	return nil
}

// ArmPoller makes Park return once, now or later, when the attached Poller has something to report; or takes that back. unix.ENOENT when no Poller
// is attached or it was closed.
func (k *Parker) ArmPoller(on bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return os.ErrClosed
	}
	if k.poller == NoFD {
		return unix.ENOENT
	}
	events := uint32(unix.EPOLLONESHOT)
	if on {
		events |= unix.EPOLLIN
	}
	err := k.watch(k.poller, unix.EPOLL_CTL_MOD, events, WhyPoller)
	if err == unix.EBADF {
		return unix.ENOENT
	}
	return err
}

// SetTimer makes Park return in d, to the nanosecond as far as the system is able, in place of the time set before, also if that has come and was
// not reported yet. 0 sets none; less than 0 is at once.
func (k *Parker) SetTimer(d time.Duration) error {
	if d < 0 {
		d = 1
	}
	d = min(d, math.MaxInt32*time.Second) // seconds have 32 bits where pointers do
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return os.ErrClosed
	}
	return errnoErr(sysTimerSet(k.timer, &spec))
}

// Wake makes Park return, now or the next time that it is called. It costs a few nanoseconds if that is due already.
func (k *Parker) Wake() { k.wake.Signal() }

// Park blocks the calling goroutine until there is a reason to return, and returns all that there are. One goroutine at a time may be in it. The
// error is os.ErrClosed once Close was called.
func (k *Parker) Park() (Why, error) {
	k.why, k.err = 0, 0
	if err := k.conn.Read(k.look); err != nil {
		// The runtime evicts us for one reason only; it has a text, but no name, of its own for it.
		return 0, os.ErrClosed
	}
	return k.why, errnoErr(k.err)
}

// collect takes what is ready and says whether that was anything.
func (k *Parker) collect(fd uintptr) bool {
	var evs [4]unix.EpollEvent
	n, err := sysEpollWait(FD(fd), evs[:], 0)
	if err != 0 && err != unix.EINTR {
		k.err = err
		return true
	}
	for _, e := range evs[:n] {
		k.why |= Why(e.Fd)
	}
	if k.why&WhyWake != 0 {
		k.wake.Reset()
	}
	return k.why != 0
}

// Close ends Park, and frees the descriptors. It leaves the attached Poller alone. Later calls fail with os.ErrClosed, or do nothing.
func (k *Parker) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil
	}
	k.closed = true
	err := k.file.Close()
	if e := Close(k.timer); err == nil {
		err = e
	}
	if e := k.wake.Close(); err == nil {
		err = e
	}
	return err
}
