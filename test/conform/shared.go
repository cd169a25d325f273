package conform

// Shared contexts (fi_endpoint(3), SHARED CONTEXTS): one receive queue, or one transmit queue, for several endpoints.

import (
	"errors"
	"testing"

	"gofabric/core"
)

func testShared(t *testing.T, st Stack) {
	info, err := st.info("", st.hints(core.CapMsg))
	if err != nil {
		t.Fatal(err)
	}
	if info.Domain.MaxEPStxCtx > 0 {
		t.Run("stx", func(t *testing.T) { sharedTx(t, st) })
	}
	if st.EPType != core.EPTypeMsg && info.Domain.MaxEPSrxCtx > 0 {
		t.Run("srx", func(t *testing.T) { sharedRx(t, st, false) })
		t.Run("srx-queue", func(t *testing.T) { sharedRx(t, st, true) })
	}
}

// sharedTx sends through a transmit context of two operations.
func sharedTx(t *testing.T, st Stack) {
	var stx *core.SharedTx
	p := Open(t, st, WithBefore(func(s *Side) {
		if s.Name == "A" {
			stx = must(t, "OpenSTX", func() (*core.SharedTx, error) { return s.Domain.OpenSTX(&core.TxAttr{Size: 2}) })
			s.ok("BindSTX", s.EP.BindSTX(stx))
			refuse(t, "BindSTX again", s.EP.BindSTX(stx), core.ErrInval)
		}
	}))
	for i := range 20 {
		exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], min(1000*i, p.A.Info.EP.MaxMsgSize), uint64(i))
	}
	refuse(t, "Close STX with an endpoint", stx.Close(), core.ErrBusy)
	refused := st.EPType == core.EPTypeDgram // datagrams complete at once
	large := min(100_000, p.A.Info.EP.MaxMsgSize)
	for i := 0; !refused && i < 1000; i++ { // no receives are posted: large messages stay pending
		err := p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{Pattern(large, 1)}, Addr: p.A.Peer,
			Ctx: core.OpContext(1000 + i)}, core.OpCompletion|core.OpTransmitComplete)
		if refused = errors.Is(err, core.ErrAgain); err != nil && !refused {
			t.Fatalf("send: %v", err)
		}
	}
	if !refused {
		t.Error("a transmit context of two operations accepted a thousand")
	}
	p.Forget()
	p.A.CloseEP()
	p.A.ok("Close STX", stx.Close())
	p.Forget()
}

// sharedRx receives for two endpoints from one context, with a queue of its own or with theirs.
func sharedRx(t *testing.T, st Stack, own bool) {
	h := WithHints(func(h *core.Info) { h.EP.RxCtxCnt = core.SharedContext })
	var srx *core.SharedRx
	var cq *core.CompletionQueue
	p := Open(t, st, h, WithBefore(func(s *Side) {
		if s.Name != "B" {
			return
		}
		srx = must(t, "OpenSRX", func() (*core.SharedRx, error) { return s.Domain.OpenSRX(nil) })
		if own {
			cq = must(t, "OpenCQ", func() (*core.CompletionQueue, error) {
				return s.Domain.OpenCQ(core.CQAttr{Format: core.CQFormatTagged})
			})
			s.ok("BindCQ of the SRX", srx.BindCQ(cq, core.BindRecv))
		}
		s.ok("BindSRX", s.EP.BindSRX(srx))
	}))
	second := must(t, "OpenEndpoint", func() (*core.Endpoint, error) { return p.B.Domain.OpenEndpoint(p.B.Info) })
	p.B.BindAll(second)
	p.B.ok("BindSRX", second.BindSRX(srx))
	p.B.ok("Enable", second.Enable())
	to := []core.FIAddr{p.A.Peer, p.A.Insert(must(t, "Name", second.Name))}
	next := func(ctx core.OpContext) Got {
		if !own {
			return p.Want(p.B, ctx)
		}
		var e [1]core.CQEntry
		p.until("completion in the context's queue", func() bool { n, _ := cq.Read(e[:]); return n == 1 })
		if e[0].Ctx != ctx {
			t.Fatalf("completion of %d; want %d", e[0].Ctx, ctx)
		}
		return Got{CQEntry: e[0]}
	}
	refuse(t, "Recv on the endpoint", p.B.EP.Recv(make([]byte, 8), 0, core.AddrUnspec, 1), core.ErrOpNotSupp)
	for i := range 10 {
		size, fi := min(10+i*9000, p.A.Info.EP.MaxMsgSize), to[i%2]
		buf := make([]byte, size)
		early := i%3 == 0
		if early {
			p.Retry("send", func() error { return p.A.EP.Send(Pattern(size, uint64(i)), 0, fi, 50) })
		}
		p.Retry("recv", func() error { return srx.Recv(buf, 0, core.AddrUnspec, core.OpContext(i)) })
		if !early {
			p.Retry("send", func() error { return p.A.EP.Send(Pattern(size, uint64(i)), 0, fi, 50) })
		}
		if g := next(core.OpContext(i)); g.Len != size {
			t.Fatalf("%d bytes; want %d", g.Len, size)
		}
		CheckPattern(t, "message", buf, size, uint64(i))
		p.Want(p.A, 50)
	}
	refuse(t, "Close SRX with endpoints", srx.Close(), core.ErrBusy)
	p.B.ok("Close endpoint", second.Close())
	p.B.CloseEP()
	if own {
		refuse(t, "Close CQ of the SRX", cq.Close(), core.ErrBusy)
	}
	p.B.ok("Close SRX", srx.Close())
	if own {
		p.B.ok("Close CQ", cq.Close())
	}
}
