package cq

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"gofabric/core"
)

type object struct{ core.Object }

func newEQ(t *testing.T, attr core.EQAttr) *EventQueue {
	t.Helper()
	eq, err := NewEventQueue(attr, nil)
	if err != nil {
		t.Fatal(err)
	}
	return eq
}

func TestEQReads(t *testing.T) {
	eq := newEQ(t, core.EQAttr{})
	f := &fake{}
	eq.AddProgress(f)
	var ev core.EQEvent
	var x core.EQErrEntry
	wantErr(t, eq.Read(&ev, 0), core.ErrAgain)
	if f.passes != 1 {
		t.Fatal("no pass")
	}
	wantErr(t, eq.ReadErr(&x, 0), core.ErrAgain)
	eq.Push(core.EQEvent{Type: core.EventConnected, Data: 1})
	eq.PushErr(core.EQErrEntry{Err: core.ErrConnRefused, ErrData: []byte("no")})
	eq.Push(core.EQEvent{Type: core.EventShutdown, Data: 2})
	for _, flags := range []core.EQFlags{core.EQPeek, 0} {
		wantErr(t, eq.ReadErr(&x, 0), core.ErrAgain)
		if err := eq.Read(&ev, flags); err != nil || ev.Data != 1 {
			t.Fatal(err, ev)
		}
	}
	for _, flags := range []core.EQFlags{core.EQPeek, 0} {
		wantErr(t, eq.Read(&ev, flags), core.ErrAvail)
		if err := eq.ReadErr(&x, flags); err != nil || x.Err != core.ErrConnRefused || string(x.ErrData) != "no" {
			t.Fatal(err, x)
		}
	}
	if err := eq.Read(nil, core.EQPeek); err != nil {
		t.Fatal(err)
	}
	if err := eq.Read(&ev, 0); err != nil || ev.Data != 2 || eq.Len() != 0 {
		t.Fatal(err, ev)
	}
	eq.AddProgress(f)
	eq.DelProgress(f)
	eq.DelProgress(&fake{})
	eq.Read(&ev, 0)
	before := f.passes
	eq.DelProgress(f)
	eq.Read(&ev, 0)
	if before != 2 || f.passes != before {
		t.Fatal(before, f.passes)
	}
	eq.Ref()
	wantErr(t, eq.Close(), core.ErrBusy)
	eq.Unref()
	if err := eq.Close(); err != nil {
		t.Fatal(err)
	}
	eq.Push(core.EQEvent{})
	wantErr(t, eq.Read(&ev, 0), core.ErrBadF)
	for _, attr := range []core.EQAttr{{Flags: 1 << 11}, {WaitObj: core.WaitSetObj}, {WaitObj: 99}} {
		if _, err := NewEventQueue(attr, nil); !errors.Is(err, core.ErrInval) {
			t.Errorf("%+v: %v", attr, err)
		}
	}
}

func TestEQWrite(t *testing.T) {
	wantErr(t, newEQ(t, core.EQAttr{}).Write(core.EQEvent{}, 0), core.ErrInval)
	eq := newEQ(t, core.EQAttr{Flags: core.EQWrite})
	wantErr(t, eq.Write(core.EQEvent{}, core.EQPeek), core.ErrBadFlags)
	if err := eq.Write(core.EQEvent{Context: "mine"}, 0); err != nil {
		t.Fatal(err)
	}
	var ev core.EQEvent
	if err := eq.Read(&ev, 0); err != nil || ev.Context != "mine" {
		t.Fatal(err, ev)
	}
}

func TestEQPurge(t *testing.T) {
	eq := newEQ(t, core.EQAttr{})
	a, b := &object{}, &object{}
	eq.Push(core.EQEvent{Object: a})
	eq.Push(core.EQEvent{Object: b, Data: 1})
	eq.PushErr(core.EQErrEntry{Object: a})
	eq.Push(core.EQEvent{Object: b, Data: 2, Info: &core.Info{Handle: a}})
	eq.Push(core.EQEvent{Object: b, Data: 3, Info: &core.Info{Handle: []int{}}})
	eq.PurgeObject(a)
	var ev core.EQEvent
	for _, want := range []uint64{1, 3} {
		if err := eq.Read(&ev, 0); err != nil || ev.Data != want {
			t.Fatal(err, ev)
		}
	}
	wantErr(t, eq.Read(&ev, 0), core.ErrAgain)
}

