package cq

import (
	"context"
	"runtime"

	"gofabric/core"
)

// Waiting for events. Engines are always called without the queue's lock: they push with theirs held.

// pass makes a pass on every engine unless an event waits already.
func (eq *EventQueue) pass() {
	eq.mu.Lock()
	progs, some := eq.progs, len(eq.items) > 0
	eq.mu.Unlock()
	if some {
		return
	}
	for _, p := range progs {
		p.Lock()
		p.Pass()
		p.Unlock()
	}
}

func enter(progs []Progress) {
	for _, p := range progs {
		p.Lock()
		p.EnterWait()
		p.Unlock()
	}
}

func leave(progs []Progress) {
	for _, p := range progs {
		p.Lock()
		p.LeaveWait()
		p.Unlock()
	}
}

// prepare enters the engines and then looks at the queue. It returns with the lock held: either nothing is there and the engines are entered, or ok is
// false and they must be left.
func (eq *EventQueue) prepare() (progs []Progress, ok bool) {
	eq.mu.Lock()
	progs = eq.progs
	eq.mu.Unlock()
	enter(progs)
	eq.mu.Lock()
	same := len(progs) == len(eq.progs) && (len(progs) == 0 || &progs[0] == &eq.progs[0])
	return progs, same && len(eq.items) == 0 && !eq.closed
}

// SRead waits for an event (fi_eq_sread(3)). The end of ctx returns ErrAgain wrapped with ctx's cause. Without a wait object, or with a wait set, it
// returns ErrNoSys.
func (eq *EventQueue) SRead(ctx context.Context, ev *core.EQEvent, flags core.EQFlags) error {
	if !eq.w.canRead() {
		return core.ErrNoSys
	}
	for {
		if err := eq.Read(ev, flags); err != core.ErrAgain {
			return err
		}
		if ctx.Err() != nil {
			return ended(core.ErrAgain, ctx)
		}
		if eq.w.obj == core.WaitYield {
			runtime.Gosched()
			continue
		}
		progs, ok := eq.prepare()
		if ok {
			eq.w.sleep(ctx, &eq.mu)
		}
		eq.mu.Unlock()
		leave(progs)
	}
}

// WaitFD returns the descriptor to poll for reading (FI_GETWAIT); it stays the queue's and must not be read. ErrNoData without a wait object.
func (eq *EventQueue) WaitFD() (int, error) {
	eq.mu.Lock()
	defer eq.mu.Unlock()
	if eq.closed {
		return -1, core.ErrBadF
	}
	return eq.w.fd()
}

// TryWait says whether it is safe to sleep on the queue's descriptor (fi_trywait(3)): ErrAgain if there is an event. After nil the descriptor becomes
// readable with the next event; reading the queue ends that.
func (eq *EventQueue) TryWait() error {
	if eq.w.obj == core.WaitNone {
		return core.ErrInval
	}
	eq.pass()
	progs, ok := eq.prepare()
	unused := progs
	var err error
	switch {
	case eq.closed:
		err = core.ErrBadF
	case !ok:
		err = core.ErrAgain
	default:
		unused, eq.fdIn = eq.fdIn, progs
		eq.w.entered = true
		eq.w.arm()
	}
	eq.mu.Unlock()
	leave(unused)
	return err
}

// fdLeave ends what TryWait began, but for leaving the engines that it returns: unlockRead does. Locked.
func (eq *EventQueue) fdLeave() []Progress {
	progs := eq.fdIn
	eq.fdIn = nil
	if eq.w.entered {
		eq.w.entered, eq.w.armed = false, false
		eq.w.setActive()
	}
	return progs
}

func (eq *EventQueue) unlockRead(progs []Progress) {
	eq.mu.Unlock()
	leave(progs)
}

// The rest is for wait and poll sets.

func (eq *EventQueue) inWaitSet() *WaitSet { return eq.w.set }

func (eq *EventQueue) forgetWait() {
	eq.mu.Lock()
	eq.unlockRead(eq.fdLeave())
}

func (eq *EventQueue) enterSet() func() {
	eq.pass()
	progs, ok := eq.prepare()
	if !ok {
		eq.mu.Unlock()
		leave(progs)
		return nil
	}
	eq.w.enterSet()
	eq.mu.Unlock()
	return func() {
		eq.mu.Lock()
		eq.w.leaveSet()
		eq.mu.Unlock()
		leave(progs)
	}
}

// Ended implements Pollable.
func (eq *EventQueue) Ended() bool {
	eq.mu.Lock()
	defer eq.mu.Unlock()
	return eq.closed
}

// Ready implements Pollable.
func (eq *EventQueue) Ready(bool) (bool, error) {
	eq.pass()
	eq.mu.Lock()
	defer eq.unlockRead(eq.fdLeave())
	if eq.closed {
		return false, core.ErrBadF
	}
	return len(eq.items) > 0, nil
}
