//go:build !linux || fabricbasic

// Waiting almost without threads: only an armed Poller costs one.

package netx

import (
	"os"
	"sync"
	"syscall"
	"time"
)

// Parker lets one goroutine wait for a timer, a wake-up and a Poller at once. All methods but Park may be called at
// any time from any goroutine.
//
// Timer and wake-up are the runtime's own. For the Poller there is a helper goroutine, started when the Poller is
// first armed, which waits in poll(2). After it is disarmed, traffic wakes it at most once.
type Parker struct {
	kick chan struct{} // holds one element when why or closed has changed

	mu     sync.Mutex
	why    Why
	closed bool
	timer  *time.Timer
	due    time.Time // when the timer is to fire; zero if it is not set
	poller *Poller
	armed  bool

	set   *pollSet      // the helper's; nil before it is started
	arm   chan struct{} // holds one element when armed or closed has changed
	ended chan struct{} // closed when the helper has returned
}

// NewParker opens a Parker with no timer set and no Poller. Errors are syscall.Errno values: descriptors may run
// out.
func NewParker() (*Parker, error) {
	return &Parker{kick: make(chan struct{}, 1), arm: make(chan struct{}, 1), ended: make(chan struct{})}, nil
}

// Attach gives the Parker a Poller to watch, disarmed at first. It returns syscall.EEXIST when the Parker has one.
// The Poller may be closed before or after the Parker.
func (k *Parker) Attach(p *Poller) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return os.ErrClosed
	}
	if k.poller != nil {
		return syscall.EEXIST
	}
	k.poller = p
	return nil
}

// ArmPoller makes Park return once, now or later, when the attached Poller has events, or cancels that. It returns
// syscall.ENOENT when no Poller is attached or the Poller is closed.
func (k *Parker) ArmPoller(on bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return os.ErrClosed
	}
	if k.poller == nil || k.poller.isClosed() {
		return syscall.ENOENT
	}
	k.why &^= WhyPoller
	k.armed = on
	if !on {
		return nil
	}
	if k.set == nil {
		set, err := k.poller.take()
		if err != nil {
			k.armed = false
			return err
		}
		k.set = set
		go k.help()
	}
	notify(k.arm)
	return nil
}

// SetTimer makes Park return after d, with the precision of the system's timers. It replaces the time set before,
// even if that has passed and Park has not reported it yet. 0 sets no timer; less than 0 means at once.
func (k *Parker) SetTimer(d time.Duration) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return os.ErrClosed
	}
	k.why &^= WhyTimer
	if d == 0 {
		k.due = time.Time{}
		if k.timer != nil {
			k.timer.Stop()
		}
		return nil
	}
	d = max(d, 1)
	k.due = time.Now().Add(d)
	if k.timer == nil {
		k.timer = time.AfterFunc(d, k.fire)
	} else {
		k.timer.Reset(d)
	}
	return nil
}

// fire may be called late, for a time that has been replaced since. It then sets the timer for the new time.
func (k *Parker) fire() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.due.IsZero() || time.Now().Before(k.due) {
		return
	}
	k.due = time.Time{}
	k.give(WhyTimer)
}

// Wake makes Park return, now or at its next call. It costs a few nanoseconds if a Wake is pending already.
func (k *Parker) Wake() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.give(WhyWake)
}

func (k *Parker) give(why Why) {
	k.why |= why
	notify(k.kick)
}

// Park blocks the calling goroutine until there is a reason to return, and returns all reasons. Only one goroutine
// at a time may call it. The error is os.ErrClosed after Close.
func (k *Parker) Park() (Why, error) {
	for {
		k.mu.Lock()
		why, closed := k.why, k.closed
		k.why = 0
		k.mu.Unlock()
		if closed {
			return 0, os.ErrClosed
		}
		if why != 0 {
			return why, nil
		}
		<-k.kick
	}
}

// help waits on the Poller while it is armed, until Close.
func (k *Parker) help() {
	defer close(k.ended)
	defer k.poller.put(k.set)
	for range k.arm {
		for {
			// The order matters: a signal of Close that comes after the check must still interrupt the wait.
			k.set.wake.Reset()
			if !k.watching() {
				break
			}
			if k.poller.list(k.set, true) != nil || k.set.poll(-1) != nil {
				// The Poller was closed, so no event will come from it.
				break
			}
			if k.set.ready() {
				k.report()
			}
		}
		if k.isClosed() {
			return
		}
	}
}

func (k *Parker) watching() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.armed && !k.closed
}

func (k *Parker) isClosed() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.closed
}

func (k *Parker) report() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.armed {
		k.armed = false
		k.give(WhyPoller)
	}
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
	if k.timer != nil {
		k.timer.Stop()
	}
	notify(k.kick)
	if k.set == nil {
		return nil
	}
	notify(k.arm)
	k.set.wake.Signal()
	k.mu.Unlock()
	<-k.ended
	k.mu.Lock()
	return nil
}

// notify puts one element into a channel of capacity one, unless it is full.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
