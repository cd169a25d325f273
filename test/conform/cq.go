package conform

// Completion queues (fi_cq(3)): reading, errors, waiting, wait objects, growth, sharing.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"gofabric/core"
)

func testCQ(t *testing.T, st Stack) {
	t.Run("read", func(t *testing.T) { cqRead(t, st) })
	t.Run("source", func(t *testing.T) { cqSource(t, st) })
	t.Run("sread", func(t *testing.T) { cqSRead(t, st) })
	t.Run("waitobj", func(t *testing.T) { cqWaitObjects(t, st) })
	t.Run("fd", func(t *testing.T) { cqFD(t, st) })
	t.Run("elastic", func(t *testing.T) { cqElastic(t, st) })
	t.Run("shared", func(t *testing.T) { cqShared(t, st) })
	t.Run("split", func(t *testing.T) { cqSplit(t, st) })
}

// cqRead checks Read with no room, ErrAgain, batches that end before an error entry, and ErrAvail until ReadErr.
func cqRead(t *testing.T, st Stack) {
	p := Open(t, st)
	cq := p.B.RxCQ
	entries := make([]core.CQEntry, 8)
	if n, err := cq.Read(nil); n != 0 || !errors.Is(err, core.ErrAgain) {
		t.Errorf("Read of nothing with no room: %d, %v; want ErrAgain", n, err)
	}
	if n, err := cq.Read(entries); n != 0 || !errors.Is(err, core.ErrAgain) {
		t.Errorf("Read of nothing: %d, %v; want ErrAgain", n, err)
	}
	if err := cq.ReadErr(&core.CQErrEntry{}); !errors.Is(err, core.ErrAgain) {
		t.Errorf("ReadErr of nothing: %v; want ErrAgain", err)
	}
	buf := make([]byte, 16)
	for i := range 4 {
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf[i*4:i*4+4], 0, core.AddrUnspec, core.Context(i+1)) })
	}
	p.B.Asleep = true
	p.Retry("inject", func() error { return p.A.EP.Inject(buf[:4], p.A.Peer) })
	p.Retry("inject", func() error { return p.A.EP.Inject(buf[:4], p.A.Peer) })
	p.until("Read with no room reports a completion", func() bool { _, err := cq.Read(nil); return err == nil })
	// Both successes are in, then the error entry, then another success.
	p.until("Read(1)", func() bool { n, err := cq.Read(entries[:1]); return n == 1 && err == nil })
	if entries[0].Ctx != 1 {
		t.Fatalf("first entry: ctx %d, want 1", entries[0].Ctx)
	}
	p.until("second completion", func() bool { _, err := cq.Read(nil); return err == nil })
	p.B.ok("Cancel", p.B.Rx().Cancel(3))
	p.Retry("inject", func() error { return p.A.EP.Inject(buf[:4], p.A.Peer) })
	time.Sleep(5 * time.Millisecond)
	n, err := cq.Read(entries)
	if n != 1 || err != nil || entries[0].Ctx != 2 {
		t.Fatalf("Read before an error entry: %d, %v, ctx %d; want the one success before it", n, err, entries[0].Ctx)
	}
	for range 3 {
		if n, err := cq.Read(entries); n != 0 || !errors.Is(err, core.ErrAvail) {
			t.Fatalf("Read at an error entry: %d, %v; want ErrAvail", n, err)
		}
	}
	if _, err := cq.Read(nil); err != nil && !errors.Is(err, core.ErrAvail) {
		t.Errorf("Read with no room at an error entry: %v; want nil or ErrAvail", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	if _, err := cq.SRead(ctx, entries); !errors.Is(err, core.ErrAvail) {
		t.Errorf("SRead at an error entry: %v; want ErrAvail at once", err)
	}
	var e core.CQErrEntry
	if err := cq.ReadErr(&e); err != nil || e.Ctx != 3 || e.Err != core.ErrCanceled {
		t.Fatalf("ReadErr: %v, ctx %d, %v", err, e.Ctx, e.Err)
	}
	if cq.StrError(e.ProvErrno) == "" {
		t.Error("StrError is empty")
	}
	p.B.Asleep = false
	p.Want(p.B, 4)
	if err := cq.ReadErr(&e); !errors.Is(err, core.ErrAgain) {
		t.Errorf("second ReadErr: %v; want ErrAgain", err)
	}
}

// cqSource checks ReadFrom with FI_SOURCE.
func cqSource(t *testing.T, st Stack) {
	if !st.need(t, core.Source) || st.EPType != core.EPTypeRDM {
		return
	}
	p := Open(t, st, WithCaps(core.Source))
	buf := make([]byte, 8)
	post := func(s *Side, ctx core.Context) {
		p.Retry("recv", func() error { return s.Rx().Recv(buf, 0, core.AddrUnspec, ctx) })
	}
	for i, s := range []*Side{p.A, p.B} {
		peer := []*Side{p.B, p.A}[i]
		post(s, 1)
		p.Retry("inject", func() error { return peer.EP.Inject(buf, peer.Peer) })
		if g := p.Want(s, 1); g.Src != s.Peer {
			t.Errorf("%s: source %d, want %d", s.Name, int64(g.Src), s.Peer)
		}
	}
	un := Open(t, st, WithCaps(core.Source), WithoutPeer())
	un.Retry("recv", func() error { return un.B.Rx().Recv(buf, 0, core.AddrUnspec, 1) })
	un.Retry("inject", func() error { return un.A.EP.Inject(buf, un.A.Peer) })
	if g := un.Want(un.B, 1); g.Src != core.AddrNotAvail {
		t.Errorf("source of a peer that is not in the vector: %d, want AddrNotAvail", int64(g.Src))
	}
}

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
	if d := time.Since(start); !errors.Is(err, core.ErrAgain) || !errors.Is(err, context.DeadlineExceeded) || d < 25*time.Millisecond || d > 2*time.Second {
		t.Errorf("SRead until a deadline of 30 ms: %v after %v; want ErrAgain wrapped with DeadlineExceeded", err, d)
	}

	ctx, cancel = context.WithCancel(bg)
	done := make(chan error, 1)
	go func() { _, err := cq.SRead(ctx, entries); done <- err }()
	time.Sleep(5 * time.Millisecond)
	cancel()
	if err := recvErr(t, "SRead after cancel", done); !errors.Is(err, core.ErrAgain) || !errors.Is(err, context.Canceled) {
		t.Errorf("SRead after cancel: %v; want ErrAgain wrapped with Canceled", err)
	}

	ctx, cancel = context.WithTimeout(bg, Deadline)
	defer cancel()
	go func() { _, err := cq.SRead(ctx, entries); done <- err }()
	time.Sleep(5 * time.Millisecond)
	p.B.ok("Signal", cq.Signal())
	if err := recvErr(t, "SRead after Signal", done); !errors.Is(err, core.ErrAgain) || ctx.Err() != nil {
		t.Errorf("SRead after Signal: %v; want ErrAgain", err)
	}

	buf := make([]byte, 8)
	for i := range 50 {
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, core.Context(i)) })
		go func() {
			n, err := cq.SRead(ctx, entries)
			if err == nil && (n != 1 || entries[0].Ctx != core.Context(i)) {
				err = fmt.Errorf("%d entries, ctx %d; want ctx %d", n, entries[0].Ctx, i)
			}
			done <- err
		}()
		if i%2 == 0 {
			time.Sleep(time.Millisecond)
		}
		p.B.Asleep = true
		p.Retry("inject", func() error { return p.A.EP.Inject(buf, p.A.Peer) })
		if err := recvErr(t, "SRead of a completion", done); err != nil {
			t.Fatalf("SRead %d: %v", i, err)
		}
	}
	p.B.Asleep = false
}

