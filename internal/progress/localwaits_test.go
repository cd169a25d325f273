// This file checks that callers' passes yield the processor while AddLocalWaits counts waiting operations, and at no other
// time.

package progress

import "testing"

func TestLocalWaits(t *testing.T) {
	e := NewVirtual(false)
	defer e.Close()
	pass := func() bool {
		e.Lock()
		e.Pass()
		yields := e.pending.Load()&pendingYield != 0
		e.Unlock()
		if e.pending.Load() != 0 {
			t.Error("work is left")
		}
		return yields
	}
	change := func(n int) {
		e.Lock()
		e.AddLocalWaits(n)
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
	e.AddLocalWaits(1)
	e.Pass()
	e.AddLocalWaits(-1) // the operation has ended in the meantime
	e.Unlock()
}
