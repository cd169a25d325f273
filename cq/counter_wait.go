package cq

import (
	"context"
	"runtime"

	"gofabric/core"
)

// Waiting for a counter.

// Wait waits until the count reaches threshold (fi_cntr_wait(3)). ErrAvail: the count of errors changed meanwhile. ErrTimedOut, wrapped with its cause:
// ctx ended. ErrNoSys: the counter has no wait object.
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
			c.p.Unlock() // lets others post
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

// WaitFD returns the descriptor to poll for reading (FI_GETWAIT); it stays the counter's and must not be read. ErrNoData without a wait object.
func (c *Counter) WaitFD() (int, error) {
	c.p.Lock()
	defer c.p.Unlock()
	if c.closed {
		return -1, core.ErrBadF
	}
	return c.w.fd()
}

// TryWait says whether it is safe to sleep on the counter's descriptor (fi_trywait(3)): ErrAgain if a count changed since a TryWait or a set last said
// so. After nil the descriptor becomes readable with the next change; reading the counter ends that.
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

// changed compares the counts to what it last reported. Locked.
func (c *Counter) changed() bool {
	if c.val == c.seenVal && c.errs == c.seenErr {
		return false
	}
	c.seenVal, c.seenErr = c.val, c.errs
	return true
}

// disarm ends what TryWait began. Locked.
func (c *Counter) disarm() {
	if !c.w.entered {
		return
	}
	c.w.entered, c.w.armed = false, false
	c.w.setActive()
	c.p.LeaveWait()
}

// The rest is for wait and poll sets.

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
