//go:build linux

package xdp

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"gofabric/internal/mono"
)

// sea is an interface in virtual time, on which large messages come at rates that depend on whether the program is on. Changes take effect at once, and time.
type sea struct {
	a       aside
	now     mono.Time
	rng     *rand.Rand
	over    mono.Time // when the change under way is over
	timer   mono.Time // when quiet is asked
	refuses error     // what attaching says
	looks   bool      // the receiver does, when nothing comes
	unrest  float64   // rates differ by so much from one unrestSpan to another
	luck    float64   // now
	since   mono.Time

	total   float64 // bytes
	changes int
	looked  int // by the timer
	offTime time.Duration
}

// Times that changes take.
const (
	detachTime = 6 * time.Millisecond
	attachTime = 16 * time.Millisecond
)

func newSea() *sea {
	return &sea{now: mono.Time(time.Second), rng: rand.New(rand.NewPCG(1, 2)), looks: true}
}

// at runs what is due until a time.
func (s *sea) at(t mono.Time) {
	for {
		next := mono.Earlier(s.over, s.timer)
		if next.IsNone() || next.After(t) {
			break
		}
		s.pass(next)
		if next == s.over {
			s.over = mono.None
			var err error
			if !s.a.off {
				err = s.refuses
			}
			s.a.done(next, err)
			if s.a.off && s.a.err == nil {
				s.timer = next.Add(s.a.every)
			}
			continue
		}
		s.timer = mono.None
		if s.a.moving || !s.a.off {
			continue
		}
		s.looked++
		order, again := s.a.watch(next)
		if order {
			s.change()
		} else {
			s.timer = next.Add(again)
		}
	}
	s.pass(t)
}

func (s *sea) pass(t mono.Time) {
	if s.a.off {
		s.offTime += t.Sub(s.now)
	}
	s.now = t
}

// change begins what was ordered.
func (s *sea) change() {
	s.changes++
	took := attachTime
	switch {
	case s.a.quick:
		took = 10 * time.Microsecond
	case s.a.off:
		took = detachTime
	}
	s.a.began(s.now)
	s.over = s.now.Add(took)
}

// unrestSpan is how long a rate stays above or below its mean, on a machine that does other things, too.
const unrestSpan = 3 * time.Millisecond

// flow has large messages come for a time, at rates in bytes a nanosecond that vary by a tenth, and so many single datagrams with each run.
func (s *sea) flow(d time.Duration, on, off float64, singles int) {
	const runs, size = 8, 64 << 10
	for end := s.now.Add(d); s.now.Before(end); {
		rate := on
		if s.a.off {
			rate = off
		}
		rate *= 0.9 + 0.2*s.rng.Float64()
		if s.unrest > 0 && (s.since.IsNone() || s.now.Sub(s.since) > unrestSpan) {
			s.since, s.luck = s.now, s.unrest*(2*s.rng.Float64()-1)
		}
		rate *= 1 + s.luck
		s.at(s.now.Add(time.Duration(runs * size / rate)))
		s.total += runs * size
		if s.a.came(s.now, runs*size, runs, runs*singles) {
			s.change()
		}
	}
}

// rest has nothing come for a time. The receiver looks, or it does not.
func (s *sea) rest(d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); {
		s.at(s.now.Add(time.Millisecond))
		if s.looks && s.a.off && !s.a.moving && s.a.ended(s.now) {
			s.change()
		}
	}
}

// TestAsideRates: whichever way is faster, what comes is nearly as much as by that way alone, in short times and long ones, and changes are few.
func TestAsideRates(t *testing.T) {
	for _, c := range []struct {
		name    string
		quick   bool
		on, off float64
		time    time.Duration
		least   float64 // of the better way's bytes
		most    int     // changes
	}{
		{"sockets are faster, 30 ms", false, 5, 5.5, 30 * time.Millisecond, 0.985, 1},
		{"sockets are faster, 3 s", false, 5, 5.5, 3 * time.Second, 0.99, 10},
		{"AF_XDP is faster, 30 ms", false, 3.9, 2.8, 30 * time.Millisecond, 0.9, 2},
		{"AF_XDP is faster, 3 s", false, 3.9, 2.8, 3 * time.Second, 0.98, 12},
		{"much faster, 3 s", false, 4, 1, 3 * time.Second, 0.97, 12},
		{"no difference, 3 s", false, 3, 3, 3 * time.Second, 0.97, 20},
		{"quick, sockets are faster, 30 ms", true, 5, 5.5, 30 * time.Millisecond, 0.98, 5},
		{"quick, sockets are faster, 3 s", true, 5, 5.5, 3 * time.Second, 0.99, 30},
		{"quick, AF_XDP is faster, 30 ms", true, 3.9, 2.8, 30 * time.Millisecond, 0.95, 4},
		{"quick, AF_XDP is faster, 3 s", true, 3.9, 2.8, 3 * time.Second, 0.99, 30},
		{"quick, no difference, 3 s", true, 3, 3, 3 * time.Second, 0.97, 60},
	} {
		s := newSea()
		s.a.quick = c.quick
		began := s.now
		s.flow(c.time, c.on, c.off, 0)
		if got := s.total / (max(c.on, c.off) * float64(s.now.Sub(began))); got < c.least || s.changes > c.most {
			t.Errorf("%s: %.3f of the better way, %d changes", c.name, got, s.changes)
		}
	}
}

