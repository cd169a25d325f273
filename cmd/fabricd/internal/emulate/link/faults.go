package link

import (
	"fmt"
	"time"
)

const (
	// DefaultQueue is the default length of the queue before a line, in frames, as in Linux (txqueuelen).
	DefaultQueue = 1000
	// maxDelay bounds delay and jitter, because every frame under way needs memory.
	maxDelay = time.Minute
	// maxQueue bounds queues, in frames.
	maxQueue = 1 << 20
	// maxRate keeps times in range. It is in bits per second.
	maxRate = 1e12
)

// Faults are the settings of a Link. The zero value is a perfect cable without limits.
type Faults struct {
	Loss    float64 // probability that a frame is lost
	Burst   Burst
	Dup     float64 // probability that it arrives twice
	Reorder float64 // probability that one to three later frames overtake it
	Corrupt float64 // probability that one bit behind its Ethernet header is flipped

	Delay  time.Duration // on the way
	Jitter time.Duration // additional delay, uniform up to this value; frames overtake each other

	Rate       float64 // of the line, in bits per second of Ethernet frames without check sequence and gaps; 0: no limit, no queue
	Queue      int     // frames that may wait for the line; 0: DefaultQueue
	QueueBytes int     // bytes that may wait for the line; 0: as many as Queue allows
	ECN        int     // length of the queue, in frames, from which on ECN-capable frames are marked (RFC 3168); 0: never
}

// Burst makes losses come in bursts, by the model of Gilbert and Elliott. The link is in a good state, in which
// Faults.Loss applies, or in a bad one. Frames to groups have a state of their own.
type Burst struct {
	Enter float64 // probability that the good state turns bad, at each frame
	Leave float64 // probability that the bad state turns good, at each frame
	Loss  float64 // probability that a frame is lost in the bad state
}

// Check returns the reason why f is invalid, or nil.
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
			return fmt.Errorf("%s %v: it must be between 0 and %v", d.name, d.v, maxDelay)
		}
	}
	if !(f.Rate >= 0 && f.Rate <= maxRate) || f.Rate > 0 && f.Rate < 1000 {
		return fmt.Errorf("rate %v bit/s: it must be 0 (no limit), or between 1 kbit/s and 1 Tbit/s", f.Rate)
	}
	for _, n := range []struct {
		name string
		v    int
	}{{"queue", f.Queue}, {"ecn", f.ECN}, {"queue-bytes", f.QueueBytes >> 10}} {
		if n.v < 0 || n.v > maxQueue {
			return fmt.Errorf("%s %d: it must be between 0 and %d", n.name, n.v, maxQueue)
		}
	}
	return nil
}

// Stats counts what happened to frames on a Link.
type Stats struct {
	Frames     uint64 // that entered the link
	Bytes      uint64 // of these frames
	Lost       uint64 // at random
	Dropped    uint64 // because the queue, or the fabric's memory, was full
	Cut        uint64 // because the link was down or between the sides of a partition
	Marked     uint64 // by ECN
	Duplicated uint64
	Reordered  uint64 // overtaken on purpose
	Corrupted  uint64
	Queue      int // frames in the queue at present
}
