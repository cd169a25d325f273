package cq

import (
	"context"
	"sync"
	"time"

	"gofabric/core"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
)

// This file has the sleepers of a queue or counter.

// DefaultSpin is the time for which a wait makes passes before it sleeps. A wake-up costs several passes, and an
// answer over a fast network takes less time than this.
const DefaultSpin = 20 * time.Microsecond

// waiter is one sleeping goroutine. Its channel has room for one wake-up.
type waiter struct{ ch chan struct{} }

// waitState has the sleepers on a queue or counter. The owner's lock guards it.
type waitState struct {
	obj      core.WaitObj
	active   bool // the next push must wake: there are waiters, or armed or setArmed is set
	armed    bool // TryWait allowed a sleep on a descriptor
	entered  bool // EnterWait was called; until the next read
	setArmed bool // a WaitSet.Wait call sleeps
	inSet    int  // number of WaitSet.Wait calls that wait for this object, too
	waiters  []*waiter
	spare    []*waiter
	notifier *netx.Notifier
	set      *WaitSet
}

// init checks the wait object of an attribute and opens the descriptor that it needs.
func (w *waitState) init(op string, obj core.WaitObj, set core.WaitDriver) error {
	w.obj = obj
	switch obj {
	case core.WaitNone, core.WaitYield, core.WaitUnspec:
		return nil
	case core.WaitFD, core.WaitPollFD:
		if err := w.open(); err != nil {
			return opError(op, err, "the wait object needs a descriptor; raise the limit of open files")
		}
		return nil
	case core.WaitSetObj:
		s, ok := set.(*WaitSet)
		if !ok || s == nil {
			return opError(op, core.ErrInval, "WaitSetObj needs a WaitSet of the same fabric")
		}
		w.set = s
		return nil
	}
	return opError(op, core.ErrInval, "wait objects are WaitNone, WaitUnspec, WaitFD, WaitPollFD, WaitYield and WaitSetObj")
}

func (w *waitState) open() error {
	if w.notifier != nil {
		return nil
	}
	n, err := netx.NewNotifier()
	if err != nil {
		return err
	}
	w.notifier = n
	return nil
}

// fd returns the descriptor to poll (FI_GETWAIT).
func (w *waitState) fd() (int, error) {
	switch w.obj {
	case core.WaitNone:
		return -1, core.ErrNoData
	case core.WaitYield:
		return -1, core.ErrNoSys
	case core.WaitSetObj:
		return w.set.WaitFD()
	}
	if err := w.open(); err != nil {
		return -1, err
	}
	return w.notifier.FD(), nil
}

// canRead reports whether blocking reads are allowed: not without a wait object, and not with a wait set
// (fi_cq(3)).
func (w *waitState) canRead() bool { return w.obj != core.WaitNone && w.obj != core.WaitSetObj }

// arm prepares a sleep on the descriptor. The set's own TryWait has reset a set's descriptor.
func (w *waitState) arm() {
	if w.notifier != nil {
		w.notifier.Reset()
	}
	w.armed, w.active = true, true
}

// sleep waits until a push or the end of ctx. The caller holds lock; sleep releases it meanwhile.
func (w *waitState) sleep(ctx context.Context, lock sync.Locker) {
	var x *waiter
	if n := len(w.spare); n > 0 {
		x, w.spare = w.spare[n-1], w.spare[:n-1]
	} else {
		x = &waiter{make(chan struct{}, 1)}
	}
	w.waiters = append(w.waiters, x)
	w.active = true
	lock.Unlock()
	select {
	case <-x.ch:
	case <-ctx.Done():
	}
	lock.Lock()
	for i, y := range w.waiters { // it is still in the list only if ctx ended first
		if x == y {
			last := len(w.waiters) - 1
			w.waiters[i], w.waiters[last] = w.waiters[last], nil
			w.waiters = w.waiters[:last]
			break
		}
	}
	select {
	case <-x.ch: // a push came at the same time
	default:
	}
	w.spare = append(w.spare, x)
	w.setActive()
}

// wake wakes all sleepers, once.
func (w *waitState) wake() {
	for i, x := range w.waiters {
		select {
		case x.ch <- struct{}{}:
		default:
		}
		w.waiters[i] = nil
	}
	w.waiters = w.waiters[:0]
	if w.armed {
		w.armed = false
		w.signalFD()
	}
	if w.setArmed {
		w.setArmed = false
		w.set.wake()
	}
	w.active = false
}

func (w *waitState) setActive() { w.active = w.armed || w.setArmed || len(w.waiters) > 0 }

// enterSet and leaveSet count the WaitSet.Wait calls that wait for the object.
func (w *waitState) enterSet() {
	w.inSet++
	w.setArmed, w.active = true, true
}

func (w *waitState) leaveSet() {
	w.inSet--
	w.setArmed = w.setArmed && w.inSet > 0
	w.setActive()
}

func (w *waitState) signalFD() {
	if w.notifier != nil {
		w.notifier.Signal()
	}
	if w.set != nil {
		w.set.signalFD()
	}
}

// close frees the descriptor and wakes all sleepers.
func (w *waitState) close() {
	w.armed = w.armed || w.entered
	w.wake()
	if w.notifier != nil {
		w.notifier.Close()
		w.notifier = nil
	}
}

// spinner decides how long a wait makes passes. It reads the clock from the second empty pass on.
type spinner struct {
	limit time.Duration
	until mono.Time
	last  mono.Time
	still int
}

// stillMax is the number of equal readings of the clock in a row that ends the spinning. The clock of a
// testing/synctest bubble stands still while a goroutine runs.
const stillMax = 16

func (s *spinner) more() bool {
	if s.limit <= 0 {
		return false
	}
	now := mono.Now()
	if s.until == 0 {
		s.until, s.last = now.Add(s.limit), now
		return true
	}
	if now != s.last {
		s.last, s.still = now, 0
	} else if s.still++; s.still >= stillMax {
		return false
	}
	return now < s.until
}
