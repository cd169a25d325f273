// This file checks that callers' passes yield the processor while Crowd counts waiting operations, and at no other
// time.

package progress

import "testing"

func TestCrowd(t *testing.T) {
	e := NewVirtual(false)
	defer e.Close()
	pass := func() bool {
		e.Lock()
		e.Pass()
		yields := e.errand.Load()&errandYield != 0
		e.Unlock()
		if e.errand.Load() != 0 {
			t.Error("an errand is left")
		}
		return yields
	}
	change := func(n int) {
		e.Lock()
		e.Crowd(n)
		e.Unlock()
	}
	for i, step := range []struct {
		n    int
		want bool
	}{{0, false}, {2, true}, {-1, true}, {-1, false}} {
		if change(step.n); pass() != step.want {
			t.Errorf("step %d: a pass yields: %v, want %v", i, !step.want, step.want)
		}
	}
	e.Lock()
	e.Crowd(1)
	e.Pass()
	e.Crowd(-1) // the operation has ended in the meantime
	e.Unlock()
}
