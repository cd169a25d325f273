package impair

import (
	"fmt"
	"time"
)

// DefaultBacklog is how much waits in front of a slow line before datagrams are lost, bytes.
const DefaultBacklog = 1 << 20

// Faults are the settings of a Link. The zero value is a perfect one.
type Faults struct {
	Loss    float64 // probability that a datagram is lost, 0 to 1
	Dup     float64 // probability that it comes twice
	Reorder float64 // probability that one to three later datagrams overtake it
	Corrupt float64 // probability that one bit of it is flipped

	Delay  time.Duration // on the way
	Jitter time.Duration // more delay of up to this much, evenly spread and different for each datagram: they overtake each other

	Rate    int64 // of the line, bits per second of payload; 0: no limit
	Backlog int   // what waits for the line, bytes; more is lost. 0 is DefaultBacklog
}

// Check says what is wrong with f.
func (f *Faults) Check() error {
	for _, p := range []struct {
		name string
		v    float64
	}{{"loss", f.Loss}, {"duplication", f.Dup}, {"reordering", f.Reorder}, {"corruption", f.Corrupt}} {
		if !(p.v >= 0 && p.v <= 1) { // NaN too
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

// maxDelay keeps sums of times away from overflow.
const maxDelay = 24 * time.Hour

// Span is a part of a Link's life, from its start.
type Span struct{ From, To time.Duration }

// Stats counts what happened to datagrams, or to the packets of connections.
type Stats struct {
	Sent       uint64 // that the Link was given
	Lost       uint64 // by chance
	Cut        uint64 // lost in a partition
	Duplicated uint64
	Reordered  uint64 // held back
	Corrupted  uint64
	Delayed    uint64 // that did not pass at once: delay, jitter and the line
	Overflows  uint64 // lost because the line's backlog, or the queue of delayed ones, was full
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
