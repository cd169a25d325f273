// The Engine's goroutine: it takes over from callers and gives way to them, and serves timers and pending work.

package progress

import (
	"time"

	"gofabric/internal/batch"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
)

// becomeArmed attaches the poller to the runtime: the goroutine wakes when a socket is ready. Locked.
func (e *Engine) becomeArmed() {
	e.armed = true
	e.tick = tickMin
	e.shutInlets(true)
	e.FlushStaged() // the application may make no pass soon
	e.leaveDirect(e.streams)
	e.leaveDirect(e.memory)
	e.arm()
	e.armDeadline(mono.Now())
}

// becomePolled detaches the poller, and starts the ticks that notice when callers make no more passes. Locked.
func (e *Engine) becomePolled() {
	e.armed, e.direct = false, 0
	e.shutInlets(false)
	e.parker.ArmPoller(false)
	e.marks.arm(false)
	if e.auto {
		now := mono.Now()
		e.notePasses(now)
		e.timerAt = 0
		e.armTimer(now, e.tick)
	}
}

// notePasses notes that passes are being made. Locked.
func (e *Engine) notePasses(now mono.Time) { e.tickPasses, e.tickSince = e.batch.Passes(), now }

// arm makes the goroutine wake once, for an event of the poller or for a mark (Notify). Locked.
func (e *Engine) arm() {
	e.parker.ArmPoller(true)
	if e.marks.arm(true) {
		e.parker.Wake()
	}
}

// armDeadline arms the timer for the earliest deadline. Locked.
func (e *Engine) armDeadline(now mono.Time) {
	if e.timers.Len() == 0 {
		return
	}
	at := e.timers.MinKey()
	if e.timerAt != 0 && e.timerAt <= at {
		return // it fires first, or has fired and is about to be served, and must not be lost
	}
	d := at.Sub(now)
	if d <= 0 {
		d = 1
	}
	if e.parker.SetTimer(d) == nil {
		e.timerAt = at
	}
}

// run is the Engine's goroutine.
func (e *Engine) run() {
	defer close(e.done)
	for {
		why, err := e.parker.Park()
		if err != nil {
			return
		}
		e.pending.Or(uint32(why) | pendingSet)
		e.runPending()
		if e.stop.Load() {
			return
		}
	}
}

// pendingSet makes pending work without a reason visible.
const pendingSet = 1 << 31

// runPending does the pending work unless another goroutine holds the lock, in which case that one does them in Unlock.
// No work is lost: it is noted before the lock is tried, and looked for after the lock is released.
func (e *Engine) runPending() {
	for e.pending.Load() != 0 && e.mu.TryLock() {
		yield := false
		why := e.pending.Swap(0)
		if why&pendingInspect != 0 {
			e.runInspections()
		}
		if why &^= pendingInspect; why != 0 && !e.closed {
			e.inPending = true
			if why&^(pendingTasks|pendingYield) != 0 {
				e.advance(netx.Why(why &^ (pendingSet | pendingTasks | pendingYield)))
			}
			if len(e.tasks) > 0 {
				e.runTasks()
			}
			e.inPending = false
			yield = why&pendingYield != 0 && e.localWaits > 0
		}
		e.mu.Unlock()
		if yield {
			netx.Yield()
		}
	}
}

// advance does what the goroutine woke for, and arms the next wake-up. Locked.
func (e *Engine) advance(why netx.Why) {
	now := mono.Now()
	if why&netx.WhyTimer != 0 {
		e.timerAt = 0
		if !e.armed { // an armed Engine receives first: data that has come may cancel a deadline
			e.expire(now)
		}
		e.batch.Expired(now)
	}
	if e.armed {
		e.pollerWoke = why&netx.WhyPoller != 0
		e.pass()
		e.pollerWoke = false
		e.expire(now)
		e.arm()
		e.armDeadline(now)
		e.FlushStaged()
		return
	}
	if !e.auto {
		e.armDeadline(now)
		return
	}
	if e.timerAt == 0 {
		e.onTick(now)
	}
}

// onTick checks whether passes were made since the last tick. It takes over if there were none for at least
// tickMin. The timer also fires for staged messages, so tickMin is measured by the clock: the time that a burst of
// posts spends in system calls does not mean that the application has stopped. Taking over then halved the rate of
// messages of 4 KiB. Locked.
func (e *Engine) onTick(now mono.Time) {
	var next time.Duration
	if e.batch.Passes() != e.tickPasses {
		if e.batch.Passes()-e.tickPasses < sweepEvery && len(e.slots) > len(e.free) {
			e.serveMarked() // polled, but slowly: serve now what the next pass would serve late
			if e.poller != nil {
				e.sweep() // the same for listeners and room to write, which direct passes do not see
			}
		}
		e.tick = min(e.tick*2, tickMax)
		e.notePasses(now)
		next = e.tick
	} else if next = tickMin - now.Sub(e.tickSince); next <= 0 {
		e.pass()
		e.becomeArmed()
		return
	}
	if e.batch.Waiting() {
		next = batch.Delay
	}
	e.armTimer(now, next)
}

// expire calls the sources whose deadline has passed, at most as many as there are now. A source that sets a
// deadline in the past again waits for the next wake-up, so that it cannot keep the lock. Locked.
func (e *Engine) expire(now mono.Time) {
	for n := e.timers.Len(); n > 0 && e.timers.Len() > 0 && e.timers.MinKey() <= now; n-- {
		h := e.timers.Min()
		h.SetDeadline(0)
		h.src.Expired(now)
	}
}
