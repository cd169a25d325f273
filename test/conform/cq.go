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
	if st.EPType != core.EPTypeDgram { // 600 datagrams at once may be too many for a socket
		t.Run("elastic", func(t *testing.T) { cqElastic(t, st) })
	}
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
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf[i*4:i*4+4], 0, core.AddrUnspec, core.OpContext(i+1)) })
	}
	p.B.Asleep = true
	p.Retry("inject", func() error { return p.A.EP.Inject(still[:4], p.A.Peer) })
	p.Retry("inject", func() error { return p.A.EP.Inject(still[:4], p.A.Peer) })
	p.until("Read with no room reports a completion", func() bool { _, err := cq.Read(nil); return err == nil })
	// Both successes are in the queue, then the error entry, then another success.
	p.until("Read(1)", func() bool { n, err := cq.Read(entries[:1]); return n == 1 && err == nil })
	if entries[0].Ctx != 1 {
		t.Fatalf("first entry: ctx %d, want 1", entries[0].Ctx)
	}
	p.until("second completion", func() bool { _, err := cq.Read(nil); return err == nil })
	p.B.ok("Cancel", p.B.Rx().Cancel(3))
	p.Retry("inject", func() error { return p.A.EP.Inject(still[:4], p.A.Peer) })
	time.Sleep(5 * time.Millisecond) // the domain's goroutine receives it; a read would change what is tested
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
	if !st.need(t, core.CapSource) || st.EPType != core.EPTypeRDM {
		return
	}
	p := Open(t, st, WithCaps(core.CapSource))
	buf := make([]byte, 8)
	post := func(s *Side, ctx core.OpContext) {
		p.Retry("recv", func() error { return s.Rx().Recv(buf, 0, core.AddrUnspec, ctx) })
	}
	for i, s := range []*Side{p.A, p.B} {
		peer := []*Side{p.B, p.A}[i]
		post(s, 1)
		p.Retry("inject", func() error { return peer.EP.Inject(still[:8], peer.Peer) })
		if g := p.Want(s, 1); g.Src != s.Peer {
			t.Errorf("%s: source %d, want %d", s.Name, int64(g.Src), s.Peer)
		}
	}
	post(p.B, 2)
	p.Retry("inject", func() error { return p.A.EP.Inject(still[:8], p.A.Peer) })
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	entries, src := make([]core.CQEntry, 2), make([]core.FIAddr, 2)
	if n, err := p.B.RxCQ.SReadFrom(ctx, entries, src); n != 1 || err != nil || src[0] != p.B.Peer {
		t.Errorf("SReadFrom: %d, %v, source %d; want %d", n, err, int64(src[0]), p.B.Peer)
	}
	un := Open(t, st, WithCaps(core.CapSource), WithoutPeer())
	un.Retry("recv", func() error { return un.B.Rx().Recv(buf, 0, core.AddrUnspec, 1) })
	un.Retry("inject", func() error { return un.A.EP.Inject(still[:8], un.A.Peer) })
	if g := un.Want(un.B, 1); g.Src != core.AddrNotAvail {
		t.Errorf("source of a peer that is not in the vector: %d, want AddrNotAvail", int64(g.Src))
	}
}

// cqElastic gets many more completions than the queue's size without reading. (Native queues grow.)
func cqElastic(t *testing.T, st Stack) {
	const n = 600
	p := Open(t, st, WithRxSize(1024),
		WithCQ(core.CQAttr{Format: core.CQFormatTagged, Size: 4, WaitObj: core.WaitUnspec}))
	bufs := make([][8]byte, n)
	for i := range n {
		p.Retry("recv", func() error { return p.B.Rx().Recv(bufs[i][:], 0, core.AddrUnspec, core.OpContext(i)) })
	}
	p.B.Asleep = !st.Manual
	for i := range n {
		p.Retry("send", func() error {
			return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{Pattern(8, uint64(i))}, Addr: p.A.Peer,
				Ctx: core.OpContext(i)}, core.OpDeliveryComplete)
		})
	}
	for i := range n {
		p.Want(p.A, core.OpContext(i))
	}
	p.B.Asleep = false
	for i := range n {
		p.until("completion", func() bool { return len(p.B.got) > i })
		if g := p.B.got[i]; g.Err != nil || g.Ctx != core.OpContext(i) {
			t.Fatalf("completion %d: %v", i, g)
		}
		CheckPattern(t, fmt.Sprint("message ", i), bufs[i][:], 8, uint64(i))
	}
	p.B.got = nil
}

// cqShared reports the completions of two endpoints on one queue.
func cqShared(t *testing.T, st Stack) {
	p := Open(t, st)
	q := Open(t, st, WithSharedB(p.B))
	p.extra = append(p.extra, q.A)
	buf := make([]byte, 64)
	n := 20
	for i := range n {
		for k, x := range []*Pair{p, q} {
			ctx := core.OpContext(100*k + i)
			x.Retry("recv", func() error { return x.B.Rx().Recv(buf[:8], 0, core.AddrUnspec, ctx) })
			x.Retry("inject", func() error { return x.A.EP.Inject(still[:8], x.A.Peer) })
			p.Want(p.B, ctx)
		}
	}
	for k, x := range []*Pair{p, q} {
		x.Retry("recv", func() error { return x.A.Rx().Recv(buf[:8], 0, core.AddrUnspec, 7) })
		x.Retry("send", func() error { return x.B.EP.Send(still[:8], 0, x.B.Peer, core.OpContext(500+k)) })
		p.Want(p.B, core.OpContext(500+k))
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
		p.Retry("send", func() error { return s.EP.Send(still[:8], 0, s.Peer, 2) })
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
