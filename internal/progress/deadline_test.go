package progress

// This file tests timers.

import (
	"testing"
	"time"

	"gofabric/internal/batch"
	"gofabric/internal/mono"
)

// TestDeadlines checks that deadlines expire in every state.
func TestDeadlines(t *testing.T) {
	const in = 3 * time.Millisecond
	tests := []struct {
		name  string
		auto  bool
		setup func(e *Engine)
		drive bool // the caller makes passes all the time
	}{
		{name: "armed", auto: true},
		{name: "polled, then away", auto: true, setup: func(e *Engine) { e.Pass() }},
		{name: "polled", auto: true, drive: true},
		{name: "manual, away"},
		{name: "manual, driven", drive: true},
		{name: "manual, waiting", setup: func(e *Engine) { e.EnterWait() }},
		{name: "manual, after waiting", setup: func(e *Engine) { e.EnterWait(); e.LeaveWait() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := newEngine(t, tt.auto)
			p := newProbe(t, e, true)
			after := make(chan mono.Time, 1)
			e.Lock()
			if tt.setup != nil {
				tt.setup(e)
			}
			at := mono.Now().Add(in)
			p.h.SetDeadline(at.Add(time.Hour))
			p.h.SetDeadline(at)
			e.After(at.Add(in), func(now mono.Time) { after <- now })
			gone := e.After(at, func(mono.Time) { t.Error("a removed timer fired") })
			gone.Remove()
			e.Unlock()
			for _, ch := range []chan mono.Time{p.expired, after} {
				end := time.Now().Add(bound)
				for done := false; !done; {
					var pause <-chan time.Time
					if tt.drive {
						e.Lock()
						e.Pass()
						e.Unlock()
						pause = time.After(0)
					} else {
						pause = time.After(bound)
					}
					select {
					case now := <-ch:
						if now < at {
							t.Errorf("%v too early", at.Sub(now))
						}
						done = true
					case <-pause:
						if time.Now().After(end) {
							t.Fatal("the deadline does not fire")
						}
					}
				}
			}
			e.Lock()
			defer e.Unlock()
			if e.timers.Len() != 0 {
				t.Errorf("%d timers left", e.timers.Len())
			}
		})
	}
}

// TestDeadlineBehindStage sets a deadline while the timer serves staged bytes, and the other way round. Both must
// be served.
func TestDeadlineBehindStage(t *testing.T) {
	for _, auto := range []bool{true, false} {
		e := newEngine(t, auto)
		p := newProbe(t, e, true)
		for i := range 200 {
			f := newFlusher()
			e.Lock()
			if i%3 == 0 {
				e.Pass()
			}
			f.wait(e)
			p.h.SetDeadline(mono.Now().Add(time.Hour)) // does not put off the flush
			if i%2 == 0 {
				spin(batch.Delay + 20*time.Microsecond) // the timer has fired and the goroutine waits for the lock
				p.h.SetDeadline(mono.Now().Add(time.Minute))
			}
			e.Unlock()
			select {
			case <-f.done:
			case <-time.After(bound):
				t.Fatalf("auto %v, round %d: staged bytes were forgotten", auto, i)
			}
		}
		e.Lock()
		p.h.SetDeadline(mono.Now().Add(5 * time.Millisecond))
		newFlusher().wait(e)
		e.Unlock()
		select {
		case <-p.expired:
		case <-time.After(bound):
			t.Fatalf("auto %v: the deadline was forgotten", auto)
		}
	}
}

func spin(d time.Duration) {
	for end := mono.Now().Add(d); mono.Now() < end; {
	}
}

// TestDeadlineAfterData has a deadline and data come at the same time, while no caller makes passes. The source
// must receive the data first: it may be the answer for which the deadline was set.
func TestDeadlineAfterData(t *testing.T) {
	e := newEngine(t, true)
	p := newProbe(t, e, true)
	before := make(chan int, 1)
	for i := range 20 {
		e.Lock()
		at := mono.Now().Add(time.Millisecond)
		e.After(at, func(mono.Time) { before <- p.bytes })
		e.armDeadline(mono.Now())
		time.Sleep(2 * time.Millisecond) // the goroutine leaves its work to the holder of the lock
		p.write(1)
		e.Unlock()
		select {
		case n := <-before:
			if n != i+1 {
				t.Fatalf("%d bytes were read when the deadline came, want %d", n, i+1)
			}
		case <-time.After(bound):
			t.Fatal("the deadline does not come")
		}
	}
}