// recvErr waits for a goroutine's result.
func recvErr(t *testing.T, what string, c chan error) error {
	t.Helper()
	select {
	case err := <-c:
		return err
	case <-time.After(Deadline):
		t.Fatalf("%s: still waiting after %v", what, Deadline)
		return nil
	}
}

// cqWaitObjects opens queues with each wait object and receives through SRead, or learns that it does not wait.
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
			p.Retry("inject", func() error { return p.A.EP.Inject(buf, p.A.Peer) })
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
	for _, a := range []core.CQAttr{{WaitObj: core.WaitMutexCond}, {Format: 99}, {WaitObj: core.WaitSetObj}, {Flags: 1 << 50}} {
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
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, core.Context(i)) })
		result := make(chan error, 1)
		go func() { result <- pollRead(p.B.Fabric, cq, fd, entries, core.Context(i)) }()
		if i%2 == 0 {
			time.Sleep(time.Millisecond)
		}
		p.B.Asleep = true
		p.Retry("inject", func() error { return p.A.EP.Inject(buf, p.A.Peer) })
		if err := recvErr(t, "poll and read", result); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		p.B.Asleep = false
	}
	// With something to read it is not safe to block.
	p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 1) })
	p.B.Asleep = true
	p.Retry("inject", func() error { return p.A.EP.Inject(buf, p.A.Peer) })
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

