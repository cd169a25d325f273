package impair

import (
	"math"
	"math/rand/v2"
	"time"

	"gofabric/internal/mono"
)

// One direction of a connection over an imperfect path. What a network does to the packets of a connection, its ends see as time only: what is lost,
// corrupted or overtaken comes later, and all that follows it with it. Beside that, connections break, and are refused.

const (
	// segment is what one packet of a connection carries, bytes.
	segment = 1448
	// tailProbe is how long after a round trip a lost packet is sent again, about (RFC 8985, section 7.2); retransmit how long if that is lost as well, and
	// synRetransmit if it was the first of all (RFC 6298, which has twice the time for each further one).
	tailProbe     = 10 * time.Millisecond
	retransmit    = 200 * time.Millisecond
	synRetransmit = time.Second
	// retransmits is how often a packet is sent again at most.
	retransmits = 15
)

// StreamFaults are what happens to connections beyond what happens to the packets that they consist of.
type StreamFaults struct {
	Reset  int     // bytes that come before the connection breaks, on average; 0 never
	Refuse float64 // probability that a connect is refused
	Cut    float64 // probability that a send or a receive ends early
}

// StreamStats counts what happened to connections.
type StreamStats struct {
	Packets  Stats
	Resets   uint64 // connections broken
	Refusals uint64 // connects refused
	Cuts     uint64 // sends and receives that ended early
}

// Add adds o.
func (s *StreamStats) Add(o StreamStats) {
	s.Packets.Add(o.Packets)
	s.Resets += o.Resets
	s.Refusals += o.Refusals
	s.Cuts += o.Cuts
}

// End says how a Stream is.
type End uint8

const (
	Alive    End = iota
	Reset        // broken
	TimedOut     // cut off for longer than the ends are patient
)

// Stream is one end of a connection: what comes, and when something may be sent.
type Stream struct {
	link     Link
	extra    StreamFaults
	cut      uint64
	rng      rand.PCG // of resets, refusals and cuts
	spans    []Span
	start    mono.Time     // that spans count from
	patience time.Duration // how long silence is borne; 0 for ever
	opened   mono.Time

	counts StreamStats // but for packets

	taken, seen uint64 // bytes taken by the application, and that have come into the socket
	resetAt     uint64
	last        mono.Time // when the last of them may be taken
	marks       []mark    // bytes not taken yet
}

// mark says when bytes up to a place may be taken.
type mark struct {
	to uint64
	at mono.Time
}

// NewStream returns connection number n of a seed. spans are partitions, since start; patience is how long the ends bear silence, 0 for ever.
func NewStream(seed, n uint64, f Faults, extra StreamFaults, spans []Span, start, now mono.Time, patience time.Duration) *Stream {
	s := &Stream{extra: extra, cut: threshold(extra.Cut), spans: spans, start: start, opened: now, patience: patience, resetAt: math.MaxUint64}
	s.link.Init(seed, n, start, nil)
	f.Backlog = math.MaxInt // what waits, waits in the socket
	s.link.Set(f)
	s.rng.Seed(seed, ^n)
	if extra.Reset > 0 {
		s.resetAt = uint64(rand.New(&s.rng).ExpFloat64()*float64(extra.Reset)) + 1
	}
	return s
}

// Timed says whether Arrived has to be told what comes.
func (s *Stream) Timed() bool { return s.link.active || len(s.spans) > 0 }

// Stats returns the counts.
func (s *Stream) Stats() StreamStats {
	c := s.counts
	c.Packets = s.link.Stats()
	return c
}

// Connect says when the answer to a connect comes, and whether it is a refusal.
func (s *Stream) Connect(now mono.Time) (at mono.Time, refused bool) {
	at = now
	if s.Timed() {
		at = s.arrival(now, 0, synRetransmit).Add(s.link.faults.Delay) // there and back
	}
	if refused = s.rng.Uint64()>>1 < threshold(s.extra.Refuse); refused {
		s.counts.Refusals++
	}
	return at, refused
}

// Arrived tells that waiting bytes are there to be taken.
func (s *Stream) Arrived(now mono.Time, waiting int) {
	for to := s.taken + uint64(waiting); s.seen < to; {
		n := min(segment, to-s.seen)
		s.seen += n
		s.last = max(s.last, s.arrival(now, int(n), retransmit))
		if k := len(s.marks); k > 0 && s.marks[k-1].at == s.last {
			s.marks[k-1].to = s.seen
		} else {
			s.marks = append(s.marks, mark{s.seen, s.last})
		}
	}
}

