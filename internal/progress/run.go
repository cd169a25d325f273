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
	e.FlushStaged() // nobody may come by soon
	e.leaveDirect(e.streams)
	e.leaveDirect(e.memory)
	e.arm()
	e.armDeadline(mono.Now())
}

// becomePolled detaches it, and starts the ticks that notice when the callers stay away. Locked.
func (e *Engine) becomePolled() {
	e.armed, e.direct = false, 0
	e.shutInlets(false)
	e.parker.ArmPoller(false)
	e.marks.arm(false)
	if e.auto {
		now := mono.Now()
		e.ticked(now)
		e.timerAt = 0
		e.armTimer(now, e.tick)
	}
}

// ticked notes that passes are made. Locked.
func (e *Engine) ticked(now mono.Time) { e.tickPasses, e.tickSince = e.batch.Passes(), now }

// arm makes the goroutine wake once for what the poller sees or somebody marks. Locked.
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
		return // comes first, or came and is about to be served: setting it anew would lose what it stands for
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
		e.errand.Or(uint32(why) | errandSet)
		e.runErrand()
		if e.stop.Load() {
			return
		}
	}
}

// errandSet makes an errand without a reason visible.
const errandSet = 1 << 31

// runErrand does what the goroutine woke for, unless somebody holds the lock, who then does it on unlocking: the errand is noted before the lock
// is tried, and looked for after it is released.
func (e *Engine) runErrand() {
	for e.errand.Load() != 0 && e.mu.TryLock() {
		yield := false
		why := e.errand.Swap(0)
		if why&errandVisit != 0 {
			e.receive()
		}
		if why &^= errandVisit; why != 0 && !e.closed {
			e.errands = true
			if why&^(errandTasks|errandYield) != 0 {
				e.advance(netx.Why(why &^ (errandSet | errandTasks | errandYield)))
			}
			if len(e.tasks) > 0 {
				e.runTasks()
			}
			e.errands = false
			yield = why&errandYield != 0 && e.crowd > 0
		}
		e.mu.Unlock()
		if yield {
			netx.Yield()
		}
	}
}

// advance does what the wake-up is for and arms the next one. Locked.
func (e *Engine) advance(why netx.Why) {
	now := mono.Now()
	if why&netx.WhyTimer != 0 {
		e.timerAt = 0
		if !e.armed { // else what has come is heard first, that nobody is given up for a silence that has ended
			e.expire(now)
		}
		e.batch.Expired(now)
	}
	if e.armed {
		e.told = why&netx.WhyPoller != 0
		e.pass()
		e.told = false
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
		e.tickOver(now)
	}
}

// tickOver looks whether passes were made since the last time, and takes over if there were none for long enough. The timer comes for what is staged, too, and what a
// burst of posts spends in the system says nothing about the application: taking over then cost messages of 4 KiB half their rate. Locked.
func (e *Engine) tickOver(now mono.Time) {
	var next time.Duration
	if e.batch.Passes() != e.tickPasses {
		if e.batch.Passes()-e.tickPasses < sweepEvery && len(e.slots) > len(e.free) {
			e.serveMarked() // polled, but slowly: what passes see at once otherwise would wait for long
			if e.poller != nil {
				e.sweep() // as would listeners and write readiness, which direct passes do not see
			}
		}
		e.tick = min(e.tick*2, tickMax)
		e.ticked(now)
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

// expire tells the sources whose deadline has passed, as many as there are now: one that asks again for a time that has passed waits for the next wake-up, so that it
// cannot keep the lock. Locked.
func (e *Engine) expire(now mono.Time) {
	for n := e.timers.Len(); n > 0 && e.timers.Len() > 0 && e.timers.MinKey() <= now; n-- {
		h := e.timers.Min()
		h.SetDeadline(0)
		h.src.Expired(now)
	}
}
