package link

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"
	"time"

	"gofabric/internal/mono"
)

// wire is an Out that records the frames that arrive.
type wire struct {
	got   []*Frame
	freed int
	full  bool
}

func (w *wire) Deliver(f *Frame) { w.got = append(w.got, f) }
func (w *wire) Free(*Frame)      { w.freed++ }
func (w *wire) Copy(f *Frame) *Frame {
	if w.full {
		return nil
	}
	twin := *f
	twin.B = slices.Clone(f.B)
	return &twin
}

// sorted returns the frames in the order of their arrival.
func (w *wire) sorted() []*Frame {
	slices.SortStableFunc(w.got, func(a, b *Frame) int { return cmp.Compare(a.At, b.At) })
	return w.got
}

// frame makes frame number i of size bytes, all zero but destination and number.
func frame(i, size int) *Frame {
	b := make([]byte, size)
	b[0] = 2
	binary.BigEndian.PutUint32(b[6:], uint32(i))
	return &Frame{B: b}
}

func number(f *Frame) int { return int(binary.BigEndian.Uint32(f.B[6:])) }

// run sends n frames of 1000 bytes, gap apart.
func run(seed uint64, f Faults, n int, gap time.Duration) (*wire, Stats) {
	l, w := New(seed, 1), &wire{}
	l.Set(f)
	now := mono.Time(1)
	for i := range n {
		if l.Deadline() <= now {
			l.Advance(now, w)
		}
		l.Send(now, frame(i, 1000), false, w)
		now = now.Add(gap)
	}
	l.Advance(mono.Never, w)
	return w, l.Stats(mono.Never)
}

// TestFaults: each fault happens as often as requested, within 5 %, and no other fault happens.
func TestFaults(t *testing.T) {
	const n = 200_000
	for _, c := range []struct {
		name string
		f    Faults
		want Stats
	}{
		{"none", Faults{}, Stats{}},
		{"all lost", Faults{Loss: 1}, Stats{Lost: n}},
		{"loss", Faults{Loss: 0.05}, Stats{Lost: n / 20}},
		{"small loss", Faults{Loss: 0.01}, Stats{Lost: n / 100}},
		{"dup", Faults{Dup: 0.1}, Stats{Duplicated: n / 10}},
		{"reorder", Faults{Reorder: 0.1}, Stats{Reordered: n / 10}},
		{"corrupt", Faults{Corrupt: 0.1}, Stats{Corrupted: n / 10}},
		// The link is in the bad state for a quarter of the time: 1/(1+3). Bursts have ten frames.
		{"burst", Faults{Burst: Burst{Enter: 0.1 / 3, Leave: 0.1, Loss: 1}}, Stats{Lost: n / 4}},
		{"mild burst", Faults{Burst: Burst{Enter: 0.1, Leave: 0.1, Loss: 0.5}, Loss: 0.1}, Stats{Lost: n * 3 / 10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, got := run(3, c.f, n, 10*time.Microsecond)
			c.want.Frames, c.want.Bytes = n, n*1000
			for _, v := range []struct {
				what      string
				got, want uint64
			}{
				{"frames", got.Frames, c.want.Frames}, {"bytes", got.Bytes, c.want.Bytes}, {"lost", got.Lost, c.want.Lost}, {"duplicated", got.Duplicated, c.want.Duplicated},
				{"reordered", got.Reordered, c.want.Reordered}, {"corrupted", got.Corrupted, c.want.Corrupted}, {"dropped", got.Dropped, 0}, {"cut", got.Cut, 0},
			} {
				if math.Abs(float64(v.got)-float64(v.want)) > 0.05*float64(v.want) {
					t.Errorf("%s: %d, want about %d", v.what, v.got, v.want)
				}
			}
			if arrived := n - got.Lost + got.Duplicated; uint64(len(w.got)) != arrived || uint64(w.freed) != got.Lost {
				t.Errorf("%d frames arrived and %d were freed, %+v", len(w.got), w.freed, got)
			}
			flipped := 0
			for _, f := range w.got {
				for _, b := range f.B[header:] {
					flipped += bits.OnesCount8(b)
				}
			}
			if uint64(flipped) != got.Corrupted {
				t.Errorf("%d bits are wrong of %d corrupted frames", flipped, got.Corrupted)
			}
		})
	}
}

