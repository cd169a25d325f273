package telemetry

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"gofabric/internal/fabricd"
)

func TestMain(m *testing.M) {
	os.Setenv(fabricd.EnvDir, "off")
	goleak.VerifyTestMain(m)
}

// source is a domain of a test.
type source struct {
	// held is not a mutex because the time of a bubble stops while a goroutine waits for a mutex (testing/synctest).
	held    chan struct{} // closed when the domain's lock is free; nil: it is always free
	observe func(o *Observation)
}

func (s *source) Title() (string, string) { return "test", "lo" }
func (s *source) Observe(o *Observation) {
	if s.held != nil {
		<-s.held
	}
	if s.observe != nil {
		s.observe(o)
	}
}

// forget makes the process count from zero, independent of earlier tests.
func forget() {
	process.looking.Lock()
	defer process.looking.Unlock()
	process.mu.Lock()
	defer process.mu.Unlock()
	clear(process.gone)
	clear(process.stalled)
}

// TestWatch: an operation whose token does not change for too long is a stall since it was first seen, and is counted
// once. An operation that changes or ends is none.
func TestWatch(t *testing.T) { synctest.Test(t, testWatch) }

func testWatch(t *testing.T) {
	forget()
	t.Setenv(EnvWatchdog, "50")
	token := uint64(1)
	s := &source{observe: func(o *Observation) {
		o.Watch(Key{Owner: 1, What: "x"}, token, func() Stall { return Stall{What: "send"} })
	}}
	e := Register(s, false)
	defer e.Close()
	before := Collect()
	if len(before.Stalls) != 0 {
		t.Fatalf("stalls at first sight: %+v", before.Stalls)
	}
	time.Sleep(60 * time.Millisecond)
	for range 2 {
		p := Collect()
		if len(p.Stalls) != 1 || p.Stalls[0].What != "send" || time.Since(p.Stalls[0].Since) < 60*time.Millisecond ||
			p.Stalled["send"] != 1 {
			t.Fatalf("after a while: %+v, %v", p.Stalls, p.Stalled)
		}
	}
	token++
	if p := Collect(); len(p.Stalls) != 0 {
		t.Errorf("after a change: %+v", p.Stalls)
	}
	time.Sleep(60 * time.Millisecond)
	if p := Collect(); len(p.Stalls) != 1 || p.Stalled["send"] != 2 {
		t.Errorf("again: %+v, %v", p.Stalls, p.Stalled)
	}
	t.Setenv(EnvWatchdog, "0")
	if p := Collect(); len(p.Stalls) != 0 {
		t.Errorf("switched off: %+v", p.Stalls)
	}
}

// TestBusy: a domain whose lock is not free keeps its last figures, and becomes a stall itself.
func TestBusy(t *testing.T) { synctest.Test(t, testBusy) }

func testBusy(t *testing.T) {
	forget()
	t.Setenv(EnvWatchdog, "20")
	s := &source{observe: func(o *Observation) {
		o.Add(Endpoint{ID: "1", Provider: "test", Address: "127.0.0.1:1",
			Counters: Counts{"operations.send": 5, "posted_receives": 2}})
	}}
	e := Register(s, false)
	Collect()
	s.held = make(chan struct{})
	Collect()
	time.Sleep(25 * time.Millisecond)
	p := Collect()
	if len(p.Stalls) != 1 || p.Stalls[0].What != "lock" || p.Stalls[0].Provider != "test" || p.Stalled["lock"] == 0 {
		t.Errorf("stalls: %+v", p.Stalls)
	}
	if len(p.Totals) != 1 || p.Totals[0].Counters["operations.send"] != 5 || len(p.Endpoints) != 1 {
		t.Errorf("totals: %+v", p.Totals)
	}
	close(s.held)
	if p := Collect(); len(p.Stalls) != 0 || p.Stalled["lock"] != 1 {
		t.Errorf("with the lock back: %+v, %v", p.Stalls, p.Stalled)
	}
	e.Close()
	Gone("test", Counts{"operations.send": 7, "posted_receives": 2}, nil)
	if p := Collect(); len(p.Endpoints) != 0 || len(p.Totals) != 1 || p.Totals[0].Counters["operations.send"] != 7 ||
		p.Totals[0].Counters["posted_receives"] != 0 {
		t.Errorf("of closed endpoints: %+v", p.Totals)
	}
}

// TestHistogram: a duration is counted in the bucket with its bounds. Durations beyond all buckets are counted in the
// first or the last one.
func TestHistogram(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 300, time.Microsecond, 17 * time.Microsecond, time.Millisecond, time.Second,
		59 * time.Second, time.Hour} {
		var l Latency
		l.Observe(d)
		h := l.Histogram()
		if len(h.Buckets) != 1 || h.Count != 1 {
			t.Fatalf("%v: %+v", d, h)
		}
		for i := range h.Buckets {
			s := max(d, 1).Seconds()
			if i < FirstBucket || i > LastBucket || i > FirstBucket && s <= Upper(i-1) || i < LastBucket &&
				s > Upper(i) {
				t.Errorf("%v is in bucket %d, up to %v s", d, i, Upper(i))
			}
		}
	}
	var a, b Latency
	a.Observe(time.Second)
	b.Observe(time.Second)
	sum := a.Histogram()
	sum.Add(b.Histogram())
	if sum.Count != 2 || sum.Sum != 2 || sum.Buckets[0] != 2 {
		t.Errorf("the sum: %+v", sum)
	}
}

// TestClip: texts for other users have no control characters and a bounded length.
func TestClip(t *testing.T) {
	for in, want := range map[string]string{"ofi bench": "ofi bench", "a\nb\x00": "a?b?", "\xff": "?",
		"\u00e9t\u00e9": "\u00e9t\u00e9"} {
		if got := Clip(in); got != want {
			t.Errorf("Clip(%q) = %q, want %q", in, got, want)
		}
	}
	if n := len(Clip(strings.Repeat("x", 10000))); n != MaxText {
		t.Errorf("%d bytes are left", n)
	}
}

// TestMetricOf: a name stands for an entry of the table, and no other name is accepted.
func TestMetricOf(t *testing.T) {
	for name, label := range map[string]string{"operations.send": "send", "lost": ""} {
		if m, l := MetricOf(name); m == nil || l != label {
			t.Errorf("MetricOf(%q) = %v, %q", name, m, l)
		}
	}
	for _, name := range []string{"", "operations", "lost.x", "nonsense", "nonsense.x"} {
		if m, _ := MetricOf(name); m != nil {
			t.Errorf("MetricOf(%q) = %v", name, m)
		}
	}
}
