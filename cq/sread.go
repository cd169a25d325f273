package cq

import (
	"context"
	"runtime"

	"gofabric/core"
)

// This file has the waits for completions.

// SRead waits for at least one completion (fi_cq_sread(3), fi_cq_sreadfrom(3)). src is as in Read. Without a wait
// object, or with a wait set, it returns ErrNoSys.
func (q *Queue) SRead(ctx context.Context, entries []core.CQEntry, src []core.FIAddr) (int, error) {
	if !q.w.canRead() {
		return 0, core.ErrNoSys
	}
	spin := spinner{limit: q.Spin}
	q.p.Lock()
	defer q.p.Unlock()
	q.sreads++
	defer func() { q.sreads-- }()
	signals := q.signals
	for {
		n, err := q.take(entries, src)
		if err != core.ErrAgain {
			return n, err
		}
		if q.sticky || q.signals != signals {
			q.sticky = false
			return 0, core.ErrAgain
		}
		if ctx.Err() != nil {
			return 0, ended(core.ErrAgain, ctx)
		}
		switch {
		case q.w.obj == core.WaitYield:
			q.p.Unlock()
			runtime.Gosched()
			q.p.Lock()
		case spin.more():
			q.p.Unlock() // other goroutines may post now
			q.p.Lock()
		default:
			q.sleep(ctx)
		}
	}
}

// sleep waits until a push, Signal, Close or the end of ctx. Locked. There was no push since the caller checked the
// queue.
func (q *Queue) sleep(ctx context.Context) {
	q.p.EnterWait()
	if q.empty() { // EnterWait may have transmitted collected messages, and completed them
		q.limit = q.tail
		q.w.sleep(ctx, q.p)
		q.setLimit()
	}
	q.p.LeaveWait()
}

func (q *Queue) empty() bool { return q.head == q.tail && q.errAt == noError }

// Signal wakes every SRead under way. Without one, the next SRead that finds the queue empty returns ErrAgain at
// once (fi_cq_signal(3)).
func (q *Queue) Signal() error {
	if q.w.obj == core.WaitNone {
		return core.ErrNoSys
	}
	q.p.Lock()
	defer q.p.Unlock()
	if q.closed {
		return core.ErrBadF
	}
	if q.sreads > 0 {
		q.signals++
	} else {
		q.sticky = true
	}
	q.w.wake()
	q.w.signalFD()
	q.setLimit()
	return nil
}

// WaitFD returns the descriptor to poll for reading (FI_GETWAIT). It belongs to the queue; do not read from it. The
// error is ErrNoData without a wait object.
func (q *Queue) WaitFD() (int, error) {
	q.p.Lock()
	defer q.p.Unlock()
	if q.closed {
		return -1, core.ErrBadF
	}
	return q.w.fd()
}

// TryWait says whether it is safe to sleep on the queue's descriptor (fi_trywait(3)). The error is ErrAgain if
// there is something to read. After nil the next completion, error or Signal makes the descriptor readable; a read
// of the queue ends that.
func (q *Queue) TryWait() error {
	if q.w.obj == core.WaitNone {
		return core.ErrInval
	}
	q.p.Lock()
	defer q.p.Unlock()
	if q.closed {
		return core.ErrBadF
	}
	if q.readable() || q.sticky {
		q.sticky = false
		return core.ErrAgain
	}
	if !q.w.entered {
		q.w.entered = true
		q.p.EnterWait()
		if !q.empty() {
			q.disarm()
			return core.ErrAgain
		}
	}
	q.w.arm()
	q.setLimit()
	return nil
}

// disarm ends the effect of TryWait. Locked.
func (q *Queue) disarm() {
	if !q.w.entered {
		return
	}
	q.w.entered, q.w.armed = false, false
	q.w.setActive()
	q.p.LeaveWait()
	q.setLimit()
}

// readable reports whether there is something to read. If not, it makes a pass first. Locked.
func (q *Queue) readable() bool {
	if q.empty() {
		q.pass()
	}
	return !q.empty()
}

// The rest of the file is for wait and poll sets.

func (q *Queue) inWaitSet() *WaitSet { return q.w.set }

func (q *Queue) forgetWait() {
	q.p.Lock()
	q.disarm()
	q.p.Unlock()
}

func (q *Queue) enterSet() (leave func()) {
	q.p.Lock()
	defer q.p.Unlock()
	if q.readable() || q.sticky {
		q.sticky = false
		return nil
	}
	q.p.EnterWait()
	if !q.empty() {
		q.p.LeaveWait()
		return nil
	}
	q.w.enterSet()
	q.setLimit()
	return func() {
		q.p.Lock()
		q.w.leaveSet()
		q.p.LeaveWait()
		q.setLimit()
		q.p.Unlock()
	}
}

// Ended implements Pollable.
func (q *Queue) Ended() bool {
	q.p.Lock()
	defer q.p.Unlock()
	return q.closed
}

// Ready implements Pollable.
func (q *Queue) Ready(bool) (bool, error) {
	q.p.Lock()
	defer q.p.Unlock()
	if q.closed {
		return false, core.ErrBadF
	}
	q.disarm()
	q.pass()
	return !q.empty(), nil
}
