package progress

// This file tests staged bytes.

import (
	"testing"
	"time"
)

// TestStage: staged bytes are flushed by the first of pass, timer and FlushStaged.
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
			f.wait(e)
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
			if f.n != 1 || e.batch.Waiting() {
				t.Errorf("%d flushes, something waits: %v; want 1, false", f.n, e.batch.Waiting())
			}
			if by := e.batch.FlushedByTimer(); w.do == nil && by != 1 && !w.auto {
				t.Errorf("%d flushes by the timer, want 1", by)
			}
		})
	}
}
