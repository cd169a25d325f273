package cq

import (
	"context"
	"runtime"

	"gofabric/core"
)

// This file has the waits for a counter.

// Wait waits until the count reaches threshold (fi_cntr_wait(3)). It returns ErrAvail if the number of failures
// changes meanwhile, ErrTimedOut with the cause of ctx if ctx ends, and ErrNoSys if the counter has no wait object.
func (c *Counter) Wait(ctx context.Context, threshold uint64) error {
	if c.w.obj == core.WaitNone {
		return core.ErrNoSys
	}
	spin := spinner{limit: c.Spin}
	c.p.Lock()
	defer c.p.Unlock()
	c.disarm()
	errs := c.errs
	for {
		c.p.Pass()
		switch {
		case c.closed:
			return core.ErrBadF
		case c.val >= threshold:
			return nil
		case c.errs != errs:
			return core.ErrAvail
		case ctx.Err() != nil:
			return ended(core.ErrTimedOut, ctx)
		case c.w.obj == core.WaitYield:
			c.p.Unlock()
			runtime.Gosched()
			c.p.Lock()
		case spin.more():
			c.p.Unlock() // other goroutines may post now
			c.p.Lock()
		default:
			c.p.EnterWait()
			if c.val < threshold && c.errs == errs { // EnterWait may have completed something
				c.wakeAt = min(c.wakeAt, threshold)
				c.w.sleep(ctx, c.p)
			}
			c.p.LeaveWait()
		}
	}
}

// WaitFD returns the descriptor to poll for reading (FI_GETWAIT). It belongs to the counter; do not read from it.
// The error is ErrNoData without a wait object.
func (c *Counter) WaitFD() (int, error) {
	c.p.Lock()
	defer c.p.Unlock()
	if c.closed {
		return -1, core.ErrBadF
	}
	return c.w.fd()
}

// TryWait says whether it is safe to sleep on the counter's descriptor (fi_trywait(3)). The error is ErrAgain if a
// count has changed since TryWait or a wait set last reported it. After nil the next change makes the descriptor
// readable; a read of the counter ends that.
func (c *Counter) TryWait() error {
	if c.w.obj == core.WaitNone {
		return core.ErrInval
	}
	c.p.Lock()
	defer c.p.Unlock()
	if c.closed {
		return core.ErrBadF
	}
	c.p.Pass()
	if c.changed() {
		return core.ErrAgain
	}
	if !c.w.entered {
		c.w.entered = true
		c.p.EnterWait()
		if c.changed() {
			c.disarm()
			return core.ErrAgain
		}
	}
	c.w.arm()
	c.wakeAt = 0
	return nil
}

// changed compares the counts with the last reported ones. Locked.
func (c *Counter) changed() bool {
	if c.val == c.seenVal && c.errs == c.seenErr {
		return false
	}
	c.seenVal, c.seenErr = c.val, c.errs
	return true
}

// disarm ends the effect of TryWait. Locked.
func (c *Counter) disarm() {
	if !c.w.entered {
		return
	}
	c.w.entered, c.w.armed = false, false
	c.w.setActive()
	c.p.LeaveWait()
}

// The rest of the file is for wait and poll sets.

func (c *Counter) inWaitSet() *WaitSet { return c.w.set }

func (c *Counter) forgetWait() {
	c.p.Lock()
	c.disarm()
	c.p.Unlock()
}

func (c *Counter) enterSet() (leave func()) {
	c.p.Lock()
	defer c.p.Unlock()
	c.p.Pass()
	if c.changed() {
		return nil
	}
	c.p.EnterWait()
	if c.changed() {
		c.p.LeaveWait()
		return nil
	}
	c.w.enterSet()
	c.wakeAt = 0
	return func() {
		c.p.Lock()
		c.w.leaveSet()
		c.p.LeaveWait()
		c.p.Unlock()
	}
}

// Ended implements Pollable.
func (c *Counter) Ended() bool {
	c.p.Lock()
	defer c.p.Unlock()
	return c.closed
}

// Ready implements Pollable.
func (c *Counter) Ready(report bool) (bool, error) {
	c.p.Lock()
	defer c.p.Unlock()
	if c.closed {
		return false, core.ErrBadF
	}
	c.disarm()
	c.p.Pass()
	return report && c.changed(), nil
}
