package impair

import (
	"math"
	"math/rand/v2"
	"time"

	"gofabric/internal/mono"
)

// One direction of a connection over an imperfect path. The ends of a connection see faults of its packets only as
// delay: the bytes of a lost, corrupted or overtaken packet come later, and so do all bytes after them. In addition
// connections break and are refused.

const (
	// segment is the payload of one packet of a connection, in bytes.
	segment = 1448
	// A lost packet is sent again about tailProbe after a round trip (RFC 8985 section 7.2). If that is lost as
	// well, it is sent again after retransmit, or after synRetransmit if it is the first of a connection (RFC
	// 6298). The time doubles for each further attempt.
	tailProbe     = 10 * time.Millisecond
	retransmit    = 200 * time.Millisecond
	synRetransmit = time.Second
	// retransmits is the most retransmissions of a packet.
	retransmits = 15
)

// StreamFaults are the faults of connections beyond those of their packets.
type StreamFaults struct {
	Reset  int     // average number of bytes received before the connection breaks; 0 means never
	Refuse float64 // probability that a connect is refused
	Cut    float64 // probability that a send or a receive ends early
}

// StreamStats are the counters of connections.
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

// End is the state of a Stream.
type End uint8

const (
	Alive    End = iota
	Reset        // broken
	TimedOut     // no packet has passed for longer than the ends' time-out
)

// Stream is one end of a connection. It decides which bytes may be received, and when bytes may be sent.
type Stream struct {
	link     Link
	extra    StreamFaults
	cut      uint64
	rng      rand.PCG // for resets, refusals and cuts
	spans    []Span
	start    mono.Time     // origin of the times of spans
	patience time.Duration // time-out of a silent connection; 0 means none
	opened   mono.Time

	counts StreamStats // without those of packets

	received, seen uint64 // bytes that the application has taken, and that the socket has received
	resetAt        uint64
	last           mono.Time // when the last of them may be taken
	marks          []mark    // bytes not taken yet
}

// mark is the time at which bytes up to a position may be taken.
type mark struct {
	to uint64
	at mono.Time
}

// NewStream returns connection number n of a seed. spans are partitions, counted from start. patience is the ends'
// time-out of a silent connection, 0 for none.
func NewStream(seed, n uint64, f Faults, extra StreamFaults, spans []Span, start, now mono.Time, patience time.Duration) *Stream {
	s := &Stream{extra: extra, cut: threshold(extra.Cut), spans: spans, start: start, opened: now, patience: patience, resetAt: math.MaxUint64}
	s.link.Init(seed, n, start, nil)
	f.Backlog = math.MaxInt // bytes that wait do so in the socket
	s.link.Set(f)
	s.rng.Seed(seed, ^n)
	if extra.Reset > 0 {
		s.resetAt = uint64(rand.New(&s.rng).ExpFloat64()*float64(extra.Reset)) + 1
	}
	return s
}

// Timed reports whether Arrived must be called for received bytes.
func (s *Stream) Timed() bool { return s.link.active || len(s.spans) > 0 }

// Stats returns the counters.
func (s *Stream) Stats() StreamStats {
	c := s.counts
	c.Packets = s.link.Stats()
	return c
}

// Connect returns when the answer to a connect comes, and whether it is a refusal.
func (s *Stream) Connect(now mono.Time) (at mono.Time, refused bool) {
	at = now
	if s.Timed() {
		at = s.arrival(now, 0, synRetransmit).Add(s.link.faults.Delay) // both directions
	}
	if refused = s.rng.Uint64()>>1 < threshold(s.extra.Refuse); refused {
		s.counts.Refusals++
	}
	return at, refused
}

// Arrived reports that `waiting` received bytes wait to be received.
func (s *Stream) Arrived(now mono.Time, waiting int) {
	for to := s.received + uint64(waiting); s.seen < to; {
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

// arrival returns when a packet of size bytes, sent now, arrives after all retransmissions.
func (s *Stream) arrival(now mono.Time, size int, again time.Duration) mono.Time {
	l := &s.link
	pause := 2*l.faults.Delay + tailProbe
	if again == synRetransmit {
		pause = again
	}
	for range retransmits {
		v := l.decide(now, size)
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

// cutOff returns the end and the beginning of the partition at the time now, 0 if there is none.
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

// open reports whether packets pass now. If not, it returns when to ask again.
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

// broken reports whether the connection has broken by now.
func (s *Stream) broken() bool {
	if s.received < s.resetAt {
		return false
	}
	s.counts.Resets = 1
	return true
}

// MayReceive returns how many bytes may be received now. If none, it returns when to ask again, Never if no known bytes
// are on the way.
func (s *Stream) MayReceive(now mono.Time) (n int, again mono.Time, end End) {
	if s.broken() {
		return 0, 0, Reset
	}
	if !s.Timed() {
		return int(min(s.resetAt-s.received, math.MaxInt32)), 0, Alive
	}
	if passes, again, end := s.open(now); !passes {
		return 0, again, end
	}
	to, again := s.received, mono.Never
	for _, m := range s.marks {
		if m.at > now {
			again = m.at
			if s.patience > 0 && to == s.received && again.Sub(now) > s.patience {
				return 0, 0, TimedOut
			}
			break
		}
		to = m.to
	}
	return int(min(to, s.resetAt) - s.received), again, Alive
}

// Received records that n bytes were received.
func (s *Stream) Received(n int) {
	s.received += uint64(n)
	done := 0
	for done < len(s.marks) && s.marks[done].to <= s.received {
		done++
	}
	s.marks = append(s.marks[:0], s.marks[done:]...)
	s.seen = max(s.seen, s.received)
}

// MaySend reports whether bytes may be sent now. If not, it returns when to ask again.
func (s *Stream) MaySend(now mono.Time) (ok bool, again mono.Time, end End) {
	switch {
	case s.broken():
		return false, 0, Reset
	case len(s.spans) == 0:
		return true, 0, Alive
	}
	return s.open(now)
}

// pauseMax is the longest delay of the rest of a send that was cut.
const pauseMax = 200 * time.Microsecond

// Pause returns the delay of the rest of a send that was cut: zero in half of the cases.
func (s *Stream) Pause() time.Duration {
	return max(0, time.Duration(s.rng.Uint64()%uint64(2*pauseMax))-pauseMax)
}

// Cut returns how many of n bytes a call moves: from one to n.
func (s *Stream) Cut(n int) int {
	if s.cut == 0 || n <= 1 || s.rng.Uint64()>>1 >= s.cut {
		return n
	}
	s.counts.Cuts++
	r := s.rng.Uint64()
	most := uint64(n)
	if r>>63 != 0 {
		most = min(most, 64) // often within a header
	}
	return int(1 + r%most)
}
