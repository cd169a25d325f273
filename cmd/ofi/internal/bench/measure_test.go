package bench

import (
	"testing"
	"time"
)

// TestBusierNow measures on a machine that has become slower. The estimate from before must not make the
// measurement many times as long.
func TestBusierNow(t *testing.T) {
	test := Test{Kind: Latency, Size: 64}
	s, err := openSession(t.Context(), testProviders, peerThat("obey"), tcpStacks[1], 1, test.needs())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	const d, before = 8 * time.Millisecond, 50 * time.Nanosecond // two processors need longer to exchange a cache line
	s.perIter[test] = before
	got, err := s.measure(t.Context(), test, d)
	if err != nil {
		t.Fatal(err)
	}
	if most := int(d/before) / 2; got.Iters > most || got.Usec <= 0 {
		t.Errorf("%+v, want at most %d round trips", got, most)
	}
	if s.perIter[test] <= before {
		t.Errorf("the next measurement expects round trips of %v", s.perIter[test])
	}
}

// TestWork: the timed part begins when Go's monitor thread runs rarely, and at the latest after the time that the
// measurement takes.
func TestWork(t *testing.T) {
	for _, c := range []struct {
		window       int
		per, d       time.Duration
		iters, first int
	}{
		{0, 4 * time.Microsecond, 50 * time.Millisecond, 12500, 5000},
		{0, 4 * time.Microsecond, time.Second, 250000, 12500}, // a twentieth of all
		{0, 4 * time.Microsecond, 2 * time.Millisecond, 500, 500},
		{64, time.Microsecond, 50 * time.Millisecond, 49984, 19968}, // whole windows
		{64, time.Second, 50 * time.Millisecond, 64, 64},
	} {
		test := Test{Kind: Rate, Window: c.window}
		if got, want := test.work(c.per, c.d), (Work{Test: test, Warmup: c.first, Iters: c.iters}); got != want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}
