package conform

// Completions (fi_cq(3), fi_endpoint(3)): queue formats, selective completion, operation flags, completion levels.

import (
	"fmt"
	"testing"

	"gofabric/core"
)

func testCompletion(t *testing.T, st Stack) {
	t.Run("formats", func(t *testing.T) { cqFormats(t, st) })
	t.Run("selective", func(t *testing.T) { selective(t, st) })
	t.Run("opflags", func(t *testing.T) { opFlags(t, st) })
	t.Run("hintflags", func(t *testing.T) { hintFlags(t, st) })
	t.Run("levels", func(t *testing.T) { levels(t, st) })
}

// cqFormats checks the fields of each format.
func cqFormats(t *testing.T, st Stack) {
	for _, f := range []core.CQFormat{core.CQFormatContext, core.CQFormatMsg, core.CQFormatData,
		core.CQFormatTagged, core.CQFormatUnspec} {
		t.Run(fmt.Sprint(f), func(t *testing.T) {
			p := Open(t, st, WithCQ(core.CQAttr{Format: f}))
			buf := make([]byte, 64)
			p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 11) })
			p.Retry("senddata", func() error { return p.A.EP.SendData(Pattern(40, 1), 0, p.A.data(), p.A.Peer, 22) })
			g, tx := p.Want(p.B, 11), p.Want(p.A, 22)
			CheckPattern(t, "data", buf, 40, 1)
			if f >= core.CQFormatMsg {
				if g.Flags&(core.CompMsg|core.CompRecv) != core.CompMsg|core.CompRecv || g.Len != 40 {
					t.Errorf("receive: %v; want Msg|Recv and 40 bytes", g)
				}
				checkSend(p, "senddata", tx, false)
			}
			if f >= core.CQFormatData && (g.Data != p.A.data() || g.Flags&core.CompRemoteCQData == 0) {
				t.Errorf("receive: %v; want remote CQ data", g)
			}
			if f >= core.CQFormatData && (len(g.Buf) == 0 || &g.Buf[0] != &buf[0]) {
				t.Errorf("receive: Buf is not the posted buffer")
			}
		})
	}
}

// selective checks FI_SELECTIVE_COMPLETION with and without the Completion flag, transmit and receive.
func selective(t *testing.T, st Stack) {
	p := Open(t, st, WithSelective(), WithHints(func(h *core.Info) { h.Tx.OpFlags, h.Rx.OpFlags = 0, 0 }))
	buf := make([]byte, 32)
	p.Retry("recv", func() error {
		return p.B.Rx().RecvMsg(&core.MsgArgs{IOV: [][]byte{buf}, Addr: core.AddrUnspec, Ctx: 1}, 0)
	})
	p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 2) })
	p.Retry("recv", func() error {
		return p.B.Rx().RecvMsg(&core.MsgArgs{IOV: [][]byte{buf}, Addr: core.AddrUnspec, Ctx: 3}, core.OpCompletion)
	})
	one := func(ctx core.OpContext, flags core.OpFlags) {
		p.Retry("sendmsg", func() error {
			return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{still[:8]}, Addr: p.A.Peer, Ctx: ctx}, flags)
		})
	}
	p.Retry("send", func() error { return p.A.EP.Send(still[:8], 0, p.A.Peer, 21) })
	one(22, 0)
	one(23, core.OpCompletion)
	p.Want(p.A, 23)
	p.Want(p.B, 3)
	p.WantNone(p.A)
	p.WantNone(p.B)
	// Errors complete with any flags.
	p.Retry("recv", func() error { return p.B.Rx().Recv(buf[:4], 0, core.AddrUnspec, 4) })
	p.Retry("send", func() error { return p.A.EP.Send(still[:8], 0, p.A.Peer, 24) })
	p.WantErr(p.B, 4, core.ErrTrunc)
}

