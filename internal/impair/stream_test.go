package impair

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gofabric/internal/mono"
)

// drive makes bytes arrive at s at random times, and takes those that it may. It returns when each piece was taken.
func drive(t *rapid.T, s *Stream, total int, delay time.Duration) (at []mono.Time) {
	now, came, taken := mono.Time(1), 0, 0
	arrived := map[int]mono.Time{} // by the position of the last byte
	for taken < total {
		if came < total {
			n := min(rapid.IntRange(1, 5000).Draw(t, "n"), total-came)
			came += n
			arrived[came] = now
		}
		s.Arrived(now, came-taken)
		n, again, end := s.MayReceive(now)
		if end != Alive {
			t.Fatalf("ended: %v", end)
		}
		if !s.Timed() {
			n = min(n, came-taken) // not all waiting bytes are reported
		}
		if n > came-taken {
			t.Fatalf("%d bytes may be taken, %d are there", n, came-taken)
		}
		if n > 0 {
			k := s.Cut(n)
			if k < 1 || k > n {
				t.Fatalf("%d of %d", k, n)
			}
			taken += k
			s.Received(k)
			if when, ok := arrived[taken]; ok && now < when.Add(delay) {
				t.Fatalf("taken at %d, came at %d with a delay of %v", now, when, delay)
			}
			at = append(at, now)
			continue
		}
		if again <= now {
			t.Fatalf("nothing at %d, ask again at %d", now, again)
		}
		if came < total {
			again = min(again, now.Add(time.Duration(rapid.IntRange(1, int(time.Millisecond)).Draw(t, "wait"))))
		}
		if again == mono.Never {
			t.Fatalf("%d of %d bytes never come", came-taken, total)
		}
		now = again
	}
	return at
}

// TestStream: all bytes arrive in order, none earlier than it may, and the same seed has the same result.
func TestStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Faults{Delay: time.Duration(rapid.IntRange(0, 1000).Draw(t, "delay")) * time.Microsecond,
			Jitter: time.Duration(rapid.IntRange(0, 1000).Draw(t, "jitter")) * time.Microsecond}
		for _, p := range []*float64{&f.Loss, &f.Dup, &f.Reorder, &f.Corrupt} {
			*p = rapid.SampledFrom([]float64{0, 0, 0.1, 0.2}).Draw(t, "p") // with more, a packet is sometimes given up
		}
		f.Rate = rapid.SampledFrom([]int64{0, 0, 1e6, 1e9}).Draw(t, "rate")
		var spans []Span
		if rapid.Bool().Draw(t, "spans") {
			spans = []Span{{time.Millisecond, 20 * time.Millisecond}, {time.Second, 2 * time.Second}}
		}
		seed := rapid.Uint64().Draw(t, "seed")
		make := func() *Stream {
			return NewStream(seed, 1, f, StreamFaults{Cut: rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "cut")},
				spans, 1, 1, 0)
		}
		s := make()
		total := rapid.IntRange(1, 100_000).Draw(t, "total")
		at := drive(t, s, total, f.Delay)
		if f.Rate > 0 && len(at) > 0 {
			if least := time.Duration(float64(total) * 8 / float64(f.Rate) * 1e9); at[len(at)-1].Sub(1) < least-time.Microsecond {
				t.Fatalf("%d bytes took %v, the line takes %v", total, at[len(at)-1].Sub(1), least)
			}
		}
		for range 2 {
			if a, b := make().arrival(5, 100, retransmit), make().arrival(5, 100, retransmit); a != b {
				t.Fatalf("the same seed gives %d and %d", a, b)
			}
		}
	})
}

// TestStreamEnds: connections break after the number of bytes that was drawn, and end when nothing passes for too
// long.
func TestStreamEnds(t *testing.T) {
	sum := 0
	for n := range uint64(1000) {
		s := NewStream(1, n, Faults{}, StreamFaults{Reset: 5000, Refuse: 0.25}, nil, 1, 1, 0)
		if s.Timed() {
			t.Fatal("it need not know the time")
		}
		for {
			k, _, end := s.MayReceive(1)
			if end == Reset {
				break
			}
			if ok, _, _ := s.MaySend(1); !ok {
				t.Fatal("nothing may be sent")
			}
			k = min(k, 1000)
			s.Received(k)
			sum += k
		}
		if _, _, end := s.MaySend(1); end != Reset || s.Stats().Resets != 1 {
			t.Fatalf("%v, %+v", end, s.Stats())
		}
	}
	if mean := sum / 1000; mean < 4500 || mean > 5500 {
		t.Errorf("resets after %d bytes on average, want 5000", mean)
	}
	refused := 0
	for n := range uint64(1000) {
		s := NewStream(1, n, Faults{Delay: time.Second}, StreamFaults{Refuse: 0.25}, nil, 1, 1, 0)
		at, no := s.Connect(5)
		if at != mono.Time(5).Add(2*time.Second) {
			t.Fatalf("answered at %d", at)
		}
		if no {
			refused++
		}
	}
	if refused < 200 || refused > 300 {
		t.Errorf("%d of 1000 are refused, want 250", refused)
	}
	ends := func(patience time.Duration, spans ...Span) (at mono.Time, end End) {
		s := NewStream(1, 1, Faults{}, StreamFaults{}, spans, 1, 1, patience)
		for now := mono.Time(1); ; now = at {
			s.Arrived(now, 100)
			n, again, end := s.MayReceive(now)
			ok, _, _ := s.MaySend(now)
			if ok != (n > 0) {
				t.Fatalf("at %d: %d bytes, send %v", now, n, ok)
			}
			if at = again; n > 0 || end != Alive || again == mono.Never {
				return now, end
			}
		}
	}
	for _, tt := range []struct {
		patience time.Duration
		span     Span
		at       time.Duration
		end      End
	}{
		{0, Span{0, time.Hour}, time.Hour, Alive},
		{time.Second, Span{0, time.Second / 2}, time.Second / 2, Alive},
		{time.Second, Span{0, time.Hour}, time.Second, TimedOut},
		{time.Second, Span{0, math.MaxInt64}, time.Second, TimedOut},
		{0, Span{time.Minute, math.MaxInt64}, 0, Alive},
	} {
		if at, end := ends(tt.patience, tt.span); at.Sub(1) != tt.at || end != tt.end {
			t.Errorf("%+v: %v at %v", tt, end, at.Sub(1))
		}
	}
	lost := NewStream(1, 1, Faults{Loss: 1}, StreamFaults{}, nil, 1, 1, time.Second)
	lost.Arrived(1, 10)
	if _, _, end := lost.MayReceive(1); end != TimedOut {
		t.Errorf("all is lost, and the end is %v", end)
	}
}
