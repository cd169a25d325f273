package progress

import (
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"gofabric/internal/mono"
	"gofabric/internal/netx"
)

// TestTakesOver leaves an engine alone after a pass: its goroutine does the work.
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

// TestTakesOverUnasked never passes.
func TestTakesOverUnasked(t *testing.T) {
	e := newEngine(t, true)
	p := newProbe(t, e, true)
	p.write(1)
	p.wait("fresh engine")
}

// TestGivesWay passes again and again: no matter when the goroutine has its ticks, after a pass the poller is the caller's, and everything is received
// once.
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

// TestWaiter takes over at once for somebody who waits, in both modes, and passes of others meanwhile do not end that.
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
				t.Fatal("not armed though somebody waits")
			}
			e.Unlock()
			p.write(1)
			p.wait("waiting")
			e.Lock()
			e.LeaveWait()
			e.Pass()
			if e.armed {
				t.Fatal("armed though nobody waits")
			}
			e.Unlock()
		}
	}
}

// TestManual makes no progress by itself; a timer, which does fire, proves that there was the time for it.
func TestManual(t *testing.T) {
	e := newEngine(t, false)
	p := newProbe(t, e, true)
	fired := make(chan int, 1)
	for range 2 { // before and after somebody has waited
		p.write(1)
		e.Lock()
		e.After(mono.Now().Add(20*time.Millisecond), func(mono.Time) { fired <- p.bytes })
		before := p.bytes
		e.Unlock()
		select {
		case n := <-fired:
			if n != before {
				t.Fatalf("%d bytes received by a manual engine that nobody drives", n-before)
			}
		case <-time.After(bound):
			t.Fatal("the timer does not fire")
		}
		e.Lock()
		e.EnterWait()
		e.Unlock()
		p.wait("somebody waits")
		e.Lock()
		e.LeaveWait()
		e.Unlock()
	}
}

// TestListenerBesideStream has the events of listeners served promptly though streams are read directly.
func TestListenerBesideStream(t *testing.T) {
	e := newEngine(t, false)
	newProbe(t, e, true)
	l := newProbe(t, e, false)
	e.Lock()
	e.EnterWait()
	before := e.Passes()
	e.Unlock()
	l.write(1)
	l.wait("listener beside a stream")
	e.Lock()
	defer e.Unlock()
	if n := e.Passes() - before; n > 4 {
		t.Errorf("the listener was served in pass %d after it became ready", n)
	}
	e.LeaveWait()
	before = e.Passes()
	l.write(1)
	for l.bytes < 2 {
		e.Pass()
	}
	if n := e.Passes() - before; n > sweepEvery {
		t.Errorf("callers needed %d passes, want at most %d", n, sweepEvery)
	}
}

// TestDeadlines has deadlines come in every state.
func TestDeadlines(t *testing.T) {
	const in = 3 * time.Millisecond
	tests := []struct {
		name  string
		auto  bool
		setup func(e *Engine)
		drive bool // the caller passes all the time
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
			if len(e.timers) != 0 {
				t.Errorf("%d timers left", len(e.timers))
			}
		})
	}
}

// TestDeadlineBehindStage sets a deadline while the timer serves staged bytes, and the other way round: both come.
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
			stage(t, e, f)
			p.h.SetDeadline(mono.Now().Add(time.Hour)) // does not put off the flush
			if i%2 == 0 {
				spin(stageDelay + 20*time.Microsecond) // the timer has fired and the goroutine waits for the lock
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
		stage(t, e, newFlusher())
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

// TestStage has staged bytes flushed by whatever comes first.
func TestStage(t *testing.T) {
	ways := []struct {
		name string
		auto bool
		do   func(e *Engine)
	}{
		{"pass", true, func(e *Engine) { e.Pass() }},
		{"flush", true, func(e *Engine) { e.FlushStaged() }},
		{"wait", false, func(e *Engine) { e.EnterWait(); e.LeaveWait() }},
		{"timer", true, nil},
		{"timer of a polled engine", true, nil},
		{"timer of a manual engine", false, nil},
	}
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			e := newEngine(t, w.auto)
			f := newFlusher()
			e.Lock()
			if w.name == "timer of a polled engine" {
				e.Pass()
			}
			stage(t, e, f)
			if w.do != nil {
				w.do(e)
				if f.n != 1 {
					t.Errorf("%d flushes, want 1", f.n)
				}
			}
			e.Unlock()
			select {
			case <-f.done:
			case <-time.After(bound):
				t.Fatal("never flushed")
			}
			e.Lock()
			defer e.Unlock()
			if f.n != 1 || len(e.staged) != 0 {
				t.Errorf("%d flushes, %d staged; want 1 and 0", f.n, len(e.staged))
			}
			if by := e.FlushedByTimer(); w.do == nil && by != 1 && !w.auto {
				t.Errorf("%d flushes by the timer, want 1", by)
			}
		})
	}
}

