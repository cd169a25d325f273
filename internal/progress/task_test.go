package progress

import (
	"testing"
	"testing/synctest"
	"time"

	"gofabric/internal/mono"
)

// task counts its runs and calls its function.
type task struct {
	runs int
	do   func()
}

func (k *task) Run() {
	k.runs++
	if k.do != nil {
		k.do()
	}
}

// TestRunOnUnlock: a task runs as the lock is released, and so do those that it asks for. A task of RunAfterPass runs after the
// next pass.
func TestRunOnUnlock(t *testing.T) {
	for _, auto := range []bool{true, false} {
		e := NewVirtual(auto)
		last := &task{}
		first := &task{do: func() { e.RunOnUnlock(last) }}
		e.Lock()
		e.RunOnUnlock(first)
		if first.runs != 0 {
			t.Errorf("auto %v: ran at once", auto)
		}
		e.Unlock()
		e.Lock()
		if first.runs != 1 || last.runs != 1 {
			t.Errorf("auto %v: %d and %d runs, want one each", auto, first.runs, last.runs)
		}
		e.Unlock()
		e.Close()
	}
}

// TestRunAfterPass: a task that waits for room runs once after each pass, and not again and again.
func TestRunAfterPass(t *testing.T) {
	e := NewVirtual(false)
	defer e.Close()
	k := &task{}
	k.do = func() {
		if k.runs < 4 {
			e.RunAfterPass(k)
		}
	}
	e.Lock()
	e.RunOnUnlock(k)
	e.Unlock()
	for want := 1; want < 6; want++ {
		e.Lock()
		if k.runs != min(want, 4) {
			t.Errorf("%d runs, want %d", k.runs, min(want, 4))
		}
		e.Unlock()
		e.Lock()
		runs := k.runs
		e.Unlock() // no pass, so no run
		if runs != min(want, 4) {
			t.Errorf("%d runs without a pass, want %d", runs, min(want, 4))
		}
		e.Lock()
		e.Pass()
		e.Unlock()
	}
}

// TestRunAfterPassAlone: with automatic progress the goroutine runs a waiting task when an event may have made room,
// although no caller makes passes.
func TestRunAfterPassAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewVirtual(true)
		defer e.Close()
		ran := make(chan struct{}, 100)
		k := &task{do: func() { ran <- struct{}{} }}
		e.Lock()
		e.RunAfterPass(k)
		e.After(mono.Now().Add(time.Second), func(mono.Time) {})
		e.Unlock()
		<-ran
	})
}

// TestTaskAllocates checks that tasks allocate nothing.
func TestTaskAllocates(t *testing.T) {
	e := NewVirtual(false)
	defer e.Close()
	k := &task{}
	if n := testing.AllocsPerRun(100, func() {
		e.Lock()
		e.RunOnUnlock(k)
		e.Unlock()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
