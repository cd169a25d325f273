package progress

// This file checks when the goroutine takes over from callers, and when it stops.

import (
	"testing"
	"time"

	"gofabric/internal/batch"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
)

// TestTakesOver makes one pass and then none: the goroutine serves the socket.
func TestTakesOver(t *testing.T) {
	for _, stream := range []bool{true, false} {
		e := newEngine(t, true)
		p := newProbe(t, e, stream)
		for range 3 {
			e.Lock()
			e.Pass()
			if e.armed {
				t.Fatal("still armed after a pass of a caller")
			}
			e.Unlock()
			p.write(1)
			p.wait("after a pass")
			p.write(1)
			p.wait("armed")
		}
	}
}

// TestTakesOverUnasked makes no pass at all.
func TestTakesOverUnasked(t *testing.T) {
	e := newEngine(t, true)
	p := newProbe(t, e, true)
	p.write(1)
	p.wait("fresh engine")
}

// TestGivesWay makes passes again and again. Whenever the goroutine's ticks come, the poller belongs to the caller
// after a pass, and every byte is received once.
func TestGivesWay(t *testing.T) {
	e := newEngine(t, true)
	p := newProbe(t, e, true)
	e.Lock()
	defer e.Unlock()
	for i := range 2000 {
		p.write(1)
		e.Pass()
		if e.armed {
			t.Fatal("armed after a pass")
		}
		if p.bytes != i+1 {
			t.Fatalf("%d bytes received, want %d", p.bytes, i+1)
		}
		e.Unlock()
		e.Lock()
	}
}

// TestWaiter: the goroutine takes over at once for a waiter, in both modes, and passes of other callers do not end
// that.
func TestWaiter(t *testing.T) {
	for _, auto := range []bool{true, false} {
		e := newEngine(t, auto)
		p := newProbe(t, e, true)
		for range 3 {
			e.Lock()
			e.Pass()
			e.EnterWait()
			e.Pass()
			if !e.armed {
				t.Fatal("not armed although a caller waits")
			}
			e.Unlock()
			p.write(1)
			p.wait("waiting")
			e.Lock()
			e.LeaveWait()
			e.Pass()
			if e.armed {
				t.Fatal("armed although no caller waits")
			}
			e.Unlock()
		}
	}
}

// TestManual: an Engine with manual progress does nothing by itself. A timer that fires proves that there was time
// for it.
func TestManual(t *testing.T) {
	e := newEngine(t, false)
	p := newProbe(t, e, true)
	fired := make(chan int, 1)
	for range 2 { // before and after a caller has waited
		p.write(1)
		e.Lock()
		e.After(mono.Now().Add(20*time.Millisecond), func(mono.Time) { fired <- p.bytes })
		before := p.bytes
		e.Unlock()
		select {
		case n := <-fired:
			if n != before {
				t.Fatalf("%d bytes received by a manual engine without passes", n-before)
			}
		case <-time.After(bound):
			t.Fatal("the timer does not fire")
		}
		e.Lock()
		e.EnterWait()
		e.Unlock()
		p.wait("a caller waits")
		e.Lock()
		e.LeaveWait()
		e.Unlock()
	}
}

// TestListenerBesideStream: listeners are served promptly although streams are read directly.
func TestListenerBesideStream(t *testing.T) {
	e := newEngine(t, false)
	newProbe(t, e, true)
	l := newProbe(t, e, false)
	e.Lock()
	e.EnterWait()
	before := e.batch.Passes()
	e.Unlock()
	l.write(1)
	l.wait("listener beside a stream")
	e.Lock()
	defer e.Unlock()
	if n := e.batch.Passes() - before; n > 4 {
		t.Errorf("the listener was served in pass %d after it became ready", n)
	}
	e.LeaveWait()
	before = e.batch.Passes()
	l.write(1)
	for l.bytes < 2 {
		e.Pass()
	}
	if n := e.batch.Passes() - before; n > sweepEvery {
		t.Errorf("callers needed %d passes, want at most %d", n, sweepEvery)
	}
}

// TestSlowCaller: each pass of a slow caller serves listeners, from the first pass on, and again after a fast
// phase.
func TestSlowCaller(t *testing.T) {
	e := newEngine(t, false)
	newProbe(t, e, true)
	l := newProbe(t, e, false)
	e.Lock()
	defer e.Unlock()
	check := func(when string, want bool) {
		before := l.bytes
		l.write(1)
		if e.Pass(); l.bytes > before != want {
			t.Errorf("%s: the next pass serves a listener: %v, want %v", when, !want, want)
		}
	}
	check("at first", true)
	now := mono.Now()
	e.look(now)
	e.look(now)
	check("many passes at once", false)
	e.look(now.Add(slowPasses + 1))
	check("many passes in long", true)
}

// hostAt is a host with a fixed time.
type hostAt struct {
	*host
	at mono.Time
}

func (h hostAt) Now() mono.Time { return h.at }

// TestTimerOfABurst: the timer for staged bytes does not make the goroutine take over, as an application that posts
// many messages makes no passes meanwhile. It takes over when there were no passes for a tick.
func TestTimerOfABurst(t *testing.T) {
	e := newEngine(t, true)
	e.Lock()
	defer e.Unlock()
	e.Pass()
	timer := func() {
		e.parker.SetTimer(time.Hour) // the goroutine's own timer must not fire in between
		e.timerAt = 0
		e.advance(netx.WhyTimer)
	}
	e.tickSince = mono.Now().Add(time.Hour) // far off, as this test may be preempted
	timer()
	timer()
	if e.armed {
		t.Fatal("the goroutine took over within a tick")
	}
	if left := e.timerAt.Sub(e.tickSince); left < tickMin/2 {
		t.Errorf("the next look is %v after the last pass was seen, want a tick", left)
	}
	e.batch.Init(hostAt{(*host)(e), mono.Now().Add(time.Hour)}) // posts that wait from then on have not waited yet
	newFlusher().wait(e)
	timer()
	if left := e.timerAt.Sub(mono.Now()); left > batch.Delay {
		t.Errorf("the next look is in %v although bytes are staged", left)
	}
	e.tickSince = mono.Now() - mono.Time(tickMin)
	timer()
	if !e.armed {
		t.Error("the goroutine does not take over although no passes are made")
	}
}
