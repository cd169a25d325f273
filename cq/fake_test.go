package cq

import (
	"context"
	"errors"
	"sync"
	"testing"

	"gofabric/core"
	"gofabric/test/wait"
)

// fake is an engine that does what the test tells it to do.
type fake struct {
	mu                      sync.Mutex
	passes, flushes         int
	entered, left           int
	onPass, onFlush, onWait func() // locked
}

func (f *fake) Lock()   { f.mu.Lock() }
func (f *fake) Unlock() { f.mu.Unlock() }
func (f *fake) Pass() {
	f.passes++
	if f.onPass != nil {
		f.onPass()
	}
}
func (f *fake) FlushStaged() {
	f.flushes++
	if f.onFlush != nil {
		f.onFlush()
	}
}
func (f *fake) EnterWait() {
	f.entered++
	if f.onWait != nil {
		f.onWait()
	}
}
func (f *fake) LeaveWait() {
	f.left++
	if f.left > f.entered {
		panic("LeaveWait without EnterWait")
	}
}

// do runs fn with the lock held.
func (f *fake) do(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn()
}

// asleep waits until n sleepers are in the engine.
func (f *fake) asleep(t *testing.T, n int) {
	t.Helper()
	eventually(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.entered-f.left == n
	})
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	wait.Until(t, "the condition of the test", ok)
}

func newQueue(t *testing.T, attr core.CQAttr) (*Queue, *fake) {
	t.Helper()
	f := &fake{}
	q, err := New(attr, nil, f)
	if err != nil {
		t.Fatal(err)
	}
	return q, f
}

func push(q *Queue, ctx int) {
	q.Push(&core.CQEntry{Ctx: core.OpContext(ctx), Buf: []byte("x")}, core.FIAddr(ctx))
}

func timeout(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Limit)
	t.Cleanup(cancel)
	return ctx
}

func wantErr(t *testing.T, got error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(got, w) {
			t.Fatalf("error %v, want %v", got, w)
		}
	}
}
