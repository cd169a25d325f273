package progress

import (
	"testing"
	"testing/synctest"
	"time"

	"gofabric/internal/mono"
	"gofabric/internal/netx"
)

// marked is a source without a descriptor that counts its calls.
type marked struct {
	h     *Handle
	ready chan struct{}
	at    chan mono.Time
}

func newMarked(e *Engine) *marked {
	m := &marked{ready: make(chan struct{}, 100), at: make(chan mono.Time, 100)}
	e.Lock()
	m.h = e.RegisterVirtual(m)
	e.Unlock()
	return m
}

func (m *marked) Ready(in, out bool) {
	if in && !out {
		m.ready <- struct{}{}
	}
}
func (m *marked) Poll()                 {}
func (m *marked) Expired(now mono.Time) { m.at <- now }
func (m *marked) Lost(error)            {}

// TestVirtualClock: with a bubble's clock no deadline fires early or late.
func TestVirtualClock(t *testing.T) {
	for _, auto := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			e := NewVirtual(auto)
			defer e.Close()
			began, wall := mono.Now(), time.Now()
			if began <= 0 {
				t.Fatalf("the clock is at %d", began)
			}
			m := newMarked(e)
			e.Lock()
			m.h.SetDeadline(began.Add(time.Hour))
			gone := e.Timer(func(mono.Time) { t.Error("a removed timer fired") })
			gone.SetDeadline(began.Add(time.Minute))
			gone.Remove()
			e.Unlock()
			at := <-m.at
			if at.Sub(began) != time.Hour || time.Since(wall) != time.Hour {
				t.Errorf("auto %v: after %v, by the bubble's clock %v", auto, at.Sub(began), time.Since(wall))
			}
		})
	}
}

// TestNotify: a marked source is served once, by the next pass or, without passes, by the goroutine. With manual
// progress only a pass serves it.
func TestNotify(t *testing.T) {
	tests := []struct {
		name  string
		auto  bool
		setup func(e *Engine)
		want  int
		after func(e *Engine)
	}{
		{name: "armed", auto: true, want: 1},
		{name: "polled, then away", auto: true, setup: func(e *Engine) { e.Pass() }, want: 1},
		{name: "manual, away", want: 0, after: func(e *Engine) { e.Pass() }},
		{name: "manual, waiting", setup: func(e *Engine) { e.EnterWait() }, want: 1},
		{name: "manual, after waiting", setup: func(e *Engine) { e.EnterWait(); e.LeaveWait() }, want: 0,
			after: func(e *Engine) { e.EnterWait() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := NewVirtual(tt.auto)
				defer e.Close()
				m := newMarked(e)
				e.Lock()
				if tt.setup != nil {
					tt.setup(e)
				}
				m.h.Notify() // with the lock held, as a port of the same domain does
				e.Unlock()
				m.h.Notify()
				time.Sleep(2 * tickMax)
				synctest.Wait()
				got := len(m.ready)
				if got < tt.want || got > 2*tt.want {
					t.Errorf("Ready was called %d times, want %d", got, tt.want)
				}
				if tt.after != nil {
					e.Lock()
					tt.after(e)
					e.Unlock()
					synctest.Wait()
					if len(m.ready) != got+1 {
						t.Errorf("Ready was called %d times in the end", len(m.ready))
					}
				}
				e.Lock()
				m.h.Notify()
				m.h.Remove()
				e.Pass()
				e.Unlock()
				n := len(m.ready)
				m.h.Notify()
				time.Sleep(2 * tickMax)
				if len(m.ready) != n {
					t.Error("a removed source was called")
				}
				e.Lock()
				defer e.Unlock()
				if _, err := e.Register(0, m, true, netx.In); err == nil {
					t.Error("an Engine without descriptors registers one")
				}
			})
		})
	}
}

// TestNotifyEach: engines whose sources mark each other under their locks, with and without passes, lose no mark
// and do not deadlock.
func TestNotifyEach(t *testing.T) {
	const rounds = 2000
	a, b := NewVirtual(true), NewVirtual(true)
	done := make(chan struct{})
	var pa, pb *ponger
	a.Lock()
	pa = &ponger{left: rounds, done: done}
	pa.h = a.RegisterVirtual(pa)
	a.Unlock()
	b.Lock()
	pb = &ponger{left: rounds, done: done, other: pa.h}
	pb.h = b.RegisterVirtual(pb)
	b.Unlock()
	a.Lock()
	pa.other = pb.h
	a.Unlock()
	pa.h.Notify()
	end := time.After(bound)
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-end:
			t.Fatal("a mark was lost")
		default:
			a.Lock()
			a.Pass()
			a.Unlock()
		}
	}
	a.Close()
	b.Close()
}

type ponger struct {
	marked
	h, other *Handle
	left     int
	done     chan struct{}
}

func (p *ponger) Ready(bool, bool) {
	if p.left--; p.left == 0 {
		close(p.done)
		return
	}
	p.other.Notify()
}

// TestNotifyAllocs checks that marks allocate nothing.
func TestNotifyAllocs(t *testing.T) {
	e := NewVirtual(false)
	defer e.Close()
	m := newMarked(e)
	if n := testing.AllocsPerRun(200, func() {
		m.h.Notify()
		e.Lock()
		e.Pass()
		m.h.SetDeadline(mono.Now().Add(time.Hour))
		e.Unlock()
		<-m.ready
	}); n != 0 {
		t.Errorf("%v allocations per mark", n)
	}
}
