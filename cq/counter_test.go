package cq

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"gofabric/core"
)

func newCounter(t *testing.T, attr core.CntrAttr) (*Counter, *fake) {
	t.Helper()
	f := &fake{}
	c, err := NewCounter(attr, nil, f)
	if err != nil {
		t.Fatal(err)
	}
	return c, f
}

func TestCounterCounts(t *testing.T) {
	for _, bytes := range []bool{false, true} {
		attr := core.CntrAttr{}
		want := uint64(1 + 5)
		if bytes {
			attr.Events, want = core.CntrEventsBytes, 100+7
		}
		c, f := newCounter(t, attr)
		f.do(func() { c.Complete(100); c.Inc(5); c.AddBytes(7); c.IncErr() })
		if c.Value() != want || c.ErrValue() != 1 || f.passes != 2 {
			t.Error(c.Value(), c.ErrValue(), f.passes)
		}
		c.Change(core.CounterAdd, 10)
		c.Change(core.CounterAddErr, 2)
		if c.Value() != want+10 || c.ErrValue() != 3 {
			t.Error(c.Value(), c.ErrValue())
		}
		c.Change(core.CounterSet, 1)
		c.Change(core.CounterSetErr, 0)
		if c.Value() != 1 || c.ErrValue() != 0 {
			t.Error(c.Value(), c.ErrValue())
		}
		c.Ref()
		wantErr(t, c.Close(), core.ErrBusy)
		c.Unref()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		wantErr(t, c.Change(core.CounterAdd, 1), core.ErrBadF)
	}
	for _, attr := range []core.CntrAttr{{Events: 7}, {Flags: 1 << 11}, {WaitObj: core.WaitMutexCond},
		{WaitObj: core.WaitSetObj}} {
		if _, err := NewCounter(attr, nil, &fake{}); !errors.Is(err, core.ErrInval) {
			t.Errorf("%+v: %v", attr, err)
		}
	}
}

func TestCounterWait(t *testing.T) {
	c, _ := newCounter(t, core.CntrAttr{})
	wantErr(t, c.Wait(timeout(t), 1), core.ErrNoSys)
	for _, obj := range []core.WaitObj{core.WaitUnspec, core.WaitYield, core.WaitFD} {
		c, f := newCounter(t, core.CntrAttr{WaitObj: obj})
		if err := c.Wait(timeout(t), 0); err != nil {
			t.Fatal("reached already:", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		wantErr(t, c.Wait(ctx, 1), core.ErrTimedOut, context.DeadlineExceeded)
		cancel()

		wait := func(threshold uint64) chan error {
			before := f.passes
			done := make(chan error, 1)
			go func() { done <- c.Wait(timeout(t), threshold) }()
			if obj == core.WaitYield {
				eventually(t, func() bool { f.Lock(); defer f.Unlock(); return f.passes > before+3 })
			} else {
				f.asleep(t, 1)
			}
			return done
		}
		done := wait(3)
		f.do(func() { c.Complete(1); c.Complete(1); c.Complete(1) })
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		done = wait(4)
		f.do(func() { c.IncErr() })
		wantErr(t, <-done, core.ErrAvail)
		done = wait(100)
		c.Change(core.CounterSet, 100)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		done = wait(101)
		c.Close()
		wantErr(t, <-done, core.ErrBadF)
		if f.entered != f.left {
			t.Fatal(f.entered, f.left)
		}
	}
}

// TestCounterWaitThresholds: several sleepers have different thresholds, and EnterWait may complete an operation.
func TestCounterWaitThresholds(t *testing.T) {
	c, f := newCounter(t, core.CntrAttr{WaitObj: core.WaitUnspec})
	const n = 8
	done := make(chan int, n)
	for i := 1; i <= n; i++ {
		go func() {
			if err := c.Wait(timeout(t), uint64(10*i)); err != nil {
				t.Error(err)
			}
			done <- i
		}()
	}
	for i := 1; i <= n; i++ {
		f.asleep(t, n-i+1)
		f.do(func() { c.Inc(10) })
		if got := <-done; got != i {
			t.Fatal("woke", got, "want", i)
		}
	}
	f.onWait = func() { c.Complete(0) }
	if err := c.Wait(timeout(t), 10*n+1); err != nil {
		t.Fatal(err)
	}
}

func TestCounterFD(t *testing.T) {
	c, f := newCounter(t, core.CntrAttr{WaitObj: core.WaitFD})
	fd, err := c.WaitFD()
	if err != nil {
		t.Fatal(err)
	}
	c.Change(core.CounterAdd, 1)
	wantErr(t, TryWait(c), core.ErrAgain)
	if TryWait(c) != nil || readable(fd) {
		t.Fatal("not ready to sleep")
	}
	f.do(func() { c.Complete(1) })
	if !readable(fd) {
		t.Fatal("not readable")
	}
	if c.Value() != 2 || f.entered != f.left {
		t.Fatal(c.Value(), f.entered, f.left)
	}
	c.Close()
	_, err = c.WaitFD()
	wantErr(t, err, core.ErrBadF)
}

// watcher records the counts that it receives. Each time it asks for a call after two more successes, up to last.
type watcher struct {
	seen [][2]uint64
	last uint64
}

func (w *watcher) Reached(val, errs uint64) uint64 {
	w.seen = append(w.seen, [2]uint64{val, errs})
	if val >= w.last {
		return Never
	}
	return val + 2
}

// TestWatch: a watcher is called at the counts that it asked for, and after failures and changes. That allocates
// nothing.
func TestWatch(t *testing.T) {
	c, f := newCounter(t, core.CntrAttr{})
	w := &watcher{last: 10}
	f.do(func() {
		c.Watch(w)
		c.Complete(1)
		c.Complete(1)
		c.Inc(1)
		c.IncErr()
		c.Put(9, false)
		c.Put(1, true)
		c.Complete(1)
	})
	c.Change(core.CounterSet, 3)
	want := [][2]uint64{{0, 0}, {2, 0}, {3, 1}, {9, 1}, {10, 1}, {3, 1}}
	if !slices.Equal(w.seen, want) {
		t.Errorf("%v, want %v", w.seen, want)
	}
	quiet := &silent{}
	f.do(func() { c.Watch(quiet) })
	if n := testing.AllocsPerRun(100, func() { c.Complete(1) }); n != 0 || quiet.calls < 50 {
		t.Errorf("%v allocations, %d calls", n, quiet.calls)
	}
}

// silent asks for a call after every success.
type silent struct{ calls int }

func (s *silent) Reached(val, _ uint64) uint64 { s.calls++; return val + 1 }
