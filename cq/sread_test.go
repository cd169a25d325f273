package cq

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/netx"
)

func TestSReadNeedsWaitObject(t *testing.T) {
	q, _ := newQueue(t, core.CQAttr{})
	_, err := q.SRead(timeout(t), make([]core.CQEntry, 1), nil)
	wantErr(t, err, core.ErrNoSys)
	_, err = q.WaitFD()
	wantErr(t, err, core.ErrNoData)
	wantErr(t, q.TryWait(), core.ErrInval)
	wantErr(t, q.Signal(), core.ErrNoSys)
}

func TestSReadSleepsAndWakes(t *testing.T) {
	for _, obj := range []core.WaitObj{core.WaitUnspec, core.WaitFD, core.WaitPollFD} {
		q, f := newQueue(t, core.CQAttr{WaitObj: obj})
		for i := range 20 {
			go func() {
				f.asleep(t, 1)
				f.do(func() { push(q, i) })
			}()
			var e [4]core.CQEntry
			var src [4]core.FIAddr
			if n, err := q.SRead(timeout(t), e[:], src[:]); n != 1 || err != nil || int(e[0].Ctx) != i ||
				int(src[0]) != i {
				t.Fatal(n, err, e[0])
			}
		}
		if f.entered != f.left || f.entered != 20 {
			t.Fatal("entered", f.entered, "left", f.left)
		}
		q.Close()
	}
}

func TestSReadWakesForError(t *testing.T) {
	q, f := newQueue(t, core.CQAttr{WaitObj: core.WaitUnspec})
	go func() {
		f.asleep(t, 1)
		f.do(func() { q.PushErr(&core.CQErrEntry{Err: core.ErrIO}) })
	}()
	_, err := q.SRead(timeout(t), make([]core.CQEntry, 1), nil)
	wantErr(t, err, core.ErrAvail)
}

func TestSReadSpins(t *testing.T) {
	q, f := newQueue(t, core.CQAttr{WaitObj: core.WaitUnspec})
	q.Spin = time.Hour
	f.onPass = func() {
		if f.passes == 50 {
			push(q, 1)
		}
	}
	if n, err := q.SRead(timeout(t), make([]core.CQEntry, 1), nil); n != 1 || err != nil || f.entered != 0 {
		t.Fatal(n, err, f.entered)
	}
}

// TestSReadEnterWaitCompletes: EnterWait may flush, and that may complete the operation that the reader waits for.
func TestSReadEnterWaitCompletes(t *testing.T) {
	q, f := newQueue(t, core.CQAttr{WaitObj: core.WaitUnspec})
	f.onWait = func() { push(q, 1) }
	if n, err := q.SRead(timeout(t), make([]core.CQEntry, 1), nil); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if err := q.TryWait(); err != core.ErrAgain || f.entered != f.left {
		t.Fatal(err, f.entered, f.left)
	}
}

func TestSReadContext(t *testing.T) {
	for _, obj := range []core.WaitObj{core.WaitUnspec, core.WaitYield} {
		q, f := newQueue(t, core.CQAttr{WaitObj: obj})
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		_, err := q.SRead(ctx, make([]core.CQEntry, 1), nil)
		wantErr(t, err, core.ErrAgain, context.DeadlineExceeded)
		cancel()
		why := errors.New("enough")
		ctx2, cancel2 := context.WithCancelCause(context.Background())
		cancel2(why)
		_, err = q.SRead(ctx2, make([]core.CQEntry, 1), nil)
		wantErr(t, err, core.ErrAgain, why)
		f.do(func() { push(q, 1) })
		if n, err := q.SRead(ctx2, make([]core.CQEntry, 1), nil); n != 1 || err != nil {
			t.Fatal("SRead has returned an entry although ctx has ended:", n, err)
		}
		if f.entered != f.left {
			t.Fatal("entered", f.entered, "left", f.left)
		}
	}
}

