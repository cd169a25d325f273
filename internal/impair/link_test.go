package impair

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gofabric/core"
	"gofabric/internal/mono"
)

// recorder is an Out that records its calls, and can be busy.
type recorder struct {
	q     Queue
	got   [][]byte // in order of arrival
	runs  int
	again func() bool
	fail  error
}

func newRecorder() *recorder { return &recorder{q: Queue{Max: 1 << 20}} }

func (r *recorder) Send(_ netip.AddrPort, parts [][]byte, seg int) error {
	if r.again != nil && r.again() {
		return core.ErrAgain
	}
	r.runs++
	r.cut(bytes.Join(parts, nil), seg)
	return r.fail
}

func (r *recorder) cut(b []byte, seg int) {
	for seg > 0 && len(b) > seg {
		r.got = append(r.got, b[:seg])
		b = b[seg:]
	}
	r.got = append(r.got, b)
}

func (r *recorder) Delay(at mono.Time, dest netip.AddrPort, parts [][]byte, flip int) (*Item, uint32) {
	return r.q.Add(at, dest, parts, 0, flip)
}

func (r *recorder) Reschedule(it *Item, gen uint32, at mono.Time) { r.q.Reschedule(it, gen, at) }

// arrive delivers all datagrams that are due.
func (r *recorder) arrive(now mono.Time) {
	for it := r.q.Due(now); it != nil; it = r.q.Due(now) {
		r.got = append(r.got, bytes.Clone(it.B))
		r.q.Recycle(it)
	}
}

func numbered(i, size int) []byte {
	b := make([]byte, size)
	binary.LittleEndian.PutUint32(b, uint32(i))
	return b
}

// transcript sends n datagrams, 10 us apart, and returns those that arrived.
func transcript(seed uint64, f Faults, n int) (*recorder, Stats) {
	var l Link
	l.Init(seed, 7, 1, nil)
	l.Set(f)
	r := newRecorder()
	now := mono.Time(1)
	for i := range n {
		l.Send(now, r, netip.AddrPort{}, [][]byte{numbered(i, 100)}, 0)
		r.arrive(now)
		now = now.Add(10 * time.Microsecond)
	}
	r.arrive(mono.Never)
	return r, l.Stats()
}

// TestFaults: each fault happens as often as set, and no other fault happens.
func TestFaults(t *testing.T) {
	const n = 20000
	tests := []struct {
		name  string
		f     Faults
		want  Stats   // expected counts
		some  float64 // allowed deviation, as a share of n
		lines int     // datagrams that arrive
	}{
		{"none", Faults{}, Stats{Sent: n}, 0, n},
		{"all lost", Faults{Loss: 1}, Stats{Sent: n, Lost: n}, 0, 0},
		{"all twice", Faults{Dup: 1}, Stats{Sent: n, Duplicated: n}, 0, 2 * n},
		{"all corrupt", Faults{Corrupt: 1}, Stats{Sent: n, Corrupted: n}, 0, n},
		{"loss", Faults{Loss: 0.05}, Stats{Sent: n, Lost: n / 20}, 0.01, n * 19 / 20},
		{"rare loss", Faults{Loss: 0.001}, Stats{Sent: n, Lost: n / 1000}, 0.001, n * 999 / 1000},
		{"dup", Faults{Dup: 0.2}, Stats{Sent: n, Duplicated: n / 5}, 0.02, n * 6 / 5},
		{"reorder", Faults{Reorder: 0.1}, Stats{Sent: n, Reordered: n / 10}, 0.02, n},
		{"corrupt", Faults{Corrupt: 0.1}, Stats{Sent: n, Corrupted: n / 10}, 0.02, n},
		{"delay", Faults{Delay: time.Second / 2}, Stats{Sent: n, Delayed: n, Overflows: n - 4599}, 0, 4599},
		{"jitter", Faults{Jitter: time.Millisecond}, Stats{Sent: n, Delayed: n}, 0.01, n},
		{"line", Faults{Rate: 40_000_000, Backlog: 10_000}, Stats{Sent: n, Delayed: n / 2, Overflows: n / 2},
			0.01, n / 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, got := transcript(3, tt.f, n)
			near := func(what string, got, want uint64) {
				if math.Abs(float64(got)-float64(want)) > tt.some*n {
					t.Errorf("%s: %d, want about %d", what, got, want)
				}
			}
			near("sent", got.Sent, tt.want.Sent)
			near("lost", got.Lost, tt.want.Lost)
			near("cut", got.Cut, tt.want.Cut)
			near("duplicated", got.Duplicated, tt.want.Duplicated)
			near("reordered", got.Reordered, tt.want.Reordered)
			near("corrupted", got.Corrupted, tt.want.Corrupted)
			near("delayed", got.Delayed, tt.want.Delayed)
			near("overflows", got.Overflows, tt.want.Overflows)
			near("arrived", uint64(len(r.got)), uint64(tt.lines))
			bad := 0
			for _, b := range r.got {
				for i, c := range b {
					if i >= 4 {
						bad += bits.OnesCount8(c)
					}
				}
			}
			if bad > int(got.Corrupted) || got.Corrupted > 0 && bad < int(got.Corrupted)*9/10 {
				t.Errorf("%d bits are wrong of %d corrupted datagrams", bad, got.Corrupted)
			}
		})
	}
}

