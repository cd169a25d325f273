package progress

import (
	"testing"
	"time"
)

// fakeInlet counts the Engine's calls.
type fakeInlet struct {
	shut  bool
	taken int
}

func (f *fakeInlet) Take()        { f.taken++ }
func (f *fakeInlet) Shut(on bool) { f.shut = on }

// TestInlet: an inlet is open only while callers make passes and no reader sleeps. Each pass empties it, and so
// does shutting it.
func TestInlet(t *testing.T) {
	for _, auto := range []bool{true, false} {
		e := newEngine(t, auto)
		e.Lock()
		f := &fakeInlet{shut: !auto}
		e.AddInlet(f)
		steps := []struct {
			name  string
			do    func()
			shut  bool
			taken int
		}{
			{"added", func() {}, auto, 0},
			{"pass", e.Pass, false, 1},
			{"wait", e.EnterWait, true, 1},
			{"pass while a reader sleeps", e.Pass, true, 1},
			{"end of the wait, pass", func() { e.LeaveWait(); e.Pass() }, false, 1},
			{"settle", e.Settle, false, 1},
			{"pass again", e.Pass, false, 1},
			{"dropped", func() { e.DropInlet(f); e.EnterWait(); e.LeaveWait(); e.Pass() }, false, 0},
		}
		for _, s := range steps {
			f.taken = 0
			s.do()
			if f.shut != s.shut || f.taken != s.taken {
				t.Errorf("auto %v, %s: shut %v, taken %d times; want %v and %d", auto, s.name, f.shut, f.taken,
					s.shut, s.taken)
			}
		}
		e.Unlock()
	}
}

// TestInletAway: the engine empties and shuts the inlet when the application has stopped making passes.
func TestInletAway(t *testing.T) {
	e := newEngine(t, true)
	in := &awayInlet{shut: make(chan struct{}, 1)}
	e.Lock()
	e.AddInlet(in)
	e.Pass()
	in.armed = true
	e.Unlock()
	select {
	case <-in.shut:
	case <-time.After(bound):
		t.Fatal("the inlet was never shut")
	}
}

// awayInlet reports when it was shut and then emptied.
type awayInlet struct {
	armed, on bool
	shut      chan struct{}
}

func (a *awayInlet) Shut(on bool) { a.on = on }
func (a *awayInlet) Take() {
	if a.armed && a.on {
		select {
		case a.shut <- struct{}{}:
		default:
		}
	}
}