// TestBursts: losses come in bursts of the requested length.
func TestBursts(t *testing.T) {
	const n = 200_000
	w, s := run(9, Faults{Burst: Burst{Enter: 0.01, Leave: 0.1, Loss: 1}}, n, time.Microsecond)
	runs, last := 0, -1
	for _, f := range w.got {
		if number(f) != last+1 {
			runs++
		}
		last = number(f)
	}
	if mean := float64(s.Lost) / float64(runs); mean < 9.5 || mean > 10.5 {
		t.Errorf("bursts of %.2f frames, want 10", mean)
	}
}

// TestSeed: the same seed gives the same result, and another seed another one. A change of settings, a further
// fault, or a frame to a group does not change what happens to the other frames.
func TestSeed(t *testing.T) {
	fates := func(seed uint64, faults Faults, change func(l *Link, w *wire, i int)) map[int]bool {
		l, w := New(seed, 1), &wire{}
		l.Set(faults)
		for i := range 3000 {
			if change != nil {
				change(l, w, i)
			}
			l.Send(1, frame(i, 100), false, w)
		}
		fate := map[int]bool{}
		for _, f := range w.got {
			if i := number(f); i >= 2000 && i < 3000 {
				fate[i] = true
			}
		}
		return fate
	}
	same := func(a, b map[int]bool) bool { return fmt.Sprint(a) == fmt.Sprint(b) }
	lossy, bursts := Faults{Loss: 0.3}, Faults{Burst: Burst{Enter: 0.05, Leave: 0.2, Loss: 1}}
	want := fates(5, lossy, nil)
	if len(want) < 600 || !same(want, fates(5, lossy, nil)) {
		t.Error("the same seed gives another result")
	}
	if same(want, fates(6, lossy, nil)) {
		t.Error("another seed gives the same result")
	}
	groups := func(l *Link, w *wire, i int) {
		f := frame(9999, 100)
		f.B[0] = 0x33
		l.Send(1, f, false, w)
	}
	for name, change := range map[string]func(l *Link, w *wire, i int){
		"perfect for a while": func(l *Link, _ *wire, i int) { l.Set(Faults{Loss: map[bool]float64{true: 0.3}[i > 1000]}) },
		"another fault":       func(l *Link, _ *wire, i int) { l.Set(Faults{Loss: 0.3, Corrupt: 0.5}) },
		"groups":              groups,
	} {
		if !same(want, fates(5, lossy, change)) {
			t.Errorf("%s: the lost frames are different ones", name)
		}
	}
	if want := fates(5, bursts, nil); len(want) < 600 || !same(want, fates(5, bursts, groups)) {
		t.Error("groups: the frames that bursts lose are different ones")
	}
}

// TestIndependent: the fate of a frame has no effect on the frames behind it.
func TestIndependent(t *testing.T) {
	const n = 50000
	w, _ := run(2, Faults{Loss: 0.3, Dup: 0.3, Corrupt: 0.3}, n, time.Microsecond)
	came, twice, flipped := make([]bool, n+8), make([]bool, n+8), make([]bool, n+8)
	for _, f := range w.got {
		i := number(f)
		came[i], twice[i] = true, came[i]
		for _, b := range f.B[header:] {
			flipped[i] = flipped[i] || b != 0
		}
	}
	for ahead := 1; ahead < 8; ahead++ {
		for what, event := range map[string][]bool{"doubled": twice, "damaged": flipped, "delivered": came} {
			all, lost := 0, 0
			for i := range n - ahead {
				if event[i] {
					all++
					if !came[i+ahead] {
						lost++
					}
				}
			}
			if p := float64(lost) / float64(all); p < 0.28 || p > 0.32 {
				t.Errorf("%d frames behind a frame that is %s, a fraction of %.3f is lost", ahead, what, p)
			}
		}
	}
}

// TestDelay: frames have the requested delay, and an even distribution with jitter.
func TestDelay(t *testing.T) {
	l, w := New(1, 1), &wire{}
	l.Set(Faults{Delay: 5 * time.Millisecond, Jitter: 2 * time.Millisecond})
	const n = 20000
	sum := time.Duration(0)
	for i := range n {
		l.Send(1000, frame(i, 64), false, w)
		late := w.got[i].At.Sub(1000)
		if late < 5*time.Millisecond || late > 7*time.Millisecond {
			t.Fatalf("%v late", late)
		}
		sum += late
	}
	if mean := sum / n; mean < 5980*time.Microsecond || mean > 6020*time.Microsecond {
		t.Errorf("%v late on average, want 6ms", mean)
	}
}

