// Package mono is the project's clock: monotonic time as one integer.
//
// State machines take a Time as an argument and never call Now. Only the code that drives them does. So they are
// reproducible: a simulation can pass any time.
package mono

import (
	"math"
	"time"
)

// Time is a point in monotonic time, in nanoseconds since a start that is valid in this process only. The zero Time
// is "none": no deadline, or not yet happened. Times of different processes cannot be compared.
type Time int64

const (
	// None is the zero Time: no deadline, not set.
	None Time = 0
	// Never is later than every Time that Now returns.
	Never Time = math.MaxInt64
)

// start is read once, so that Now reads only the monotonic clock. time.Since of a Time with a monotonic part does not
// read the wall clock, which is half of the cost of time.Now.
var start = time.Now()

// bubbleStart is the start of the clock in a bubble of testing/synctest.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Now reads the clock. It never returns None, never goes back, and does not allocate.
//
// In a bubble of testing/synctest it follows the clock of the bubble. Times from inside and outside of a bubble
// cannot be compared, like values of time.Time.
func Now() Time {
	d := time.Since(start)
	if d < 0 {
		d = time.Since(bubbleStart) // this process began after 2000, when the time of bubbles begins
	} else {
		d = precise(d)
	}
	return Time(d) + 1
}

// Add returns t+d, at most Never, and greater than None.
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

// Before reports whether t is earlier than u. None is not a point in time: callers check IsNone first if a Time may
// be unset.
func (t Time) Before(u Time) bool { return t < u }

// IsNone reports whether t is the zero Time.
func (t Time) IsNone() bool { return t == None }

// Due reports whether t is a deadline that has passed: set, and not after now.
func (t Time) Due(now Time) bool { return t != None && t <= now }

// Earlier returns the earlier of two deadlines, where None means that there is no deadline.
func Earlier(t, u Time) Time {
	if t == None || (u != None && u < t) {
		return u
	}
	return t
}