// opFlags checks Endpoint.OpFlags and SetOpFlags, and aliases with other default flags.
func opFlags(t *testing.T, st Stack) {
	p := Open(t, st, WithSelective(),
		WithHints(func(h *core.Info) { h.Tx.OpFlags, h.Rx.OpFlags = 0, core.OpCompletion }))
	buf := make([]byte, 32)
	post := func(ctx core.OpContext) {
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, ctx) })
	}
	recv := func(ctx core.OpContext) {
		if st.SharedRx { // the completion of a shared receive follows the endpoint's flags; another test checks that
			p.until("receive", func() bool { return len(p.B.got) > 0 })
			p.B.got = nil
			return
		}
		p.Want(p.B, ctx)
	}
	f, err := p.A.EP.OpFlags(core.BindTransmit)
	if err != nil || f&core.OpCompletion != 0 {
		t.Errorf("OpFlags(Transmit) = %#x, %v; want no Completion", uint64(f), err)
	}
	f, err = p.A.EP.OpFlags(core.BindRecv)
	if err != nil || f&core.OpCompletion == 0 {
		t.Errorf("OpFlags(Recv) = %#x, %v; want Completion", uint64(f), err)
	}
	post(1)
	p.Retry("send", func() error { return p.A.EP.Send(still[:4], 0, p.A.Peer, 21) })
	recv(1)
	p.WantNone(p.A)
	alias := must(t, "Alias", func() (*core.Endpoint, error) { return p.A.EP.Alias(core.BindTransmit, core.OpCompletion) })
	post(2)
	p.Retry("send through the alias", func() error { return alias.Send(still[:4], 0, p.A.Peer, 22) })
	p.Want(p.A, 22)
	recv(2)
	post(3)
	p.Retry("send", func() error { return p.A.EP.Send(still[:4], 0, p.A.Peer, 23) })
	recv(3)
	p.WantNone(p.A)
	if err := alias.Close(); err != nil {
		t.Errorf("Close of the alias: %v", err)
	}
	p.A.ok("SetOpFlags", p.A.EP.SetOpFlags(core.BindTransmit, core.OpCompletion|core.OpDeliveryComplete))
	post(4)
	p.Retry("send", func() error { return p.A.EP.Send(still[:4], 0, p.A.Peer, 24) })
	p.Want(p.A, 24)
	recv(4)
	if f, err := p.A.EP.OpFlags(core.BindTransmit); err != nil ||
		f&(core.OpCompletion|core.OpDeliveryComplete) != core.OpCompletion|core.OpDeliveryComplete {
		t.Errorf("OpFlags after SetOpFlags = %#x, %v", uint64(f), err)
	}
	refuse(t, "SetOpFlags with a flag that is no operation flag",
		p.A.EP.SetOpFlags(core.BindTransmit, 1<<2), core.ErrInval, core.ErrBadFlags)
	refuse(t, "OpFlags of both directions",
		second(p.A.EP.OpFlags(core.BindTransmit|core.BindRecv)), core.ErrInval, core.ErrBadFlags)
}

// hintFlags checks that Completion in Tx.OpFlags makes plain sends complete on a selective endpoint.
func hintFlags(t *testing.T, st Stack) {
	p := Open(t, st, WithSelective(),
		WithHints(func(h *core.Info) { h.Tx.OpFlags, h.Rx.OpFlags = core.OpCompletion, core.OpCompletion }))
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 10, 1)
	buf := make([]byte, 8)
	p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 5) })
	p.Retry("sendmsg", func() error {
		return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{still[:8]}, Addr: p.A.Peer, Ctx: 6}, 0)
	})
	p.Want(p.B, 5)
	p.WantNone(p.A) // the msg calls take their flags only from the argument (fi_msg(3))
}

// levels checks that each completion level is accepted and completes, and that other flags are refused.
func levels(t *testing.T, st Stack) {
	p := Open(t, st)
	buf := make([]byte, 5000)
	for i, f := range []core.OpFlags{core.OpInjectComplete, core.OpTransmitComplete, core.OpDeliveryComplete} {
		for j, n := range []int{0, 64, 5000} {
			ctx := core.OpContext(10*i + j)
			p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 100+ctx) })
			p.Retry("sendmsg", func() error {
				return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{Pattern(n, uint64(ctx))},
					Addr: p.A.Peer, Ctx: 200 + ctx}, f)
			})
			p.Want(p.B, 100+ctx)
			p.Want(p.A, 200+ctx)
			CheckPattern(t, "data", buf, n, uint64(ctx))
		}
	}
	// A window of delivery-complete sends completes entirely and in order.
	const n = 100
	for i := range n {
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf[i*8:i*8+8], 0, core.AddrUnspec, core.OpContext(1000+i)) })
		p.Retry("sendmsg", func() error {
			return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{Pattern(8, uint64(i))}, Addr: p.A.Peer,
				Ctx: core.OpContext(2000 + i)}, core.OpDeliveryComplete)
		})
	}
	for i := range n {
		p.Want(p.A, core.OpContext(2000+i))
		p.Want(p.B, core.OpContext(1000+i))
		CheckPattern(t, "data", buf[i*8:], 8, uint64(i))
	}
}

func second[T any](_ T, err error) error { return err }