// TestReorder: one to three frames overtake a frame, also on a slow line with delay, and no frame waits for ever.
func TestReorder(t *testing.T) {
	for _, f := range []Faults{{Reorder: 0.1}, {Reorder: 0.1, Delay: 10 * time.Millisecond}, {Reorder: 0.1, Rate: 1e9, Delay: time.Millisecond}} {
		w, s := run(4, f, 10000, 10*time.Microsecond)
		late := map[int]int{}
		for at, f := range w.sorted() {
			if d := at - number(f); d > 0 {
				late[d]++
			}
		}
		if late[1] < 100 || late[2] < 100 || late[3] < 100 || late[7] > 0 || s.Reordered < 900 {
			t.Errorf("%+v: numbers of overtaking frames %v, for %d frames", f, late, s.Reordered)
		}
	}
	l, w := New(1, 1), &wire{}
	l.Set(Faults{Reorder: 1})
	l.Send(1, frame(0, 64), false, w)
	if len(w.got) != 0 || l.Deadline() != mono.Time(1).Add(holdMax) {
		t.Errorf("%d frames arrived, deadline %v", len(w.got), l.Deadline())
	}
	l.Advance(l.Deadline(), w)
	if len(w.got) != 1 || l.Deadline() != mono.Never {
		t.Errorf("%d frames arrived, deadline %v", len(w.got), l.Deadline())
	}
}

// TestLine checks rates, and queues that are limited by frames and by bytes.
func TestLine(t *testing.T) {
	for _, c := range []struct {
		name    string
		f       Faults
		gap     time.Duration
		dropped uint64
		last    time.Duration // when the last frame arrives
	}{
		// 1000 bytes at 80 Mbit/s take 100 us.
		{"half", Faults{Rate: 80e6}, 200 * time.Microsecond, 0, 99*200*time.Microsecond + 100*time.Microsecond},
		{"just", Faults{Rate: 80e6}, 100 * time.Microsecond, 0, 10 * time.Millisecond},
		{"twice", Faults{Rate: 80e6}, 50 * time.Microsecond, 0, 10 * time.Millisecond},
		{"at once", Faults{Rate: 80e6, Queue: 10}, 0, 90, time.Millisecond},
		{"by bytes", Faults{Rate: 80e6, QueueBytes: 5000}, 0, 95, 500 * time.Microsecond},
		{"by bytes, slowly", Faults{Rate: 80e6, QueueBytes: 12000}, 90 * time.Microsecond, 0, 10 * time.Millisecond},
		{"less than a frame", Faults{Rate: 80e6, QueueBytes: 10}, 0, 99, 100 * time.Microsecond},
	} {
		w, s := run(1, c.f, 100, c.gap)
		if s.Dropped != c.dropped || s.Queue != 0 {
			t.Errorf("%s: %+v, want %d dropped", c.name, s, c.dropped)
		}
		if last := w.got[len(w.got)-1].At.Sub(1); last != c.last {
			t.Errorf("%s: the last frame arrived after %v, want %v", c.name, last, c.last)
		}
	}
	l := New(1, 1)
	l.Set(Faults{Rate: 80e6})
	w := &wire{}
	for i := range 7 {
		l.Send(1, frame(i, 1000), false, w)
	}
	if q := l.Stats(mono.Time(1).Add(250 * time.Microsecond)).Queue; q != 5 {
		t.Errorf("%d frames wait after 250 us, want 5", q)
	}
}

// TestCut: frames are lost and counted on a link that is down or partitioned.
func TestCut(t *testing.T) {
	l, w := New(1, 1), &wire{}
	l.Send(1, frame(0, 64), true, w)
	l.SetDown(true)
	l.Send(1, frame(1, 64), false, w)
	l.SetDown(false)
	l.Send(1, frame(2, 64), false, w)
	if s := l.Stats(1); s.Cut != 2 || len(w.got) != 1 || w.freed != 2 {
		t.Errorf("%+v, %d frames arrived", s, len(w.got))
	}
}

