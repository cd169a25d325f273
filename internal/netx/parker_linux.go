//go:build !fabricbasic

// Waiting without a thread: an epoll of this package inside the runtime's.

package netx

import (
	"math"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Parker lets one goroutine wait for a timer, a wake-up and a Poller at once. The goroutine is parked in the
// runtime's poller and holds no thread. All methods but Park may be called at any time from any goroutine.
//
// The runtime watches an epoll that holds three descriptors: an eventfd, a timerfd, and the Poller's own epoll. The
// last one is registered EPOLLONESHOT, and without events while it is disarmed. Traffic on the Poller's sockets
// then wakes neither the goroutine nor the runtime. Otherwise every packet would wake the runtime, even while
// another goroutine polls.
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

	// The result of Park, passed from look to Park.
	why Why
	err unix.Errno
}

// NewParker opens a Parker with no timer set and no Poller. Errors are unix.Errno values: descriptors may run out.
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
	// The timer is edge-triggered, so it need not be read after it fired: setting it again makes it unready.
	if err := k.watch(k.timer, unix.EPOLL_CTL_ADD, unix.EPOLLIN|unix.EPOLLET, WhyTimer); err != nil {
		return err
	}
	if err := k.watch(FD(k.wake.FD()), unix.EPOLL_CTL_ADD, unix.EPOLLIN, WhyWake); err != nil {
		return err
	}
	// os.NewFile adds a descriptor to the runtime's poller if it is non-blocking. An epoll accepts that flag and
	// ignores it.
	if err := unix.SetNonblock(n, true); err != nil {
		return err
	}
	k.file = os.NewFile(uintptr(n), "epoll")
	// os.NewFile does not report whether it did. Deadlines work exactly if it did.
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

// Attach gives the Parker a Poller to watch, disarmed at first. It returns unix.EEXIST when the Parker has one. The
// Poller may be closed before or after the Parker.
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

// ArmPoller makes Park return once, now or later, when the attached Poller has events, or cancels that. It returns
// unix.ENOENT when no Poller is attached or the Poller is closed.
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

// SetTimer makes Park return after d, with the precision of the system's timers. It replaces the time set before,
// even if that has passed and Park has not reported it yet. 0 sets no timer; less than 0 means at once.
func (k *Parker) SetTimer(d time.Duration) error {
	if d < 0 {
		d = 1
	}
	d = min(d, math.MaxInt32*time.Second) // seconds have 32 bits on 32-bit systems
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return os.ErrClosed
	}
	return errnoErr(sysTimerSet(k.timer, &spec))
}

// Wake makes Park return, now or at its next call. It costs a few nanoseconds if a Wake is pending already.
func (k *Parker) Wake() { k.wake.Signal() }

// Park blocks the calling goroutine until there is a reason to return, and returns all reasons. Only one goroutine
// at a time may call it. The error is os.ErrClosed after Close.
func (k *Parker) Park() (Why, error) {
	k.why, k.err = 0, 0
	if err := k.conn.Read(k.look); err != nil {
		// The runtime ends the read for one reason only, Close. Its error has a text but no exported name.
		return 0, os.ErrClosed
	}
	return k.why, errnoErr(k.err)
}

// collect takes the reasons that are ready, and reports whether there were any.
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

// Close ends Park and frees the descriptors. It does not close the attached Poller. Later calls fail with
// os.ErrClosed, or do nothing.
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
