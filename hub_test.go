package gofabric

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"gofabric/core"
)

// done is the completion of an operation.
func done(ctx core.OpContext, n int) core.CQErrEntry {
	return core.CQErrEntry{CQEntry: core.CQEntry{Ctx: ctx, Len: n}, SrcAddr: 5}
}

func failedWith(ctx core.OpContext, err core.Errno) core.CQErrEntry {
	return core.CQErrEntry{CQEntry: core.CQEntry{Ctx: ctx}, Err: err, Detail: "in detail"}
}

func TestCompletesWhileCancelled(t *testing.T) {
	e, ep, cq := fakeEndpoint()
	defer e.Close()
	ep.onCancel = func(ctx core.OpContext) error { // too late: the message has arrived
		cq.ch <- done(ctx, 3)
		return core.ErrNoEnt
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if r, err := e.Recv(ctx, AnyPeer, make([]byte, 3)); err != nil || r.Len != 3 || r.From != 5 {
		t.Fatalf("got %+v, %v: a message was lost", r, err)
	}
}

func TestFailsWhileCancelled(t *testing.T) {
	for errno, want := range map[core.Errno]error{core.ErrCanceled: context.DeadlineExceeded,
		core.ErrTrunc: core.ErrTrunc} {
		e, ep, cq := fakeEndpoint()
		ep.onCancel = func(ctx core.OpContext) error {
			cq.ch <- failedWith(ctx, errno)
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		_, err := e.Recv(ctx, AnyPeer, nil)
		cancel()
		var oe *core.OpError
		if !errors.Is(err, want) || !errors.As(err, &oe) || oe.Hint != "in detail" {
			t.Errorf("%v: got %v", errno, err)
		}
		e.Close()
	}
}

// TestCannotBeCancelled: the provider never releases a buffer. The endpoint must be closed before the call returns.
func TestCannotBeCancelled(t *testing.T) {
	e, ep, _ := fakeEndpoint()
	e.grace = 10 * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	err := e.Send(ctx, 1, make([]byte, 1))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if !ep.isClosed() {
		t.Error("the call returned while the provider may still use the buffer")
	}
	if err := e.Send(context.Background(), 1, nil); !errors.Is(err, core.ErrShutdown) {
		t.Errorf("afterwards: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestBusyProvider(t *testing.T) {
	e, ep, cq := fakeEndpoint()
	defer e.Close()
	tries := 0
	ep.onPost = func(ctx core.OpContext) error {
		if tries++; tries < 20 {
			return core.ErrAgain
		}
		cq.ch <- done(ctx, 0)
		return nil
	}
	if err := e.Send(context.Background(), 1, nil); err != nil || tries != 20 {
		t.Fatalf("after %d tries: %v", tries, err)
	}
	ep.onPost = func(core.OpContext) error { return core.ErrAgain }
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if err := e.Send(ctx, 1, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	go e.Close()
	if err := e.Send(context.Background(), 1, nil); !errors.Is(err, core.ErrShutdown) {
		t.Fatalf("got %v", err)
	}
}

// TestStaleCompletions delivers completions of operations that no call waits for, or that never existed.
func TestStaleCompletions(t *testing.T) {
	e, ep, cq := fakeEndpoint()
	defer e.Close()
	var first core.OpContext
	ep.onPost = func(ctx core.OpContext) error {
		if first == 0 {
			first = ctx
		} else {
			for _, c := range []core.OpContext{first, ctx + 1, ctx + 1<<32, 0, ^core.OpContext(0)} {
				cq.ch <- failedWith(c, core.ErrIO)
				cq.ch <- done(c, 99)
			}
		}
		cq.ch <- done(ctx, 1)
		return nil
	}
	for range 3 {
		if r, err := e.Recv(context.Background(), AnyPeer, nil); err != nil || r.Len != 1 {
			t.Fatalf("got %+v, %v", r, err)
		}
	}
}

func TestQueueFails(t *testing.T) {
	e, _, cq := fakeEndpoint()
	defer e.Close()
	cq.fatal <- core.ErrIO
	for range 2 {
		if err := e.Send(context.Background(), 1, nil); !errors.Is(err, core.ErrIO) {
			t.Fatalf("got %v", err)
		}
	}
}

// TestHubModel completes operations of many goroutines in random order. Contexts end at random in between.
func TestHubModel(t *testing.T) {
	e, ep, cq := fakeEndpoint()
	ep.onCancel = func(ctx core.OpContext) error {
		cq.ch <- failedWith(ctx, core.ErrCanceled)
		return nil
	}
	const callers, calls = 12, 200
	todo := make(chan core.OpContext, callers)
	ep.onPost = func(ctx core.OpContext) error {
		todo <- ctx
		return nil
	}
	stop := make(chan struct{})
	var completer, wg sync.WaitGroup
	// The completer holds back up to four operations and completes one of them. After a quiet time it completes the
	// rest.
	completer.Go(func() {
		var held []core.OpContext
		for {
			select {
			case c := <-todo:
				held = append(held, c)
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			if len(held) > 4 || len(todo) == 0 && len(held) > 0 {
				i := rand.IntN(len(held))
				cq.ch <- done(held[i], 0)
				held = append(held[:i], held[i+1:]...)
			}
		}
	})
	for g := range callers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range calls {
				ctx, cancel := context.Background(), context.CancelFunc(func() {})
				if r.IntN(4) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(300))*time.Microsecond)
				}
				err := e.Send(ctx, 1, nil)
				cancel()
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	completer.Wait()
	h := &e.base.hub
	free := 0
	for o := h.free; o != nil; o = o.next {
		free++
	}
	if free != len(h.ops) || len(h.ops) > callers || h.head != nil || h.leading {
		t.Errorf("%d operations, %d of them free; sleepers %v, leading %v", len(h.ops), free, h.head, h.leading)
	}
	e.Close()
}

// TestCallsDoNotAllocate uses a provider that completes operations at once.
func TestCallsDoNotAllocate(t *testing.T) {
	e, ep, cq := fakeEndpoint()
	defer e.Close()
	ep.posted = make([]core.OpContext, 0, 4096)
	ep.onPost = func(ctx core.OpContext) error {
		cq.ch <- done(ctx, 0)
		return nil
	}
	ctx, buf := context.Background(), make([]byte, 8)
	if n := testing.AllocsPerRun(1000, func() {
		e.Send(ctx, 1, buf)
		e.Recv(ctx, AnyPeer, buf)
	}); n != 0 {
		t.Errorf("%v allocations for a send and a receive", n)
	}
}