// TestFullMemory: a frame is not duplicated if there is no room for a copy.
func TestFullMemory(t *testing.T) {
	l, w := New(1, 1), &wire{full: true}
	l.Set(Faults{Dup: 1})
	l.Send(1, frame(0, 64), false, w)
	if s := l.Stats(1); s.Duplicated != 0 || len(w.got) != 1 {
		t.Errorf("%+v, %d frames arrived", s, len(w.got))
	}
}

// TestCheck: Check refuses invalid faults.
func TestCheck(t *testing.T) {
	for _, f := range []Faults{{Loss: -0.1}, {Loss: 1.1}, {Dup: math.NaN()}, {Delay: -1}, {Jitter: time.Hour}, {Rate: -1}, {Rate: 1}, {Rate: math.Inf(1)}, {Queue: -1},
		{QueueBytes: math.MaxInt}, {ECN: -1}, {Burst: Burst{Leave: 2}}} {
		if f.Check() == nil {
			t.Errorf("%+v is accepted", f)
		}
	}
	if err := (&Faults{Loss: 1, Delay: time.Second, Rate: 1e9, ECN: 5}).Check(); err != nil {
		t.Error(err)
	}
}

// TestAllocs: a link allocates nothing, for any faults.
func TestAllocs(t *testing.T) {
	l := New(1, 1)
	l.Set(Faults{Loss: 0.1, Dup: 0.1, Reorder: 0.1, Corrupt: 0.1, Jitter: 5, Rate: 1e9, Burst: Burst{0.1, 0.1, 0.1}, ECN: 1})
	w, f, now := &sink{twin: frame(2, 1000)}, frame(1, 1000), mono.Time(1)
	send := func() {
		now += 8000
		l.Send(now, f, false, w)
	}
	for range 2000 {
		send()
	}
	if n := testing.AllocsPerRun(1000, send); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

type sink struct{ twin *Frame }

func (s *sink) Deliver(*Frame)     {}
func (s *sink) Free(*Frame)        {}
func (s *sink) Copy(*Frame) *Frame { return s.twin }

func BenchmarkSend(b *testing.B) {
	for _, f := range []Faults{{}, {Loss: 0.01}, {Loss: 0.01, Rate: 1e10, Delay: 1000}} {
		b.Run(fmt.Sprintf("loss=%v,rate=%v", f.Loss, f.Rate), func(b *testing.B) {
			l, w, fr, now := New(1, 1), &sink{}, frame(1, 1000), mono.Time(1)
			l.Set(f)
			for b.Loop() {
				now += 1000
				l.Send(now, fr, false, w)
			}
		})
	}
}

// TestRateChanges: the rate of a line changes. Waiting frames leave at the new rate and in order, and later frames
// leave behind them.
func TestRateChanges(t *testing.T) {
	const begin = mono.Time(1)
	for _, c := range []struct {
		rate float64 // after a second of 8 kbit/s, on which 1000 bytes take a second
		want []time.Duration
	}{
		{16e3, []time.Duration{1 * time.Second, 1500 * time.Millisecond, 2 * time.Second, 2500 * time.Millisecond}},
		{4e3, []time.Duration{1 * time.Second, 3 * time.Second, 5 * time.Second, 7 * time.Second}},
		{0, []time.Duration{1 * time.Second, 1 * time.Second, 1 * time.Second, 1 * time.Second}},
		{8e3, []time.Duration{1 * time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second}},
	} {
		const delay = 10 * time.Second // frames that have left the line are not affected
		l, w := New(1, 1), &wire{}
		l.Set(Faults{Rate: 8e3, Delay: delay})
		for i := range 3 {
			l.Send(begin, frame(i, 1000), false, w)
		}
		now := begin.Add(time.Second)
		if again := l.Change(now, Faults{Rate: c.rate, Delay: delay}); again != nil {
			for _, f := range w.got {
				f.Retime(again)
			}
		}
		l.Send(now, frame(3, 1000), false, w)
		for i, f := range w.sorted() {
			if got := f.At.Sub(begin) - delay; number(f) != i || got != c.want[i] {
				t.Errorf("rate %v: frame %d left after %v, want %v", c.rate, number(f), got, c.want[i])
			}
		}
		if q := l.Stats(now).Queue; (c.rate == 0) != (q == 0) {
			t.Errorf("rate %v: %d frames wait", c.rate, q)
		}
	}
}