// pollRead is what applications do: TryWait, poll(2), read; until the completion is there.
func pollRead(f core.Fabric, cq core.CompletionQueue, fd int, entries []core.CQEntry, want core.Context) error {
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
		ok, err := pollFD(fd, 2*time.Second)
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("TryWait allowed to block, and the descriptor did not become readable within 2 s")
		}
	}
	return errors.New("no completion")
}

// idle checks that the descriptor of a queue with nothing in it and nothing going on does become quiet.
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

// cqElastic gets far more completions than the queue's size without reading (native queues grow).
func cqElastic(t *testing.T, st Stack) {
	const n = 600
	p := Open(t, st, WithRxSize(1024), WithCQ(core.CQAttr{Format: core.CQFormatTagged, Size: 4, WaitObj: core.WaitUnspec}))
	bufs := make([][8]byte, n)
	for i := range n {
		p.Retry("recv", func() error { return p.B.Rx().Recv(bufs[i][:], 0, core.AddrUnspec, core.Context(i)) })
	}
	p.B.Asleep = true
	for i := range n {
		p.Retry("send", func() error {
			return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{Pattern(8, uint64(i))}, Addr: p.A.Peer, Ctx: core.Context(i)}, core.DeliveryComplete)
		})
	}
	if st.Manual {
		p.B.Asleep = false
	}
	for i := range n {
		p.Want(p.A, core.Context(i))
	}
	p.B.Asleep = false
	for i := range n {
		p.until("completion", func() bool { return len(p.B.got) > i })
		if g := p.B.got[i]; g.Err != nil || g.Ctx != core.Context(i) {
			t.Fatalf("completion %d: %v", i, g)
		}
		CheckPattern(t, fmt.Sprint("message ", i), bufs[i][:], 8, uint64(i))
	}
	p.B.got = nil
}

// cqShared reports two endpoints' completions on one queue.
func cqShared(t *testing.T, st Stack) {
	p := Open(t, st)
	q := Open(t, st, WithSharedB(p.B))
	buf := make([]byte, 64)
	n := 20
	for i := range n {
		for k, x := range []*Pair{p, q} {
			ctx := core.Context(100*k + i)
			x.Retry("recv", func() error { return x.B.EP.Recv(buf[:8], 0, core.AddrUnspec, ctx) })
			x.Retry("inject", func() error { return x.A.EP.Inject(buf[:8], x.A.Peer) })
			p.Want(p.B, ctx)
		}
	}
	for k, x := range []*Pair{p, q} {
		x.Retry("recv", func() error { return x.A.Rx().Recv(buf[:8], 0, core.AddrUnspec, 7) })
		x.Retry("send", func() error { return x.B.EP.Send(buf[8:16], 0, x.B.Peer, core.Context(500+k)) })
		p.Want(p.B, core.Context(500+k))
		x.Want(x.A, 7)
	}
}

// cqSplit checks that transmit completions go to the transmit queue and receive completions to the receive queue.
func cqSplit(t *testing.T, st Stack) {
	p := Open(t, st, WithSplitCQ())
	buf := make([]byte, 8)
	for i, s := range []*Side{p.A, p.B} {
		r := []*Side{p.B, p.A}[i]
		p.Retry("recv", func() error { return r.Rx().Recv(buf, 0, core.AddrUnspec, 1) })
		p.Retry("send", func() error { return s.EP.Send(buf, 0, s.Peer, 2) })
		if g := p.Want(r, 1); !g.Rx {
			t.Error("a receive completed on the transmit queue")
		}
		if g := p.Want(s, 2); g.Rx {
			t.Error("a send completed on the receive queue")
		}
		p.Retry("recv", func() error { return s.Rx().Recv(buf, 0, core.AddrUnspec, 3) })
		s.ok("Cancel", s.Rx().Cancel(3))
		if g := p.WantErr(s, 3, core.ErrCanceled); !g.Rx {
			t.Error("a canceled receive completed on the transmit queue")
		}
	}
}