// TestUnstage removes flushers, also from within a flush.
func TestUnstage(t *testing.T) {
	e := newEngine(t, false)
	e.Lock()
	defer e.Unlock()
	a, b, c, d := newFlusher(), newFlusher(), newFlusher(), newFlusher()
	stage(t, e, a)
	for _, f := range []*flusher{b, c, d} {
		e.Stage(f)
	}
	e.Unstage(b)
	e.Unstage(b)
	a.doing = func() { e.Unstage(c); e.Unstage(a) }
	e.FlushStaged()
	if a.n != 1 || b.n != 0 || c.n != 0 || d.n != 1 {
		t.Errorf("flushes %d %d %d %d, want 1 0 0 1", a.n, b.n, c.n, d.n)
	}
}

// TestStaleEvents removes, in the handling of an event, the source of another event of the same batch, and gives its place to a newcomer.
func TestStaleEvents(t *testing.T) {
	for _, reuse := range []bool{false, true} {
		e := newEngine(t, false)
		var ps []*probe
		for range 6 {
			ps = append(ps, newProbe(t, e, true))
		}
		fresh := &probe{t: t, e: e, got: make(chan int, 64), expired: make(chan mono.Time, 1)}
		served := 0
		for i, p := range ps {
			p.onReady = func() {
				served++
				for j, q := range ps {
					if j != i {
						q.remove()
					}
				}
				if !reuse {
					return
				}
				fresh.fd, fresh.far = pair(t)
				var err error
				if fresh.h, err = e.Register(fresh.fd, fresh, true, netx.In); err != nil {
					t.Fatal(err)
				}
			}
			p.write(1)
		}
		e.Lock()
		e.Pass()
		if served != 1 {
			t.Errorf("%d sources served, want 1: the first removed the others", served)
		}
		if fresh.ready+fresh.polls > 0 {
			t.Error("the newcomer got an event of the one before it")
		}
		if reuse {
			fresh.write(1)
			for range 2 * sweepEvery {
				e.Pass()
			}
			if fresh.bytes != 1 {
				t.Errorf("the newcomer received %d bytes, want 1", fresh.bytes)
			}
			fresh.remove()
			netx.Close(fresh.far)
		}
		e.Unlock()
	}
}

// TestHangUp reports a hang-up to who waits for nothing but edges once, and not in every pass: it cannot be read away.
func TestHangUp(t *testing.T) {
	if !netx.EdgeTriggered {
		t.Skip("there are no edges on this system")
	}
	e := newEngine(t, false)
	p := newProbe(t, e, false)
	e.Lock()
	defer e.Unlock()
	p.keep = true
	if err := p.h.Want(netx.Edge); err != nil {
		t.Fatal(err)
	}
	netx.Close(p.far)
	p.far = netx.NoFD
	for range 20 {
		e.Pass()
	}
	if p.ready > 1 {
		t.Errorf("the hang-up was reported %d times", p.ready)
	}
	if err := p.h.Want(netx.In); err != nil {
		t.Fatal(err)
	}
	before := p.ready
	e.Pass()
	if p.ready == before {
		t.Error("the hang-up is not reported to who wants to know again")
	}
}

// TestMany has a few hundred sources come, speak and go in any order.
func TestMany(t *testing.T) {
	e := newEngine(t, true)
	r := rand.New(rand.NewPCG(1, 2))
	var ps []*probe
	for round := range 6 {
		for len(ps) < 300 {
			ps = append(ps, newProbe(t, e, len(ps)%4 != 0))
		}
		for _, p := range ps {
			p.write(1)
			if round%2 == 1 {
				e.Lock()
				e.Pass()
				e.Unlock()
			}
		}
		for _, p := range ps {
			p.wait("one of many")
		}
		r.Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
		for _, p := range ps[:200] {
			p.close()
		}
		ps = ps[200:]
		e.Lock()
		for i, h := range e.streams {
			if h.stream != i {
				t.Fatalf("stream %d thinks it is %d", i, h.stream)
			}
		}
		if live := len(e.slots) - len(e.free); live != len(ps) {
			t.Fatalf("%d sources registered, want %d", live, len(ps))
		}
		e.Unlock()
	}
	if len(e.slots) > 300 {
		t.Errorf("%d slots for 300 sources at a time", len(e.slots))
	}
}

