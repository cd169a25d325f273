package cq

import (
	"context"
	"runtime"

	"gofabric/core"
)

// This file has the waits for events. It always calls engines without the queue's lock, because engines push events
// with theirs held.

// pass makes a pass on every engine unless the queue already has an event.
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

// prepare enters the engines and then checks the queue. It returns with the lock held. If ok is true, the queue is
// empty and the engines are entered. If ok is false, the caller must leave them.
func (eq *EventQueue) prepare() (progs []Progress, ok bool) {
	eq.mu.Lock()
	progs = eq.progs
	eq.mu.Unlock()
	enter(progs)
	eq.mu.Lock()
	same := len(progs) == len(eq.progs) && (len(progs) == 0 || &progs[0] == &eq.progs[0])
	return progs, same && len(eq.items) == 0 && !eq.closed
}

// SRead waits for an event (fi_eq_sread(3)). At the end of ctx it returns ErrAgain, which wraps ctx's cause.
// Without a wait object, or with a wait set, it returns ErrNoSys.
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

// WaitFD returns the descriptor to poll for reading (FI_GETWAIT). It belongs to the queue; do not read from it. The
// error is ErrNoData without a wait object.
func (eq *EventQueue) WaitFD() (int, error) {
	eq.mu.Lock()
	defer eq.mu.Unlock()
	if eq.closed {
		return -1, core.ErrBadF
	}
	return eq.w.fd()
}

// TryWait says whether it is safe to sleep on the queue's descriptor (fi_trywait(3)). The error is ErrAgain if
// there is an event. After nil the next event makes the descriptor readable; a read of the queue ends that.
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

// fdLeave ends the effect of TryWait and returns the engines. unlockRead leaves them. Locked.
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

// The rest of the file is for wait and poll sets.

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