// TestReorder: a datagram that is held back comes one to three datagrams later.
func TestReorder(t *testing.T) {
	r, got := transcript(1, Faults{Reorder: 0.2}, 5000)
	late := map[int]int{}
	for at, b := range r.got {
		if d := at - int(binary.LittleEndian.Uint32(b)); d > 0 {
			late[d]++
		}
	}
	if late[1] == 0 || late[2] == 0 || late[3] == 0 || len(late) > 6 || got.Reordered < 800 {
		t.Errorf("late by %v of %d", late, got.Reordered)
	}
	// The last of all is not held without limit.
	var l Link
	l.Init(1, 1, 1, nil)
	l.Set(Faults{Reorder: 1})
	q := newRecorder()
	l.Send(1, q, netip.AddrPort{}, [][]byte{numbered(0, 4)}, 0)
	if len(q.got) != 0 || q.q.Next() != mono.Time(1).Add(holdMax) {
		t.Errorf("next at %v", q.q.Next())
	}
}

// TestSeed: the same seed has the same result, another seed has another, and one fault does not change the effects
// of the others.
func TestSeed(t *testing.T) {
	f := Faults{Loss: 0.1, Dup: 0.1, Reorder: 0.1, Corrupt: 0.1, Jitter: 100 * time.Microsecond}
	a, as := transcript(5, f, 3000)
	b, bs := transcript(5, f, 3000)
	c, _ := transcript(6, f, 3000)
	same := func(x, y *recorder) bool { return bytes.Equal(bytes.Join(x.got, nil), bytes.Join(y.got, nil)) }
	if !same(a, b) || as != bs {
		t.Error("the same seed had another result")
	}
	if same(a, c) {
		t.Error("another seed had the same result")
	}
	f.Dup = 0
	if _, s := transcript(5, f, 3000); s.Lost != as.Lost {
		t.Errorf("without duplication %d are lost, with it %d", s.Lost, as.Lost)
	}
}

// TestPartition: spans and switches.
func TestPartition(t *testing.T) {
	var l Link
	start := mono.Time(1000)
	l.Init(1, 1, start, []Span{{time.Second, 2 * time.Second}, {5 * time.Second, 6 * time.Second}})
	r := newRecorder()
	arrives := func(at time.Duration) bool {
		n := len(r.got)
		l.Send(start.Add(at), r, netip.AddrPort{}, [][]byte{{1}}, 0)
		return len(r.got) > n
	}
	for at, want := range map[time.Duration]bool{0: true, time.Second - 1: true, time.Second: false,
		2*time.Second - 1: false, 2 * time.Second: true, 5500 * time.Millisecond: false, time.Hour: true} {
		if arrives(at) != want {
			t.Errorf("at %v: arrived is %v", at, !want)
		}
	}
	l.Down(true)
	if arrives(time.Hour) {
		t.Error("arrived although the path is cut")
	}
	l.Down(false)
	if !arrives(time.Hour) {
		t.Error("lost although the path is restored")
	}
	if s := l.Stats(); s.Cut != 4 {
		t.Errorf("%+v", s)
	}
}

