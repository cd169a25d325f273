package impair

import (
	"cmp"
	"math/rand/v2"
	"time"

	"gofabric/internal/mono"
)

// One direction of a path.

const (
	// holdMax is the longest time that a datagram is held back when no other comes to overtake it.
	holdMax = time.Millisecond
	// heldMax is the most datagrams held back at the same time.
	heldMax = 8
	// overtakers is the most datagrams that overtake one that is held back.
	overtakers = 3
)

// Link is one direction of an imperfect path.
type Link struct {
	faults Faults
	start  mono.Time
	spans  []Span
	down   bool

	loss, dup, reorder, corrupt uint64 // probabilities, in 2^-63
	chance, timed, active       bool

	state state
	held  []hold

	scratch []byte
	cut     [][]byte
	one     [1][]byte
}

// state is what a decision changes. It is restored when the datagram was not sent.
type state struct {
	rng   rand.PCG
	busy  mono.Time // time at which the line becomes free
	stats Stats
}

// hold is a datagram that is held back for others to overtake.
type hold struct {
	it   *Item
	gen  uint32
	left int
}

// Init prepares a Link, which is perfect until Set. Links with the same seed and different streams decide
// differently. start is the origin of the times of spans, which are partitions.
func (l *Link) Init(seed, stream uint64, start mono.Time, spans []Span) {
	*l = Link{start: start, spans: spans}
	l.state.rng.Seed(seed, stream)
	l.Set(Faults{})
}

// Set changes the faults. Check must have accepted them. Datagrams in flight are not affected.
func (l *Link) Set(f Faults) {
	f.Backlog = cmp.Or(f.Backlog, DefaultBacklog)
	l.faults = f
	l.loss, l.dup, l.reorder, l.corrupt = threshold(f.Loss), threshold(f.Dup), threshold(f.Reorder), threshold(f.Corrupt)
	l.chance = l.loss|l.dup|l.reorder|l.corrupt != 0 || f.Jitter > 0
	l.settle()
}

// Faults returns the settings.
func (l *Link) Faults() Faults { return l.faults }

// Down begins or ends a partition.
func (l *Link) Down(down bool) {
	l.down = down
	l.settle()
}

func (l *Link) settle() {
	f := &l.faults
	l.timed = f.Delay > 0 || f.Jitter > 0 || f.Rate > 0 || f.Reorder > 0 || len(l.spans) > 0
	l.active = l.chance || l.timed || l.down
}

// Timed reports whether Send needs the time.
func (l *Link) Timed() bool { return l.timed }

// Stats returns the counters.
func (l *Link) Stats() Stats { return l.state.stats }

// threshold returns a probability in units of 2^-63.
func threshold(p float64) uint64 { return uint64(p * (1 << 63)) }

// decision is the decision about a datagram.
type decision struct {
	lost, duplicate, hold bool
	flip                  int       // number of the bit to flip, -1 for none
	at                    mono.Time // time of arrival, 0 for at once
	left                  int       // number of datagrams that are to overtake it
}

func (v *decision) clean() bool { return !v.lost && !v.duplicate && !v.hold && v.flip < 0 && v.at == 0 }

// decide decides about the next datagram. It draws the same number of random numbers for each, so that a change of
// one fault does not change the effects of the others.
func (l *Link) decide(now mono.Time, size int) decision {
	v := decision{flip: -1}
	s := &l.state
	s.stats.Sent++
	var jitter time.Duration
	if l.chance {
		lost, dup, reorder, corrupt := s.rng.Uint64()>>1, s.rng.Uint64()>>1, s.rng.Uint64()>>1, s.rng.Uint64()>>1
		v.lost, v.duplicate, v.hold = lost < l.loss, dup < l.dup, reorder < l.reorder
		bit, late := s.rng.Uint64(), s.rng.Uint64()
		if corrupt < l.corrupt && size > 0 {
			v.flip = int(bit % uint64(size*8))
		}
		v.left = 1 + int(bit>>32%overtakers)
		if l.faults.Jitter > 0 {
			jitter = time.Duration(late % uint64(l.faults.Jitter+1))
		}
	}
	if l.parted(now) {
		v.lost = true
		s.stats.Cut++
		return v
	}
	if l.faults.Rate > 0 && !l.line(now, size, &v) {
		v.lost = true
		s.stats.Overflows++
		return v
	}
	if v.lost {
		s.stats.Lost++
		return v
	}
	if d := l.faults.Delay + jitter; d > 0 {
		v.at = max(v.at, now).Add(d)
	}
	l.count(&v)
	return v
}

func (l *Link) count(v *decision) {
	s := &l.state.stats
	if v.at != 0 {
		s.Delayed++
	}
	if v.duplicate {
		s.Duplicated++
	}
	if v.flip >= 0 {
		s.Corrupted++
	}
	if v.hold = v.hold && len(l.held) < heldMax; v.hold {
		s.Reordered++
	}
}

// parted reports whether the path is in a partition.
func (l *Link) parted(now mono.Time) bool {
	if l.down {
		return true
	}
	for _, s := range l.spans {
		if d := now.Sub(l.start); d >= s.From && d < s.To {
			return true
		}
	}
	return false
}

// line queues a datagram for a slow line. It returns false when the backlog is full.
func (l *Link) line(now mono.Time, size int, v *decision) bool {
	s := &l.state
	begin := max(now, s.busy)
	perSecond := float64(l.faults.Rate) / 8
	if begin.Sub(now).Seconds()*perSecond+float64(size) > float64(l.faults.Backlog) && begin > now {
		return false
	}
	s.busy = begin.Add(time.Duration(min(float64(size)/perSecond, 3600) * float64(time.Second)))
	v.at = s.busy
	return true
}