func TestEQSRead(t *testing.T) {
	wantErr(t, newEQ(t, core.EQAttr{}).SRead(timeout(t), nil, 0), core.ErrNoSys)
	var ev core.EQEvent
	for _, obj := range []core.WaitObj{core.WaitUnspec, core.WaitFD, core.WaitYield, core.WaitMutexCond} {
		eq := newEQ(t, core.EQAttr{WaitObj: obj})
		f, g := &fake{}, &fake{}
		eq.AddProgress(f)
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		wantErr(t, eq.SRead(ctx, &ev, 0), core.ErrAgain, context.DeadlineExceeded)
		cancel()
		go func() {
			if obj != core.WaitYield {
				f.asleep(t, 1)
				eq.AddProgress(g) // the sleeper enters this engine, too
				g.asleep(t, 1)
				eq.DelProgress(f) // and leaves that one
				f.asleep(t, 0)
			}
			g.do(func() { eq.Push(core.EQEvent{Data: 5}) })
		}()
		if err := eq.SRead(timeout(t), &ev, 0); err != nil || ev.Data != 5 {
			t.Fatal(err, ev)
		}
		f.onWait = func() { eq.Push(core.EQEvent{Data: 6}) }
		g.onWait = f.onWait
		g.onPass = func() { // a yielding reader does not sleep
			if obj == core.WaitYield {
				f.onWait()
			}
		}
		eq.AddProgress(g)
		if err := eq.SRead(timeout(t), &ev, 0); err != nil || ev.Data != 6 {
			t.Fatal(err, ev)
		}
		for eq.Read(&ev, 0) == nil && obj != core.WaitYield {
		}
		f.onWait, g.onWait, g.onPass = nil, nil, nil
		done := make(chan error)
		go func() { done <- eq.SRead(context.Background(), &ev, core.EQPeek) }()
		if obj != core.WaitYield {
			g.asleep(t, 1)
		}
		eq.Close()
		if err := <-done; err != nil {
			wantErr(t, err, core.ErrBadF)
		}
		if f.entered != f.left || g.entered != g.left {
			t.Fatal(f.entered, f.left, g.entered, g.left)
		}
	}
}

func TestEQWaitFD(t *testing.T) {
	eq := newEQ(t, core.EQAttr{WaitObj: core.WaitFD, Flags: core.EQWrite})
	f := &fake{}
	eq.AddProgress(f)
	fd, err := eq.WaitFD()
	if err != nil {
		t.Fatal(err)
	}
	eq.Write(core.EQEvent{}, 0)
	wantErr(t, TryWait(eq), core.ErrAgain)
	eq.Read(nil, 0)
	for range 2 {
		if TryWait(eq) != nil || readable(fd) || f.entered-f.left != 1 {
			t.Fatal("not ready to sleep", f.entered, f.left)
		}
	}
	eq.Write(core.EQEvent{}, 0)
	if !readable(fd) {
		t.Fatal("not readable")
	}
	eq.Read(nil, 0)
	if f.entered != f.left {
		t.Fatal(f.entered, f.left)
	}
}

func TestEQConcurrent(t *testing.T) {
	eq := newEQ(t, core.EQAttr{WaitObj: core.WaitUnspec})
	engines := []*fake{{}, {}, {}}
	var producers, consumers sync.WaitGroup
	const each = 500
	for _, f := range engines {
		eq.AddProgress(f)
		producers.Go(func() {
			for range each {
				f.do(func() { eq.Push(core.EQEvent{}) })
				g := &fake{}
				eq.AddProgress(g)
				eq.DelProgress(g)
			}
		})
	}
	var mu sync.Mutex
	got := 0
	for range 3 {
		consumers.Go(func() {
			var ev core.EQEvent
			for eq.SRead(timeout(t), &ev, 0) == nil {
				mu.Lock()
				if got++; got == 3*each {
					eq.Close()
				}
				mu.Unlock()
			}
		})
	}
	producers.Wait()
	consumers.Wait()
	if got != 3*each {
		t.Fatal(got)
	}
	for _, f := range engines {
		if f.entered != f.left {
			t.Fatal(f.entered, f.left)
		}
	}
}
