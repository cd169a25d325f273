// Package mono is the project's clock: monotonic time as one integer.
//
// State machines take a Time as an argument and never call Now; only the code that drives them does. That keeps them replayable: a simulation
// hands in whatever time it likes.
package mono

import (
	"math"
	"time"
)

// Time is a point in monotonic time: nanoseconds since a start that means nothing outside this process. The zero Time is "none": no deadline,
// not yet happened. Times of different processes cannot be compared.
type Time int64

const (
	// None is the zero Time: no deadline, not set.
	None Time = 0
	// Never is later than every Time that Now returns.
	Never Time = math.MaxInt64
)

// start is read once, so that Now is a single reading of the monotonic clock: time.Since of a Time with a monotonic part does not read the
// wall clock, which is half of the price of time.Now.
var start = time.Now()

// bubbleStart is where the clock of a testing/synctest bubble starts.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Now reads the clock. It never returns None, never goes back, and does not allocate.
//
// In a testing/synctest bubble it follows the bubble's clock, whose Times are no more comparable with those outside than the bubble's time.Time.
func Now() Time {
	d := time.Since(start)
	if d < 0 {
		d = time.Since(bubbleStart) // this process began after the year 2000, where a bubble's time begins
	} else {
		d = precise(d)
	}
	return Time(d) + 1
}

// Add returns t+d. The sum stops at Never, and does not fall to None or below it.
func (t Time) Add(d time.Duration) Time {
	sum := t + Time(d)
	switch {
	case d > 0 && sum < t:
		return Never
	case d < 0 && sum < 1:
		return 1
	}
	return sum
}

// Sub returns t-u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Before reports whether t is earlier than u. None is no point in time: callers check IsNone first where a Time may be unset.
func (t Time) Before(u Time) bool { return t < u }

// After reports whether t is later than u.
func (t Time) After(u Time) bool { return t > u }

// IsNone reports whether t is the zero Time.
func (t Time) IsNone() bool { return t == None }

// Due reports whether t is a deadline that has come: set, and not after now.
func (t Time) Due(now Time) bool { return t != None && t <= now }

// Earlier returns the earlier of two deadlines, where None means that there is no deadline.
func Earlier(t, u Time) Time {
	if t == None || (u != None && u < t) {
		return u
	}
	return t
}