// TestRuns: an unharmed run stays one run. The pieces of a run that is split are its original datagrams, with
// ErrAgain at any point.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Faults{}
		for _, p := range []*float64{&f.Loss, &f.Dup, &f.Reorder, &f.Corrupt} {
			*p = rapid.SampledFrom([]float64{0, 0, 0.2, 1}).Draw(t, "p")
		}
		f.Delay = time.Duration(rapid.SampledFrom([]int{0, 0, 1000}).Draw(t, "delay"))
		f.Rate = int64(rapid.SampledFrom([]int{0, 0, 1 << 30}).Draw(t, "rate"))
		var l Link
		l.Init(rapid.Uint64().Draw(t, "seed"), 0, 1, nil)
		l.Set(f)
		r := newRecorder()
		busy := rapid.SliceOfN(rapid.Bool(), 1, 20).Draw(t, "again")
		calls := 0
		r.again = func() bool { calls++; return busy[calls%len(busy)] && calls < 200 }
		sent, total := 0, 0
		now := mono.Time(1)
		for range rapid.IntRange(1, 20).Draw(t, "sends") {
			n, size := rapid.IntRange(1, 6).Draw(t, "n"), rapid.IntRange(4, 9).Draw(t, "size")
			var all []byte
			for i := range n {
				all = append(all, numbered(sent+i, size)...)
			}
			all = all[:len(all)-rapid.IntRange(0, size-4).Draw(t, "short")]
			at := rapid.IntRange(0, len(all)).Draw(t, "cut")
			before, arrived, kept := l.state, len(r.got), r.q.Len()
			err := l.Send(now, r, netip.AddrPort{}, [][]byte{all[:at], nil, all[at:]}, size)
			if err == core.ErrAgain {
				if l.state != before || len(r.got) != arrived || r.q.Len() != kept {
					t.Fatalf("ErrAgain, but something happened")
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			sent += n
			total += n
			now = now.Add(time.Microsecond)
			r.arrive(now)
		}
		r.arrive(mono.Never)
		s := l.Stats()
		want := int(s.Sent - s.Lost - s.Overflows + s.Duplicated)
		if int(s.Sent) != total || len(r.got) != want {
			t.Fatalf("%d of %d arrived, %+v", len(r.got), total, s)
		}
		if s.Corrupted == 0 {
			seen := map[uint32]int{}
			for _, b := range r.got {
				seen[binary.LittleEndian.Uint32(b)]++
			}
			for i, n := range seen {
				if n > 2 || int(i) >= total {
					t.Fatalf("datagram %d came %d times", i, n)
				}
			}
			if lost := total - len(seen); lost != int(s.Lost+s.Overflows) {
				t.Fatalf("%d are missing, %+v", lost, s)
			}
		}
	})
	var l Link
	l.Init(1, 1, 1, nil)
	for _, f := range []Faults{{}, {Loss: math.SmallestNonzeroFloat64, Dup: 1e-18}} {
		l.Set(f)
		r := newRecorder()
		if err := l.Send(1, r, netip.AddrPort{}, [][]byte{make([]byte, 1000)}, 100); err != nil || r.runs != 1 ||
			len(r.got) != 10 {
			t.Errorf("%+v: %d datagrams in %d runs, %v", f, len(r.got), r.runs, err)
		}
		r.fail = errors.New("no route")
		if err := l.Send(1, r, netip.AddrPort{}, [][]byte{nil}, 0); err != r.fail {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

// TestCheck refuses invalid settings.
func TestCheck(t *testing.T) {
	for _, f := range []Faults{{Loss: -0.1}, {Dup: 1.1}, {Corrupt: math.NaN()}, {Delay: -1}, {Jitter: 48 * time.Hour},
		{Rate: -1}, {Backlog: -1}} {
		if f.Check() == nil {
			t.Errorf("%+v passes", f)
		}
	}
	if err := (&Faults{Loss: 1, Delay: time.Hour, Rate: 1}).Check(); err != nil {
		t.Error(err)
	}
}

// TestAllocs: decisions, and delayed datagrams, allocate nothing once the queue has grown.
func TestAllocs(t *testing.T) {
	for _, f := range []Faults{{}, {Loss: 0.2, Dup: 0.2, Reorder: 0.2, Corrupt: 0.2}, {Delay: 10}} {
		var l Link
		l.Init(1, 1, 1, nil)
		l.Set(f)
		out := &sink{q: Queue{Max: 1 << 20}}
		parts := [][]byte{make([]byte, 64), make([]byte, 1000)}
		now := mono.Time(1)
		send := func() {
			now += 100
			l.Send(now, out, netip.AddrPort{}, parts, 100)
			for it := out.q.Due(now); it != nil; it = out.q.Due(now) {
				out.q.Recycle(it)
			}
		}
		for range 1000 {
			send()
		}
		if n := testing.AllocsPerRun(500, send); n != 0 {
			t.Errorf("%+v: %v allocations", f, n)
		}
	}
}

type sink struct{ q Queue }

func (s *sink) Send(netip.AddrPort, [][]byte, int) error { return nil }
func (s *sink) Delay(at mono.Time, dest netip.AddrPort, parts [][]byte, flip int) (*Item, uint32) {
	return s.q.Add(at, dest, parts, 0, flip)
}
func (s *sink) Reschedule(it *Item, gen uint32, at mono.Time) { s.q.Reschedule(it, gen, at) }

func BenchmarkSend(b *testing.B) {
	for _, f := range []Faults{{}, {Loss: 0.05}, {Loss: 0.05, Dup: 0.02, Reorder: 0.05, Corrupt: 0.02}} {
		b.Run(fmt.Sprint(f), func(b *testing.B) {
			var l Link
			l.Init(1, 1, 1, nil)
			l.Set(f)
			out := &sink{q: Queue{Max: 1 << 20}}
			parts := [][]byte{make([]byte, 1472)}
			for b.Loop() {
				l.Send(1, out, netip.AddrPort{}, parts, 0)
				for it := out.q.Due(1); it != nil; it = out.q.Due(1) {
					out.q.Recycle(it)
				}
			}
		})
	}
}
