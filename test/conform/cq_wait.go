package conform

// Waiting for completions (fi_cq(3)): SRead, wait objects, descriptors.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"gofabric/core"
)

// cqSRead checks the four ways in which a blocking read ends.
func cqSRead(t *testing.T, st Stack) {
	p := Open(t, st)
	cq := p.B.RxCQ
	entries := make([]core.CQEntry, 4)
	bg := context.Background()

	ctx, cancel := context.WithTimeout(bg, 30*time.Millisecond)
	start := time.Now()
	_, err := cq.SRead(ctx, entries)
	cancel()
	if d := time.Since(start); !errors.Is(err, core.ErrAgain) || !errors.Is(err, context.DeadlineExceeded) ||
		d < 25*time.Millisecond || d > Deadline {
		t.Errorf("SRead until a deadline of 30 ms: %v after %v; want ErrAgain wrapped with DeadlineExceeded", err, d)
	}

	ctx, cancel = context.WithCancel(bg)
	done := make(chan error, 1)
	go func() { _, err := cq.SRead(ctx, entries); done <- err }()
	time.Sleep(5 * time.Millisecond) // usually until it waits; the outcome does not depend on it
	cancel()
	if err := p.await("SRead after cancel", done); !errors.Is(err, core.ErrAgain) || !errors.Is(err, context.Canceled) {
		t.Errorf("SRead after cancel: %v; want ErrAgain wrapped with Canceled", err)
	}

	ctx, cancel = context.WithTimeout(bg, Deadline)
	defer cancel()
	go func() { _, err := cq.SRead(ctx, entries); done <- err }()
	time.Sleep(5 * time.Millisecond) // usually until it waits; the outcome does not depend on it
	p.B.ok("Signal", cq.Signal())
	if err := p.await("SRead after Signal", done); !errors.Is(err, core.ErrAgain) || ctx.Err() != nil {
		t.Errorf("SRead after Signal: %v; want ErrAgain", err)
	}

	buf := make([]byte, 8)
	for i := range 50 {
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, core.OpContext(i)) })
		go func() {
			n, err := cq.SRead(ctx, entries)
			if err == nil && (n != 1 || entries[0].Ctx != core.OpContext(i)) {
				err = fmt.Errorf("%d entries, ctx %d; want ctx %d", n, entries[0].Ctx, i)
			}
			done <- err
		}()
		if i%2 == 0 {
			time.Sleep(time.Millisecond) // usually until it waits; the outcome does not depend on it
		}
		p.B.Asleep = true
		p.Retry("inject", func() error { return p.A.EP.Inject(still[:8], p.A.Peer) })
		if err := p.await("SRead of a completion", done); err != nil {
			t.Fatalf("SRead %d: %v", i, err)
		}
	}
	p.B.Asleep = false
}

// await waits for a goroutine's result. It reads the queues meanwhile only on stacks without automatic progress.
func (p *Pair) await(what string, c chan error) error {
	p.T.Helper()
	end := time.After(Deadline)
	for {
		tick := time.After(Deadline)
		if p.Stack.Manual {
			p.Progress()
			tick = time.After(50 * time.Microsecond)
		}
		select {
		case err := <-c:
			return err
		case <-tick:
		case <-end:
			p.T.Fatalf("%s: still waiting after %v\n%s", what, Deadline, p.Dump())
			return nil
		}
	}
}

