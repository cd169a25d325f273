package link

import (
	"fmt"
	"time"
)

const (
	// DefaultQueue is how many frames wait in front of a line, as in Linux (txqueuelen).
	DefaultQueue = 1000
	// maxDelay bounds delay and jitter: every frame on the way is memory.
	maxDelay = time.Minute
	// maxQueue bounds queues, frames.
	maxQueue = 1 << 20
	// maxRate keeps times in range, bits per second.
	maxRate = 1e12
)

// Faults are the settings of a Link. The zero value is a perfect cable without limits.
type Faults struct {
	Loss    float64 // probability that a frame is lost
	Burst   Burst
	Dup     float64 // that it comes twice
	Reorder float64 // that one to three later frames overtake it
	Corrupt float64 // that one bit behind its Ethernet header is turned over

	Delay  time.Duration // on the way
	Jitter time.Duration // more delay, up to this much, evenly spread; frames overtake each other

	Rate       float64 // of the line, bits per second of Ethernet frames without check sequence and gaps; 0: no limit, no queue
	Queue      int     // frames that may wait for the line; 0: DefaultQueue
	QueueBytes int     // bytes that may wait for the line; 0: as many as Queue allows
	ECN        int     // frames in the queue from which on frames that can be are marked (RFC 3168); 0: never
}

// Burst makes losses come in bursts: the model of Gilbert and Elliott. The link is in a good state, in which Faults.Loss applies, or in a bad one;
// for frames to groups by themselves.
type Burst struct {
	Enter float64 // probability that a frame finds the good state turned bad
	Leave float64 // probability that a frame finds the bad state turned good
	Loss  float64 // probability that a frame is lost in the bad state
}

// Check says what is wrong with f.
func (f *Faults) Check() error {
	for _, p := range []struct {
		name string
		v    float64
	}{
		{"loss", f.Loss}, {"dup", f.Dup}, {"reorder", f.Reorder}, {"corrupt", f.Corrupt},
		{"burst enter", f.Burst.Enter}, {"burst leave", f.Burst.Leave}, {"burst loss", f.Burst.Loss},
	} {
		if !(p.v >= 0 && p.v <= 1) { // NaN too
			return fmt.Errorf("%s %v: a probability is between 0 and 1 (0%% and 100%%)", p.name, p.v)
		}
	}
	for _, d := range []struct {
		name string
		v    time.Duration
	}{{"delay", f.Delay}, {"jitter", f.Jitter}} {
		if d.v < 0 || d.v > maxDelay {
			return fmt.Errorf("%s %v: between 0 and %v", d.name, d.v, maxDelay)
		}
	}
	if !(f.Rate >= 0 && f.Rate <= maxRate) || f.Rate > 0 && f.Rate < 1000 {
		return fmt.Errorf("rate %v bit/s: 0 for no limit, or between 1 kbit/s and 1 Tbit/s", f.Rate)
	}
	for _, n := range []struct {
		name string
		v    int
	}{{"queue", f.Queue}, {"ecn", f.ECN}, {"queue-bytes", f.QueueBytes >> 10}} {
		if n.v < 0 || n.v > maxQueue {
			return fmt.Errorf("%s %d: between 0 and %d", n.name, n.v, maxQueue)
		}
	}
	return nil
}

// Stats counts what happened to frames on a Link.
type Stats struct {
	Frames     uint64 // that came into the link
	Bytes      uint64 // of these frames
	Lost       uint64 // by chance
	Dropped    uint64 // because the queue, or the fabric's memory, was full
	Cut        uint64 // because the link was down or between the sides of a partition
	Marked     uint64 // by ECN
	Duplicated uint64
	Reordered  uint64 // overtaken on purpose
	Corrupted  uint64
	Queue      int // frames in the queue now
}
