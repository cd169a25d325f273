package progress

// Staged bytes.

import (
	"testing"
	"time"

	"gofabric/internal/mono"
)

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
		e.Stage(f, false)
	}
	e.Unstage(b)
	e.Unstage(b)
	a.doing = func() { e.Unstage(c); e.Unstage(a) }
	e.FlushStaged()
	if a.n != 1 || b.n != 0 || c.n != 0 || d.n != 1 {
		t.Errorf("flushes %d %d %d %d, want 1 0 0 1", a.n, b.n, c.n, d.n)
	}
}

// TestStageWithinFlush: what a flusher posts is staged by the layer below, and leaves with the same flush, also if posts ask for a flush, as they do when what is
// staged has waited too long. Nothing may be forgotten: its owner would never stage it again.
func TestStageWithinFlush(t *testing.T) {
	e := newEngine(t, false)
	e.Lock()
	defer e.Unlock()
	above, other, below := newFlusher(), newFlusher(), &poster{e: e}
	above.doing = func() {
		below.postUntilStaged(t)
		e.FlushStaged()
		below.postUntilStaged(t)
	}
	stage(t, e, above)
	e.Stage(other, false)
	e.FlushStaged()
	if below.g.staged || len(e.staged) != 0 {
		t.Error("what was posted within the flush was forgotten")
	}
	if above.n != 1 || other.n != 1 {
		t.Errorf("the others were flushed %d and %d times, want once", above.n, other.n)
	}
}

// poster is a layer that gathers what is posted.
type poster struct {
	e *Engine
	g Gather
}

func (p *poster) postUntilStaged(t *testing.T) {
	for range 10000 {
		if p.g.staged {
			return
		}
		p.g.Post(p.e, p, false)
	}
	t.Error("no post is ever staged")
}

func (p *poster) Flush() { p.g.Left(0) }

// An answer is flushed with the next pass, whatever the rhythm of posts.
func TestAnswer(t *testing.T) {
	e, err := New(false)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	e.Lock()
	defer e.Unlock()
	f, g := newFlusher(), &Gather{}
	g.Answer(e, f)
	g.Answer(e, f) // once is enough
	if len(e.staged) != 1 {
		t.Fatalf("%d are staged, want 1", len(e.staged))
	}
	e.Pass()
	if len(e.staged) != 0 {
		t.Error("a pass did not flush the answer")
	}
}

// TestEmptied: what the system takes for a part of a burst does not count as the application's absence, unless something else waits all the while.
func TestEmptied(t *testing.T) {
	for _, c := range []struct {
		name           string
		emptied, other bool
		late           bool
	}{
		{"sent meanwhile", true, false, false},
		{"not sent", false, false, true},
		{"another waits", true, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEngine(t, false)
			e.Lock()
			defer e.Unlock()
			f := &poster{e: e}
			f.postUntilStaged(t)
			if c.other {
				e.stageAnswer(newFlusher())
			}
			e.stagedSince = mono.Now() - mono.Time(time.Hour)
			if c.emptied {
				f.g.Emptied(e)
			}
			if anew := mono.Now().Sub(e.stagedSince) < time.Minute; anew == c.late {
				t.Errorf("the wait begins anew: %v, want %v", anew, !c.late)
			}
			e.Pass()
			if f.g.staged {
				t.Error("still staged after a pass")
			}
			if c.late && e.punctual != late {
				t.Error("the application is not thought to stay away")
			}
		})
	}
}

// TestEmptiedLate: while the application is known to stay away, only the first posts after a pause transmit at once, and what the system takes to transmit them is no pause.
func TestEmptiedLate(t *testing.T) {
	e := newEngine(t, false)
	e.Lock()
	defer e.Unlock()
	e.punctual = late
	f := &poster{e: e}
	for i := range lateBurst {
		if !f.g.Post(e, f, false) {
			t.Fatalf("post %d waits", i)
		}
		e.lastFlush = mono.Now() - mono.Time(time.Hour) // so long did it take
		f.g.Emptied(e)
	}
	for range 1000 { // a pause may come between if the machine is busy
		if !f.g.Post(e, f, false) {
			return
		}
		e.lastFlush = mono.Now() - mono.Time(time.Hour)
		f.g.Emptied(e)
	}
	t.Error("every post transmits at once")
}

// TestFlushLate: nor is a flush that takes its time a pause.
func TestFlushLate(t *testing.T) {
	e := newEngine(t, false)
	e.Lock()
	defer e.Unlock()
	for range 1000 { // a pause may come between if the machine is busy
		f := newFlusher()
		f.doing = func() { e.lastFlush = mono.Now() - mono.Time(time.Hour) } // so long does it take
		stage(t, e, f)
		e.stagedSince = mono.Now() - mono.Time(time.Hour)
		e.FlushStaged()
		posts := lateBurst
		if e.punctual != late {
			t.Fatal("the flush was in time")
		}
		if !e.SendNow(&posts) {
			return
		}
		e.punctual = 0 // or nothing would be staged
	}
	t.Error("the posts after it are the first ones after a pause")
}