// cqWaitObjects opens queues with each wait object and receives with SRead, or checks that SRead is refused.
func cqWaitObjects(t *testing.T, st Stack) {
	for _, w := range []core.WaitObj{core.WaitNone, core.WaitUnspec, core.WaitFD, core.WaitYield} {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			p := Open(t, st, WithCQ(core.CQAttr{Format: core.CQFormatTagged, WaitObj: w}))
			exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 100, 1)
			entries := make([]core.CQEntry, 4)
			ctx, cancel := context.WithTimeout(context.Background(), Deadline)
			defer cancel()
			buf := make([]byte, 8)
			p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 1) })
			p.Retry("inject", func() error { return p.A.EP.Inject(still[:8], p.A.Peer) })
			n, err := p.B.RxCQ.SRead(ctx, entries)
			if w == core.WaitNone && err != nil {
				refuse(t, "SRead without a wait object", err, core.ErrNoSys, core.ErrInval, core.ErrOpNotSupp)
				p.Want(p.B, 1)
			} else if err != nil || n != 1 {
				t.Errorf("SRead: %d, %v", n, err)
			}
			if w != core.WaitFD {
				if _, err := p.B.RxCQ.WaitFD(); w == core.WaitNone && err == nil {
					t.Error("WaitFD of a queue without a wait object: no error")
				}
			}
		})
	}
	p := Open(t, st)
	for _, a := range []core.CQAttr{{WaitObj: core.WaitMutexCond}, {Format: 99},
		{WaitObj: core.WaitSetObj}, {Flags: 1 << 50}} {
		if cq, err := p.A.Domain.OpenCQ(a); err == nil {
			t.Errorf("OpenCQ(%+v) succeeded; want ErrInval", a)
			cq.Close()
		} else if !oneOf(err, core.ErrInval, core.ErrNoSys, core.ErrBadFlags) {
			t.Errorf("OpenCQ(%+v): %v; want ErrInval", a, err)
		}
	}
}

// cqFD waits with poll(2) on the queue's descriptor.
func cqFD(t *testing.T, st Stack) {
	p := Open(t, st, WithCQ(core.CQAttr{Format: core.CQFormatTagged, WaitObj: core.WaitFD}))
	cq := p.B.RxCQ
	fd, err := cq.WaitFD()
	if err != nil {
		t.Fatalf("WaitFD: %v", err)
	}
	buf := make([]byte, 8)
	entries := make([]core.CQEntry, 4)
	for i := range 60 {
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, core.OpContext(i)) })
		result := make(chan error, 1)
		go func() { result <- pollRead(p.B.Fabric, cq, fd, entries, core.OpContext(i)) }()
		if i%2 == 0 {
			time.Sleep(time.Millisecond) // usually until it waits; the outcome does not depend on it
		}
		p.B.Asleep = true
		p.Retry("inject", func() error { return p.A.EP.Inject(still[:8], p.A.Peer) })
		if err := p.await("poll and read", result); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		p.B.Asleep = false
	}
	// A queue with a completion must not block.
	p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 1) })
	p.B.Asleep = true
	p.Retry("inject", func() error { return p.A.EP.Inject(still[:8], p.A.Peer) })
	p.until("Read with no room reports a completion", func() bool { _, err := cq.Read(nil); return err == nil })
	if err := p.B.Fabric.TryWait(cq); !errors.Is(err, core.ErrAgain) {
		t.Errorf("TryWait with a completion to read: %v; want ErrAgain", err)
	}
	if ok, err := pollFD(fd, time.Second); !ok {
		t.Errorf("descriptor of a queue with a completion is not readable: %v", err)
	}
	p.B.Asleep = false
	p.Want(p.B, 1)
	idle(t, p, fd)
}

// pollRead does what applications do: TryWait, poll(2) and Read, until the completion is there.
func pollRead(f *core.Fabric, cq *core.CompletionQueue, fd int, entries []core.CQEntry, want core.OpContext) error {
	end := time.Now().Add(Deadline - time.Second)
	for time.Now().Before(end) {
		n, err := cq.Read(entries)
		if err == nil {
			if n != 1 || entries[0].Ctx != want {
				return fmt.Errorf("%d entries, ctx %d; want ctx %d", n, entries[0].Ctx, want)
			}
			return nil
		}
		if !errors.Is(err, core.ErrAgain) {
			return err
		}
		if err := f.TryWait(cq); errors.Is(err, core.ErrAgain) {
			continue
		} else if err != nil {
			return fmt.Errorf("TryWait: %w", err)
		}
		ok, err := pollFD(fd, Deadline)
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("TryWait allowed to block, and the descriptor did not become readable")
		}
	}
	return errors.New("no completion")
}

// idle checks that the descriptor of an empty, idle queue becomes unreadable.
func idle(t *testing.T, p *Pair, fd int) {
	t.Helper()
	for range 100 {
		p.Progress()
		if p.B.Fabric.TryWait(p.B.RxCQ) != nil {
			continue
		}
		if ok, _ := pollFD(fd, 10*time.Millisecond); !ok {
			return
		}
	}
	t.Error("the descriptor of an empty queue stays readable")
}
