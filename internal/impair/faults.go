// The settings and counters of a Link.

package impair

import (
	"fmt"
	"time"
)

// DefaultBacklog is the number of bytes that may wait for a slow line. Further datagrams are lost.
const DefaultBacklog = 1 << 20

// Faults are the settings of a Link. The zero value is a perfect network.
type Faults struct {
	Loss    float64 // probability that a datagram is lost, 0 to 1
	Dup     float64 // probability that it is duplicated
	Reorder float64 // probability that one to three later datagrams overtake it
	Corrupt float64 // probability that one bit of it is flipped

	Delay  time.Duration // delay of every datagram
	Jitter time.Duration // more delay, from 0 to this, evenly distributed per datagram: they overtake each other

	Rate    int64 // of the line, in bits per second of payload; 0 means no limit
	Backlog int   // bytes that may wait for the line; more are lost. 0 means DefaultBacklog
}

// Check returns an error that describes an invalid setting.
func (f *Faults) Check() error {
	for _, p := range []struct {
		name string
		v    float64
	}{{"loss", f.Loss}, {"duplication", f.Dup}, {"reordering", f.Reorder}, {"corruption", f.Corrupt}} {
		if !(p.v >= 0 && p.v <= 1) { // NaN is invalid, too
			return fmt.Errorf("the probability of %s is %v, not between 0 and 1", p.name, p.v)
		}
	}
	if f.Delay < 0 || f.Jitter < 0 || f.Delay > maxDelay || f.Jitter > maxDelay {
		return fmt.Errorf("delay %v and jitter %v must be between 0 and %v", f.Delay, f.Jitter, maxDelay)
	}
	if f.Rate < 0 || f.Backlog < 0 {
		return fmt.Errorf("rate %d and backlog %d must not be negative", f.Rate, f.Backlog)
	}
	return nil
}

// maxDelay keeps sums of times from overflow.
const maxDelay = 24 * time.Hour

// Span is a period, counted from the start of a Link.
type Span struct{ From, To time.Duration }

// Stats are the counters of datagrams, or of the packets of connections.
type Stats struct {
	Sent       uint64 // datagrams given to the Link
	Lost       uint64 // by chance
	Cut        uint64 // lost in a partition
	Duplicated uint64
	Reordered  uint64 // held back
	Corrupted  uint64
	Delayed    uint64 // not passed at once: by delay, jitter or the line
	Overflows  uint64 // lost because the backlog of the line, or the queue of delayed ones, was full
}

// Add adds o.
func (s *Stats) Add(o Stats) {
	s.Sent += o.Sent
	s.Lost += o.Lost
	s.Cut += o.Cut
	s.Duplicated += o.Duplicated
	s.Reordered += o.Reordered
	s.Corrupted += o.Corrupted
	s.Delayed += o.Delayed
	s.Overflows += o.Overflows
}
