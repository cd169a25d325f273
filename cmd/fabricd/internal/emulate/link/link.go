package link

import (
	"time"

	"gofabric/internal/mono"
)

const (
	// holdMax is how long a frame is held back at most when none comes to overtake it.
	holdMax = time.Millisecond
	// heldMax is how many are held back at the same time.
	heldMax = 8
	// overtakers is how many frames overtake one that is held back, at most.
	overtakers = 3
	// header is the length of an Ethernet header: a corrupted frame still reaches whom it was for.
	header = 14
)

// Link is one direction of an emulated cable. It is guarded by its owner.
type Link struct {
	faults Faults
	down   bool
	seed   uint64
	to     [2]stream // to nodes, and to groups: what kernels send to groups by themselves leaves the fate of the rest as it is
	line   line
	held   []hold
	stats  Stats
}

// stream is the frames that share their luck.
type stream struct {
	next uint64 // the number of the next one
	bad  bool   // the state of the burst model
}

// hold is a frame that waits to be overtaken.
type hold struct {
	f    *Frame
	left int       // by how many more
	at   mono.Time // when it goes on all the same
}

// New returns a perfect link. Links with the same seed and different streams behave differently.
func New(seed, stream uint64) *Link {
	return &Link{seed: chance{seed, stream}.draw(0)}
}

// Set sets the faults, which Check has approved, of a link that nothing is on.
func (l *Link) Set(f Faults) {
	if f.Burst == (Burst{}) {
		l.to[0].bad, l.to[1].bad = false, false
	}
	l.faults = f
}

// Change changes the faults at the time now. Frames on the way stay as they are, but those that still wait for the line leave it at the new rate: a slow line
// that is made fast again is fast. It returns when a frame leaves that was to leave at a later time than now, or nil if that stays.
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

// SetDown cuts the link, or mends it.
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

// Timed reports whether frames take time, so that Send needs the exact one.
func (l *Link) Timed() bool {
	f := &l.faults
	return f.Rate > 0 || f.Delay > 0 || f.Jitter > 0 || f.Reorder > 0
}

// Send has f enter the link at now. cut says that a partition lies between its sender and its receiver.
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

// queue has f wait for the line. It reports false when too many do.
func (l *Link) queue(now mono.Time, f *Frame) bool {
	l.line.leave(now)
	frames, bytes := l.line.waiting(), l.line.bytes
	limit := l.faults.Queue
	if limit == 0 {
		limit = DefaultQueue
	}
	if frames >= limit || l.faults.QueueBytes > 0 && bytes+len(f.B) > l.faults.QueueBytes && frames > 0 {
		return false
	}
	if l.faults.ECN > 0 && frames >= l.faults.ECN && mark(f.B) {
		l.stats.Marked++
	}
	f.At = l.line.enter(now, len(f.B), l.faults.Rate)
	return true
}

// loses reports whether the frame is lost by chance.
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

// carry takes f along the way to the far end, and returns when it is there.
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
		// One more than those that are to overtake it: overtake counts this frame too.
		l.held = append(l.held, hold{f, 2 + int(luck.draw(byReorder)%overtakers), now.Add(holdMax)})
		return at
	}
	out.Deliver(f)
	return at
}

// overtake counts a frame that arrives at the time at, and has those follow it that enough have overtaken.
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

// Deadline is when Advance has something to do.
func (l *Link) Deadline() mono.Time {
	at := mono.Never
	for _, h := range l.held {
		at = min(at, h.at)
	}
	return at
}

// Advance lets go the frames that nothing came to overtake.
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