// TestRemoveTwice is harmless, also with the place taken by somebody else.
func TestRemoveTwice(t *testing.T) {
	e := newEngine(t, false)
	p := newProbe(t, e, true)
	h := p.h
	p.close()
	q := newProbe(t, e, true)
	e.Lock()
	h.Remove()
	e.Unlock()
	q.write(1)
	e.Lock()
	defer e.Unlock()
	e.Pass()
	if q.bytes != 1 {
		t.Error("the second Remove removed somebody else")
	}
}

// TestRegisterFails gives the place back when the poller refuses.
func TestRegisterFails(t *testing.T) {
	e := newEngine(t, false)
	e.Lock()
	defer e.Unlock()
	for range 3 {
		if _, err := e.Register(netx.NoFD, timerFunc{}, true, netx.In); err == nil {
			t.Fatal("a bad descriptor was registered")
		}
	}
	if len(e.slots) != 1 || len(e.free) != 1 || len(e.streams) != 0 {
		t.Errorf("%d slots, %d free, %d streams; want 1, 1, 0", len(e.slots), len(e.free), len(e.streams))
	}
}

// TestClose ends the goroutine (see TestMain) and makes later calls harmless.
func TestClose(t *testing.T) {
	for _, auto := range []bool{true, false} {
		for _, waiting := range []bool{true, false} {
			e, err := New(auto)
			if err != nil {
				t.Fatal(err)
			}
			e.Lock()
			if waiting {
				e.EnterWait()
			}
			e.Unlock()
			if err := e.Close(); err != nil {
				t.Fatalf("Close: %v", err)
			}
			if err := e.Close(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("second Close: %v", err)
			}
			e.Lock()
			e.Pass()
			e.FlushStaged()
			if e.Stage(newFlusher()) {
				t.Error("a closed engine stages")
			}
			e.EnterWait()
			e.LeaveWait()
			if waiting {
				e.LeaveWait()
			}
			e.After(mono.Now(), func(mono.Time) { t.Error("a closed engine has timers") }).Remove()
			if _, err := e.Register(0, timerFunc{}, true, netx.In); err == nil {
				t.Error("a closed engine registers")
			}
			e.Wake()
			e.Unlock()
		}
	}
}

// TestRace uses everything from several goroutines, for the race detector.
func TestRace(t *testing.T) {
	e := newEngine(t, true)
	ps := []*probe{newProbe(t, e, true), newProbe(t, e, true), newProbe(t, e, false)}
	done := make(chan struct{})
	for i, p := range ps {
		go func() {
			defer func() { done <- struct{}{} }()
			f := newFlusher()
			for k := range 300 {
				p.write(1)
				e.Lock()
				switch (k + i) % 5 {
				case 0:
					e.Pass()
				case 1:
					e.EnterWait()
					e.Unlock()
					<-p.got
					e.Lock()
					e.LeaveWait()
				case 2:
					if e.Stage(f) {
						e.Unstage(f)
					}
				case 3:
					p.h.SetDeadline(mono.Now().Add(time.Duration(k) * time.Microsecond))
				case 4:
					e.FlushStaged()
					p.h.SetDeadline(0)
				}
				e.Unlock()
				for len(p.expired) > 0 {
					<-p.expired
				}
			}
		}()
	}
	for range ps {
		<-done
	}
}

// TestAllocs has passes, stages and deadlines allocate nothing.
func TestAllocs(t *testing.T) {
	if !netx.EdgeTriggered {
		t.Skip("the portable poller allocates")
	}
	for _, n := range []int{1, 10} {
		e := newEngine(t, false)
		var ps []*probe
		for range n {
			ps = append(ps, newProbe(t, e, true))
		}
		f := newFlusher()
		e.Lock()
		at := mono.Now().Add(time.Hour)
		ps[0].h.SetDeadline(at)
		allocs := testing.AllocsPerRun(200, func() {
			ps[0].write(1)
			e.Stage(f)
			e.Pass()
			e.EnterWait()
			e.LeaveWait()
			ps[0].h.SetDeadline(at)
		})
		e.Unlock()
		if allocs != 0 {
			t.Errorf("%d streams: %v allocations per pass", n, allocs)
		}
	}
}