func TestSignal(t *testing.T) {
	for _, obj := range []core.WaitObj{core.WaitUnspec, core.WaitYield, core.WaitFD} {
		q, _ := newQueue(t, core.CQAttr{WaitObj: obj})
		if err := q.Signal(); err != nil { // a signal before the wait is not lost
			t.Fatal(err)
		}
		if _, err := q.SRead(timeout(t), make([]core.CQEntry, 1), nil); err != core.ErrAgain {
			t.Fatal(err)
		}
		const sleepers = 5
		done := make(chan error, sleepers)
		for range sleepers {
			go func() {
				_, err := q.SRead(context.Background(), make([]core.CQEntry, 1), nil)
				done <- err
			}()
		}
		eventually(t, func() bool { q.p.Lock(); defer q.p.Unlock(); return q.sreads == sleepers })
		q.Signal()
		for range sleepers {
			if err := <-done; err != core.ErrAgain {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		_, err := q.SRead(ctx, make([]core.CQEntry, 1), nil) // one signal ends one wait
		wantErr(t, err, context.DeadlineExceeded)
		cancel()
	}
}

func TestCloseWakes(t *testing.T) {
	q, f := newQueue(t, core.CQAttr{WaitObj: core.WaitUnspec})
	done := make(chan error)
	go func() {
		_, err := q.SRead(context.Background(), make([]core.CQEntry, 1), nil)
		done <- err
	}()
	f.asleep(t, 1)
	q.Close()
	wantErr(t, <-done, core.ErrBadF)
}

// TestManyProducersManyConsumers: each completion is read once, whether consumers read or sleep. No consumer sleeps
// for ever.
func TestManyProducersManyConsumers(t *testing.T) {
	q, f := newQueue(t, core.CQAttr{Size: 16, WaitObj: core.WaitUnspec})
	q.Spin = time.Microsecond
	const producers, consumers, each = 4, 4, 2000
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := range each {
				f.do(func() { push(q, p*each+i) })
				if i%100 == 0 {
					time.Sleep(50 * time.Microsecond) // time for consumers to empty the queue and sleep
				}
			}
		})
	}
	var mu sync.Mutex
	seen := map[core.OpContext]int{}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for range consumers {
		wg.Go(func() {
			var e [7]core.CQEntry
			for {
				n, err := q.SRead(ctx, e[:], nil)
				if err != nil && err != core.ErrAgain {
					if err != core.ErrBadF {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				for _, x := range e[:n] {
					seen[x.Ctx]++
				}
				all := len(seen) == producers*each
				mu.Unlock()
				if all {
					q.Close()
					return
				}
			}
		})
	}
	wg.Wait()
	for c, n := range seen {
		if n != 1 {
			t.Fatal(c, n)
		}
	}
	if f.entered != f.left {
		t.Fatal("entered", f.entered, "left", f.left)
	}
}

func readable(fd int) bool { return netx.Readable(netx.FD(fd)) }

func TestWaitFD(t *testing.T) {
	for _, obj := range []core.WaitObj{core.WaitFD, core.WaitUnspec} {
		q, f := newQueue(t, core.CQAttr{WaitObj: obj})
		fd, err := q.WaitFD()
		if err != nil {
			t.Fatal(err)
		}
		var e [4]core.CQEntry
		f.do(func() { push(q, 1) })
		if readable(fd) {
			t.Fatal("a push signals although no reader sleeps")
		}
		wantErr(t, TryWait(q), core.ErrAgain)
		q.Read(e[:], nil)
		for range 2 {
			if err := TryWait(q); err != nil {
				t.Fatal(err)
			}
		}
		if readable(fd) || f.entered != 1 {
			t.Fatal("readable too early, or entered", f.entered)
		}
		f.do(func() { push(q, 2) })
		if !readable(fd) || f.left != 0 {
			t.Fatal("not readable, or left", f.left)
		}
		wantErr(t, TryWait(q), core.ErrAgain)
		if n, _ := q.Read(e[:], nil); n != 1 || f.left != 1 {
			t.Fatal(n, f.left)
		}
		if TryWait(q) != nil || readable(fd) {
			t.Fatal("readable before the next push")
		}
		f.do(func() { q.PushErr(&core.CQErrEntry{Err: core.ErrIO}) })
		if !readable(fd) {
			t.Fatal("an error does not signal")
		}
		q.ReadErr(&core.CQErrEntry{})
		if TryWait(q) != nil {
			t.Fatal("not ready")
		}
		q.Signal()
		if !readable(fd) {
			t.Fatal("Signal does not signal")
		}
		q.Close()
		if f.entered != f.left {
			t.Fatal("entered", f.entered, "left", f.left)
		}
	}
}