// TestAsideUnrest: where rates vary by themselves by as much as the ways differ, the time is spent in the better way all the same, and a single window that says
// otherwise changes little.
func TestAsideUnrest(t *testing.T) {
	for _, c := range []struct {
		name    string
		on, off float64
		time    time.Duration
		most    float64 // of the time, in the worse way
		changes float64
	}{
		{"sockets are faster, 200 ms", 1.7, 2.2, 200 * time.Millisecond, 0.05, 6},
		{"sockets are faster, 3 s", 1.7, 2.2, 3 * time.Second, 0.006, 11},
		{"sockets are little faster, 3 s", 2.0, 2.2, 3 * time.Second, 0.029, 20},
		{"AF_XDP is faster, 3 s", 2.6, 2.2, 3 * time.Second, 0.023, 19},
	} {
		const times = 500
		worse, changes := 0.0, 0.0
		for seed := range uint64(times) {
			s := newSea()
			s.rng = rand.New(rand.NewPCG(1, seed))
			s.a.quick, s.unrest = true, 0.3
			began := s.now
			s.flow(c.time, c.on, c.off, 0)
			share := float64(s.offTime) / float64(s.now.Sub(began))
			if c.off > c.on {
				share = 1 - share
			}
			worse, changes = worse+share/times, changes+float64(s.changes)/times
		}
		if worse > c.most || changes > c.changes {
			t.Errorf("%s: %.4f of the time in the worse way, %.1f changes", c.name, worse, changes)
		}
	}
}

// TestAsideTurns: when the better way becomes the worse one, that is noticed.
func TestAsideTurns(t *testing.T) {
	s := newSea()
	s.flow(20*time.Second, 5, 5.5, 0)
	s.flow(holdMax+time.Second, 4, 3, 0)
	began, before := s.now, s.total
	s.flow(2*time.Second, 4, 3, 0)
	if got := (s.total - before) / (4 * float64(s.now.Sub(began))); got < 0.95 {
		t.Errorf("%.3f of the better way", got)
	}
}

// TestAsideLeaves: without large messages the program is on, soon: when they have ended, when they become few, and when more comes one by one.
func TestAsideLeaves(t *testing.T) {
	for name, end := range map[string]func(*sea){
		"nothing":    func(s *sea) { s.rest(asideQuiet + attachTime + time.Millisecond) },
		"few":        func(s *sea) { s.flow(30*time.Millisecond, 0.1, 0.1, 0) },
		"one by one": func(s *sea) { s.flow(30*time.Millisecond, 5, 5, 2) },
	} {
		s := newSea()
		s.flow(50*time.Millisecond, 5, 5.5, 1)
		if !s.a.off {
			t.Fatal("the program is on while large messages come faster without it")
		}
		if end(s); s.a.off || s.a.moving {
			t.Errorf("%s: off %v, moving %v", name, s.a.off, s.a.moving)
		}
		s.flow(50*time.Millisecond, 5, 5.5, 1)
		if !s.a.off {
			t.Errorf("%s: large messages that come again find the program on", name)
		}
	}
}

// TestAsideWatched: where the receiver does not look, a timer sees that large messages have ended: at once if they were short, and else soon.
func TestAsideWatched(t *testing.T) {
	for _, c := range []struct{ flow, most time.Duration }{{8 * time.Millisecond, 2 * asideQuiet}, {10 * time.Second, watchMax + asideQuiet}} {
		s := newSea()
		s.looks, s.a.quick = false, true
		s.flow(c.flow, 5, 5.5, 0)
		if !s.a.off {
			t.Fatal("the program is on while large messages come faster without it")
		}
		if s.rest(c.most); s.a.off {
			t.Errorf("%v after large messages of %v, the program is off", c.most, c.flow)
		}
	}
	s := newSea()
	s.a.quick = true
	s.flow(20*time.Second, 5, 5.5, 0)
	if s.looked > 250 {
		t.Errorf("in 20 s, %d looks whether the large messages have ended", s.looked)
	}
}

// TestAsideNever: it does not step aside for what is no flow of large messages.
func TestAsideNever(t *testing.T) {
	s := newSea()
	s.flow(time.Second, 0.2, 0.2, 0)
	s.flow(time.Second, 5, 5.5, 2)
	for range 500 {
		s.flow(asideWindow/2, 5, 5.5, 0)
		s.rest(2 * asideQuiet)
	}
	if s.changes > 0 {
		t.Errorf("%d changes", s.changes)
	}
}

// TestAsideBursts: bursts that hardly last longer than the changes take do not make it flap.
func TestAsideBursts(t *testing.T) {
	s := newSea()
	began := s.now
	for range 2000 {
		s.flow(4*time.Millisecond, 5, 5.5, 0)
		s.rest(6 * time.Millisecond)
	}
	if most := 2*(int(s.now.Sub(began)/asideEach)+asideTimes) + 20; s.changes > most {
		t.Errorf("%d changes in %v", s.changes, s.now.Sub(began))
	}
}

// TestAsideRefused: the program that cannot come back is tried again for longer than another process may need to give up, and no longer.
func TestAsideRefused(t *testing.T) {
	s := newSea()
	s.flow(50*time.Millisecond, 5, 5.5, 0)
	s.refuses = errors.New("taken")
	s.rest(busyWait)
	if !s.a.off || s.a.err != nil {
		t.Fatalf("off %v, %v", s.a.off, s.a.err)
	}
	s.refuses = nil
	s.rest(2 * busyWait)
	if s.a.off || s.a.failed != 0 {
		t.Fatal("it did not come back")
	}
	s.flow(50*time.Millisecond, 5, 5.5, 0)
	s.refuses = errors.New("taken")
	before := s.changes
	for range 100 {
		s.rest(time.Second / 2)
		s.flow(50*time.Millisecond, 5, 5.5, 0)
	}
	if s.a.err != s.refuses || !s.a.off || s.changes != before+attempts {
		t.Errorf("%v, %d attempts", s.a.err, s.changes-before)
	}
}
