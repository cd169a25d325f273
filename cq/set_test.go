package cq

import (
	"context"
	"errors"
	"testing"
	"time"

	"gofabric/core"
)

func TestWaitSet(t *testing.T) {
	for _, obj := range []core.WaitObj{core.WaitUnspec, core.WaitFD, core.WaitYield} {
		set, err := NewWaitSet(core.WaitAttr{WaitObj: obj})
		if err != nil {
			t.Fatal(err)
		}
		f := &fake{}
		q, err := New(core.CQAttr{WaitObj: core.WaitSetObj}, set, f)
		if err != nil {
			t.Fatal(err)
		}
		c, err := NewCounter(core.CntrAttr{WaitObj: core.WaitSetObj}, set, f)
		if err != nil {
			t.Fatal(err)
		}
		eq, err := NewEventQueue(core.EQAttr{WaitObj: core.WaitSetObj}, set)
		if err != nil {
			t.Fatal(err)
		}
		g := &fake{}
		eq.AddProgress(g)
		_, err = q.SRead(timeout(t), make([]core.CQEntry, 1), nil)
		wantErr(t, err, core.ErrNoSys)
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		wantErr(t, set.Wait(ctx), core.ErrTimedOut, context.DeadlineExceeded)
		cancel()
		for what, event := range map[string]func(){
			"cq":       func() { f.do(func() { push(q, 1) }) },
			"cq error": func() { f.do(func() { q.PushErr(&core.CQErrEntry{Err: core.ErrIO}) }) },
			"counter":  func() { f.do(func() { c.Complete(1) }) },
			"eq":       func() { g.do(func() { eq.Push(core.EQEvent{}) }) },
		} {
			done := make(chan error, 2)
			for range 2 {
				go func() { done <- set.Wait(timeout(t)) }()
			}
			if obj != core.WaitYield {
				f.asleep(t, 4)
				g.asleep(t, 2)
			}
			event()
			if what == "counter" { // one waiter gets the change; the others continue to wait
				<-done
				c.Change(core.CounterAdd, 1)
			} else if err := <-done; err != nil {
				t.Fatal(what, err)
			}
			if err := <-done; err != nil {
				t.Fatal(what, err)
			}
			var e [1]core.CQEntry
			q.Read(e[:], nil)
			q.ReadErr(&core.CQErrEntry{})
			eq.Read(nil, 0)
		}
		wantErr(t, set.Close(), core.ErrBusy)
		if obj == core.WaitFD {
			setFD(t, set, q, c, eq, f)
		}
		for _, o := range []core.Object{q, c, eq, set} {
			if err := o.Close(); err != nil {
				t.Fatal(err)
			}
		}
		wantErr(t, set.Wait(timeout(t)), core.ErrBadF)
		if f.entered != f.left || g.entered != g.left {
			t.Fatal(f.entered, f.left, g.entered, g.left)
		}
	}
	for _, attr := range []core.WaitAttr{{}, {WaitObj: core.WaitFD, Flags: 1}, {WaitObj: core.WaitSetObj}} {
		if _, err := NewWaitSet(attr); !errors.Is(err, core.ErrInval) {
			t.Errorf("%+v: %v", attr, err)
		}
	}
}

func setFD(t *testing.T, set *WaitSet, q *Queue, c *Counter, eq *EventQueue, f *fake) {
	fd, err := set.WaitFD()
	if err != nil {
		t.Fatal(err)
	}
	if fd2, _ := q.WaitFD(); fd2 != fd {
		t.Fatal("a member has another descriptor")
	}
	for TryWait(set) == core.ErrAgain {
	}
	if readable(fd) {
		t.Fatal("readable too early")
	}
	f.do(func() { push(q, 1) })
	if !readable(fd) {
		t.Fatal("not readable")
	}
	wantErr(t, TryWait(set), core.ErrAgain)
	q.Read(make([]core.CQEntry, 1), nil)
	if TryWait(eq, q, c) != nil || readable(fd) {
		t.Fatal("not ready to sleep")
	}
	f.do(func() { c.Complete(1) })
	if !readable(fd) {
		t.Fatal("not readable")
	}
	c.Value()
	q.Read(nil, nil)
	eq.Read(nil, 0)
}

func TestTryWaitAllOrNone(t *testing.T) {
	q, f := newQueue(t, core.CQAttr{WaitObj: core.WaitFD})
	q2, g := newQueue(t, core.CQAttr{WaitObj: core.WaitFD})
	g.do(func() { push(q2, 1) })
	wantErr(t, TryWait(q, q2), core.ErrAgain)
	if f.entered != 1 || f.left != 1 {
		t.Fatal("the first stays armed although the second has an entry")
	}
	wantErr(t, TryWait(&object{}), core.ErrInval)
}

func TestPollSet(t *testing.T) {
	s, err := NewPollSet(core.PollAttr{})
	if err != nil {
		t.Fatal(err)
	}
	q, f := newQueue(t, core.CQAttr{})
	c, _ := newCounter(t, core.CntrAttr{})
	wantErr(t, s.Add(newEQ(t, core.EQAttr{}), &core.EventQueue{}), core.ErrInval)
	wantErr(t, s.Add(&object{}, &object{}), core.ErrInval)
	theQueue, theCounter := &core.CompletionQueue{}, &core.Counter{} // the application's objects
	for _, err := range []error{s.Add(q, theQueue), s.Add(c, theCounter), s.Add(q, theQueue)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	ready := make([]core.Object, 4)
	poll := func(room int, want ...core.Object) {
		t.Helper()
		n, err := s.Poll(ready[:room])
		if err != nil || n != len(want) {
			t.Fatal(n, err)
		}
		for i, o := range want {
			if ready[i] != o {
				t.Fatal(i, ready[i])
			}
		}
	}
	poll(4)
	if f.passes != 1 {
		t.Fatal("no progress")
	}
	f.do(func() { push(q, 1) })
	c.Change(core.CounterAdd, 1)
	poll(1, theQueue)
	poll(4, theQueue, theCounter) // the counter's change was not lost although there was no room
	poll(4, theQueue)
	q.Read(make([]core.CQEntry, 1), nil)
	c.Change(core.CounterAddErr, 1)
	poll(4, theCounter)
	q.Close()
	if _, err := s.Poll(ready); err != core.ErrBadF {
		t.Fatal(err)
	}
	if err := s.Del(q); err != nil {
		t.Fatal(err)
	}
	poll(4)
	wantErr(t, s.Close(), core.ErrBusy)
	c.Change(core.CounterAdd, 1)
	poll(4, theCounter) // the refused close has changed nothing
	c.Close()
	if err := s.Close(); err != nil {
		t.Fatal("without an open member:", err)
	}
	_, err = s.Poll(ready)
	wantErr(t, err, core.ErrBadF)
	wantErr(t, s.Add(c, theCounter), core.ErrBadF)
	_, err = NewPollSet(core.PollAttr{Flags: 1})
	wantErr(t, err, core.ErrInval)
}
