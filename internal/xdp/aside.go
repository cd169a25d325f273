//go:build linux

package xdp

import (
	"time"

	"gofabric/internal/mono"
)

// aside decides when the program had better be off the interface. In generic mode the kernel copies each run of datagrams that comes for a socket once more, to make
// room before it for the program (net/core/dev.c, netif_skb_check_for_xdp). That costs bandwidth where the processors share their caches, and gains some where they do
// not, for it is the sender's processor that copies. So while large messages come, the rate is measured with the program on and off, and the better way kept; when they
// end, the program is on, for it is what latency is made of.
//
// A change takes effect at once, but where program.hold is not permitted the kernel takes its time for the call, 6 ms to detach and 16 to attach with a timer of 250 Hz,
// with the lock of all interfaces held (synchronize_rcu). Where it is, trying the worse way still costs what that is worse by. So changes are few: what was found out holds
// for a while, four times as long each time that it is confirmed; when one window contradicts it, it is asked again soon; and large messages that begin anew again and again
// find the program on.
//
// It has no clock and takes no lock. An order is to be carried out, between began and done.
type aside struct {
	off    bool // the program is off, or was ordered to be
	moving bool // it was ordered and is not done
	quick  bool // changes take no time

	start         mono.Time // of what is being measured
	bytes         int
	runs, singles int
	last          mono.Time // when runs came last

	rate  [2]float64 // bytes a nanosecond, by way; 0: not known
	best  bool       // off is the better way
	until mono.Time  // that is believed
	hold  time.Duration

	every time.Duration // between two looks whether large messages have ended

	away bool      // it went off for the large messages that come now
	paid mono.Time // until when times that it did so are paid for

	failed int       // attempts to attach
	retry  mono.Time // not before
	err    error     // why it was given up
}

// Figures of asides. A window of 2 ms tells rates to a tenth on a machine that does nothing else.
const (
	asideWindow = 2 * time.Millisecond
	asideQuiet  = 4 * time.Millisecond // without runs: the large messages have ended
	asideLeast  = 0.25                 // bytes a nanosecond, below which it is no matter of copies
	asideGain   = 1.03                 // that being on must gain

	holdMin   = 200 * time.Millisecond
	holdQuick = 10 * time.Millisecond
	holdMax   = 5 * time.Second
	// Between two looks whether large messages have ended, where nobody else looks.
	watchMax = 128 * time.Millisecond
	// How often the program goes off for large messages that begin: so many times in a row, then once in a while.
	asideTimes = 16
	asideEach  = 500 * time.Millisecond

	retryMin = 50 * time.Millisecond // doubled each time
	attempts = 8                     // six seconds: another process that tries in vain to have the interface gives it back earlier (busyWait)
)

// Ways of rate.
const (
	wayOn = iota
	wayOff
)

func way(off bool) int {
	if off {
		return wayOff
	}
	return wayOn
}

// came tells of runs that came by sockets, and of datagrams that came one by one, by any way. It reports whether a change is ordered.
func (a *aside) came(now mono.Time, bytes, runs, singles int) (order bool) {
	if a.last.IsNone() || now.Sub(a.last) >= asideQuiet {
		a.begin(now)
		a.rate = [2]float64{} // of earlier messages, which says nothing of these
		a.last = now
		return a.leave(now)
	}
	a.last = now
	a.bytes, a.runs, a.singles = a.bytes+bytes, a.runs+runs, a.singles+singles
	passed := now.Sub(a.start)
	if a.moving || passed < asideWindow {
		return false
	}
	rate := float64(a.bytes) / float64(passed)
	mixed := a.singles > a.runs
	a.begin(now)
	if mixed || rate < asideLeast {
		a.rate = [2]float64{}
		return a.leave(now)
	}
	if r := &a.rate[way(a.off)]; *r == 0 {
		*r = rate
	} else {
		*r += (rate - *r) / 4
	}
	return a.order(now, a.choose(now))
}

// begin begins to measure.
func (a *aside) begin(now mono.Time) { a.start, a.bytes, a.runs, a.singles = now, 0, 0, 0 }

// choose is whether the program had better be off, or be so to find that out.
func (a *aside) choose(now mono.Time) (off bool) {
	if now.Before(a.until) {
		return a.best
	}
	if a.rate[way(!a.off)] == 0 {
		return !a.off
	}
	first := holdMin
	if a.quick {
		first = holdQuick // soon again: the first messages are slow in any way
	}
	switch best := a.rate[wayOn] < a.rate[wayOff]*asideGain; {
	case a.hold > 0 && best == a.best:
		a.hold = min(4*a.hold, holdMax)
	case a.hold > first:
		a.hold = first // one window against several: it is asked again soon
	default:
		a.best, a.hold = best, first
	}
	a.until = now.Add(a.hold)
	a.rate[way(!a.best)] = 0 // the next time it is measured anew
	return a.best
}

// order makes off the way, if it is not and may be.
func (a *aside) order(now mono.Time, off bool) bool {
	if a.moving || off == a.off || a.err != nil || !off && now.Before(a.retry) {
		return false
	}
	if off && !a.away {
		if a.paid.Sub(now) > (asideTimes-1)*asideEach {
			return false
		}
		a.away, a.paid = true, max(a.paid, now).Add(asideEach)
	}
	a.off, a.moving = off, true
	return true
}

// leave is told that the large messages have ended, or that something else matters more. It reports whether a change is ordered.
func (a *aside) leave(now mono.Time) bool {
	if a.moving {
		return false
	}
	a.away = false
	return a.order(now, false)
}

// ended is asked while the program is off, by who looks for what comes and finds nothing. It reports whether a change is ordered.
func (a *aside) ended(now mono.Time) (order bool) {
	return now.Sub(a.last) >= asideQuiet && a.leave(now)
}

// watch is asked while the program is off, by a timer, since nobody may look. It reports whether a change is ordered; again says when to ask next. Large messages
// that go on are looked after more and more seldom: a timer takes the processor from who receives them.
func (a *aside) watch(now mono.Time) (order bool, again time.Duration) {
	if now.Sub(a.last) < asideQuiet {
		a.every = min(2*a.every, watchMax)
		return false, a.every
	}
	if a.leave(now) {
		return true, 0
	}
	return false, max(a.retry.Sub(now), asideQuiet)
}

// began is told when what was ordered takes effect.
func (a *aside) began(now mono.Time) {
	a.begin(now)
	a.every = asideQuiet
}

// done is told when the change that was ordered is over, or why it was not made. A program that cannot be attached is tried again for some seconds, then given up;
// one that cannot be detached stays.
func (a *aside) done(now mono.Time, err error) {
	a.moving = false
	switch {
	case err == nil:
		a.failed, a.retry = 0, mono.None
	case a.off:
		a.off, a.err = false, err
	default:
		a.off = true
		a.retry = now.Add(retryMin << a.failed)
		if a.failed++; a.failed == attempts {
			a.err = err
		}
	}
}