// arrival is when a packet of size bytes, sent now, comes at last.
func (s *Stream) arrival(now mono.Time, size int, again time.Duration) mono.Time {
	l := &s.link
	pause := 2*l.faults.Delay + tailProbe
	if again == synRetransmit {
		pause = again
	}
	for range retransmits {
		v := l.judge(now, size)
		at := max(v.at, now)
		if v.hold {
			at = at.Add(holdMax)
		}
		if up, _ := s.cutOff(at); !v.lost && v.flip < 0 {
			return max(at, up)
		}
		now = at.Add(pause)
		pause, again = max(again, pause), min(2*again, time.Minute)
	}
	return mono.Never
}

// cutOff returns the end of the partition that now is in, and its beginning; 0 if it is in none.
func (s *Stream) cutOff(now mono.Time) (until, since mono.Time) {
	d := now.Sub(s.start)
	for _, p := range s.spans {
		if d >= p.From && d < p.To {
			until = mono.Never
			if p.To < time.Duration(mono.Never-s.start) {
				until = s.start.Add(p.To)
			}
			return until, max(s.start.Add(p.From), s.opened)
		}
	}
	return 0, 0
}

// open says whether anything passes now; if not, when to ask again.
func (s *Stream) open(now mono.Time) (passes bool, again mono.Time, end End) {
	until, since := s.cutOff(now)
	if until == 0 {
		return true, 0, Alive
	}
	if s.patience > 0 {
		dead := since.Add(s.patience)
		if now >= dead {
			return false, 0, TimedOut
		}
		until = min(until, dead)
	}
	return false, until, Alive
}

// broken says whether the connection has broken by now.
func (s *Stream) broken() bool {
	if s.taken < s.resetAt {
		return false
	}
	s.counts.Resets = 1
	return true
}

// MayTake says how many bytes may be taken now; if none, when to ask again, Never if nothing that is known of comes.
func (s *Stream) MayTake(now mono.Time) (n int, again mono.Time, end End) {
	if s.broken() {
		return 0, 0, Reset
	}
	if !s.Timed() {
		return int(min(s.resetAt-s.taken, math.MaxInt32)), 0, Alive
	}
	if passes, again, end := s.open(now); !passes {
		return 0, again, end
	}
	to, again := s.taken, mono.Never
	for _, m := range s.marks {
		if m.at > now {
			again = m.at
			if s.patience > 0 && to == s.taken && again.Sub(now) > s.patience {
				return 0, 0, TimedOut
			}
			break
		}
		to = m.to
	}
	return int(min(to, s.resetAt) - s.taken), again, Alive
}

// Took tells that n bytes were taken.
func (s *Stream) Took(n int) {
	s.taken += uint64(n)
	done := 0
	for done < len(s.marks) && s.marks[done].to <= s.taken {
		done++
	}
	s.marks = append(s.marks[:0], s.marks[done:]...)
	s.seen = max(s.seen, s.taken)
}

// MaySend says whether anything may be sent now; if not, when to ask again.
func (s *Stream) MaySend(now mono.Time) (ok bool, again mono.Time, end End) {
	switch {
	case s.broken():
		return false, 0, Reset
	case len(s.spans) == 0:
		return true, 0, Alive
	}
	return s.open(now)
}

// pauseMax is how long the rest of a send that was cut waits, at most.
const pauseMax = 200 * time.Microsecond

// Pause returns how long the rest of a send that was cut waits: half of the time not at all.
func (s *Stream) Pause() time.Duration {
	return max(0, time.Duration(s.rng.Uint64()%uint64(2*pauseMax))-pauseMax)
}

// Cut returns how many of n bytes a call moves, n or less, but one at least.
func (s *Stream) Cut(n int) int {
	if s.cut == 0 || n <= 1 || s.rng.Uint64()>>1 >= s.cut {
		return n
	}
	s.counts.Cuts++
	r := s.rng.Uint64()
	most := uint64(n)
	if r>>63 != 0 {
		most = min(most, 64) // within a header, often
	}
	return int(1 + r%most)
}
