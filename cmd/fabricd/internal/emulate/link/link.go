package link

import (
	"cmp"
	"time"

	"gofabric/internal/mono"
)

const (
	// holdMax is the longest time for which a frame is held back if no frame overtakes it.
	holdMax = time.Millisecond
	// heldMax is the largest number of frames that are held back at the same time.
	heldMax = 8
	// overtakers is the largest number of frames that overtake one.
	overtakers = 3
	// header is the length of an Ethernet header, in bytes: a corrupted frame still reaches its destination.
	header = 14
)

// Link is one direction of an emulated cable. Its owner guards it.
type Link struct {
	faults Faults
	down   bool
	seed   uint64
	to     [2]stream // frames to nodes, and frames to groups: kernels send the latter by themselves, which must not change the fate of the rest
	line   line
	held   []hold
	stats  Stats
}

// stream is a sequence of frames with random numbers of its own.
type stream struct {
	next uint64 // number of the next frame
	bad  bool   // state of the burst model
}

// hold is a frame that waits for others to overtake it.
type hold struct {
	f    *Frame
	left int       // number of frames that still have to overtake it
	at   mono.Time // time at which it leaves in any case
}

// New returns a perfect link. Links with the same seed and different streams behave differently.
func New(seed, stream uint64) *Link {
	return &Link{seed: chance{seed, stream}.draw(0)}
}

// Set sets the faults of a link without frames. Check must have accepted them.
func (l *Link) Set(f Faults) {
	if f.Burst == (Burst{}) {
		l.to[0].bad, l.to[1].bad = false, false
	}
	l.faults = f
}

// Change changes the faults at the time now. Frames under way do not change, except that frames that wait for the
// line leave it at the new rate: a slow line that becomes fast is fast at once. It returns a function that converts
// the time at which a frame leaves, for times later than now, or nil if they do not change.
func (l *Link) Change(now mono.Time, f Faults) (again func(left mono.Time) mono.Time) {
	old := l.faults.Rate
	l.Set(f)
	if old == 0 || f.Rate == old || !l.line.isBusy(now) {
		return nil
	}
	ratio := 0.0 // no limit: all leave now
	if f.Rate > 0 {
		ratio = old / f.Rate
	}
	again = func(left mono.Time) mono.Time {
		if left <= now {
			return left
		}
		return now.Add(time.Duration(float64(left.Sub(now)) * ratio))
	}
	l.line.again(now, ratio, again)
	for i := range l.held {
		l.held[i].f.Retime(again)
	}
	return again
}

// Faults returns the settings.
func (l *Link) Faults() Faults { return l.faults }

// SetDown cuts the link, or restores it.
func (l *Link) SetDown(down bool) { l.down = down }

// Down reports whether the link is cut.
func (l *Link) Down() bool { return l.down }

// Stats returns the counts at the time now.
func (l *Link) Stats(now mono.Time) Stats {
	l.line.leave(now)
	s := l.stats
	s.Queue = l.line.waiting()
	return s
}

// Timed reports whether frames take time, so that Send needs the exact time.
func (l *Link) Timed() bool {
	f := &l.faults
	return f.Rate > 0 || f.Delay > 0 || f.Jitter > 0 || f.Reorder > 0
}

// Send sends f on the link at now. cut says that a partition separates its sender and its receiver.
func (l *Link) Send(now mono.Time, f *Frame, cut bool, out Out) {
	s, seed := &l.to[0], l.seed
	if f.group() {
		s, seed = &l.to[1], l.seed+1
	}
	luck := chance{seed, s.next}
	s.next++
	l.stats.Frames++
	l.stats.Bytes += uint64(len(f.B))
	f.At = now
	switch {
	case cut || l.down:
		l.stats.Cut++
		out.Free(f)
	case l.faults.Rate > 0 && !l.queue(now, f):
		l.stats.Dropped++
		out.Free(f)
	case l.loses(s, luck):
		l.stats.Lost++
		out.Free(f)
	default:
		f.Left = f.At
		at := l.carry(now, f, luck, out)
		l.overtake(at, out)
	}
}

// Refused counts a frame that the owner had no memory for.
func (l *Link) Refused() { l.stats.Dropped++ }

// queue adds f to the queue of the line. It returns false if the queue is full.
func (l *Link) queue(now mono.Time, f *Frame) bool {
	l.line.leave(now)
	frames, bytes := l.line.waiting(), l.line.bytes
	limit := cmp.Or(l.faults.Queue, DefaultQueue)
	if frames >= limit || l.faults.QueueBytes > 0 && bytes+len(f.B) > l.faults.QueueBytes && frames > 0 {
		return false
	}
	if l.faults.ECN > 0 && frames >= l.faults.ECN && mark(f.B) {
		l.stats.Marked++
	}
	f.At = l.line.enter(now, len(f.B), l.faults.Rate)
	return true
}

// loses reports whether the frame is lost at random.
func (l *Link) loses(s *stream, luck chance) bool {
	b := &l.faults.Burst
	if *b == (Burst{}) {
		return luck.happens(byLoss, l.faults.Loss)
	}
	turn := b.Enter
	if s.bad {
		turn = b.Leave
	}
	if luck.happens(byBurst, turn) {
		s.bad = !s.bad
	}
	if s.bad {
		return luck.happens(byBurstLoss, b.Loss)
	}
	return luck.happens(byLoss, l.faults.Loss)
}

// carry moves f to the far end, and returns the time of its arrival.
func (l *Link) carry(now mono.Time, f *Frame, luck chance, out Out) mono.Time {
	if luck.happens(byCorrupt, l.faults.Corrupt) && len(f.B) > header {
		bit := luck.below(byBit, uint64(len(f.B)-header)*8)
		f.B[header+bit/8] ^= 1 << (bit % 8)
		l.stats.Corrupted++
	}
	f.At = f.At.Add(l.faults.Delay)
	if l.faults.Jitter > 0 {
		f.At = f.At.Add(time.Duration(luck.below(byJitter, uint64(l.faults.Jitter)+1)))
	}
	at := f.At
	if luck.happens(byDup, l.faults.Dup) {
		if twin := out.Copy(f); twin != nil {
			l.stats.Duplicated++
			out.Deliver(twin)
		}
	}
	if luck.happens(byReorder, l.faults.Reorder) && len(l.held) < heldMax {
		l.stats.Reordered++
		// One more than the number of overtakers, because overtake counts this frame, too.
		l.held = append(l.held, hold{f, 2 + int(luck.draw(byReorder)%overtakers), now.Add(holdMax)})
		return at
	}
	out.Deliver(f)
	return at
}

// overtake counts a frame that arrives at the time at. Held frames that enough frames have overtaken follow it.
func (l *Link) overtake(at mono.Time, out Out) {
	kept := l.held[:0]
	for _, h := range l.held {
		if h.left--; h.left > 0 {
			kept = append(kept, h)
			continue
		}
		h.f.At = max(h.f.At, at)
		out.Deliver(h.f)
	}
	clear(l.held[len(kept):])
	l.held = kept
}

// Deadline returns the time at which Advance must be called.
func (l *Link) Deadline() mono.Time {
	at := mono.Never
	for _, h := range l.held {
		at = min(at, h.at)
	}
	return at
}

// Advance releases frames that no frame came to overtake.
func (l *Link) Advance(now mono.Time, out Out) {
	kept := l.held[:0]
	for _, h := range l.held {
		if h.at > now {
			kept = append(kept, h)
			continue
		}
		out.Deliver(h.f)
	}
	clear(l.held[len(kept):])
	l.held = kept
}
