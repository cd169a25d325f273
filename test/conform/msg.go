package conform

// Messages (fi_msg(3)): all calls, all sizes, limits, order, unexpected messages, buffer reuse.

import (
	"fmt"
	"testing"

	"gofabric/core"
)

func testMsg(t *testing.T, st Stack) {
	t.Run("calls", func(t *testing.T) { callMatrix(t, st, core.CapMsg, msgSends, msgRecvs) })
	t.Run("large", func(t *testing.T) { largeMessages(t, st, core.CapMsg, msgSends, msgRecvs) })
	t.Run("limits", func(t *testing.T) { msgLimits(t, st) })
	t.Run("order", func(t *testing.T) { msgOrder(t, st) })
	t.Run("unexpected", func(t *testing.T) { msgUnexpected(t, st) })
	t.Run("reuse", func(t *testing.T) { msgReuse(t, st) })
	t.Run("inject", func(t *testing.T) { injectSilent(t, st) })
	t.Run("bidirectional", func(t *testing.T) { msgBoth(t, st) })
}

// callMatrix runs each send call against each receive call in each small size, in both directions.
func callMatrix(t *testing.T, st Stack, caps core.Caps, sends []sendCall, recvs []recvCall) {
	p := Open(t, st, WithCaps(caps))
	seed := uint64(1)
	for _, c := range sends {
		for _, n := range p.A.sizes() {
			if c.inject && n > p.A.Info.Tx.InjectSize {
				continue
			}
			rc := recvs[int(seed)%len(recvs)]
			exchange(p, p.A, p.B, c, rc, n, seed)
			seed++
		}
	}
	for _, rc := range recvs {
		for _, c := range sends {
			exchange(p, p.B, p.A, c, rc, 100, seed)
			seed++
		}
	}
}

func largeMessages(t *testing.T, st Stack, caps core.Caps, sends []sendCall, recvs []recvCall) {
	p := Open(t, st, WithCaps(caps))
	seed := uint64(1)
	for i, c := range sends {
		if c.inject {
			continue
		}
		exchange(p, p.A, p.B, c, recvs[i%len(recvs)], min(1<<20, st.maxSize()), seed)
		seed++
	}
	exchange(p, p.A, p.B, sends[0], recvs[0], st.maxSize(), seed)
	exchange(p, p.B, p.A, sends[1], recvs[1], st.maxSize(), seed+1)
}

// msgLimits checks that calls beyond a limit are refused, and that the endpoint still works.
func msgLimits(t *testing.T, st Stack) {
	p := Open(t, st)
	a := p.A
	inj := a.Info.Tx.InjectSize
	big := make([]byte, inj+1)
	many := split(make([]byte, 64), a.Info.Tx.IOVLimit+1)
	manyRx := split(make([]byte, 64), a.Info.Rx.IOVLimit+1)
	bad := []core.Errno{core.ErrInval, core.ErrMsgSize, core.Err2Big}
	refuse(t, "inject of more than the inject size", a.EP.Inject(big, a.Peer), bad...)
	refuse(t, "injectdata of more than the inject size", a.EP.InjectData(big, 1, a.Peer), bad...)
	refuse(t, "sendmsg with Inject of more than the inject size",
		a.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{big}, Addr: a.Peer, Ctx: 1}, core.OpInject), bad...)
	refuse(t, "sendv with too many iovs", a.EP.SendV(many, nil, a.Peer, 1), bad...)
	refuse(t, "sendmsg with too many iovs", a.EP.SendMsg(&core.MsgArgs{IOV: many, Addr: a.Peer, Ctx: 1}, 0), bad...)
	refuse(t, "recvv with too many iovs", a.Rx().RecvV(manyRx, nil, core.AddrUnspec, 1), bad...)
	refuse(t, "recvmsg with too many iovs",
		a.Rx().RecvMsg(&core.MsgArgs{IOV: manyRx, Addr: core.AddrUnspec, Ctx: 1}, 0), bad...)
	p.WantNone(a)
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 50, 1)
	exchange(p, p.B, p.A, msgSends[0], msgRecvs[0], 50, 2)
}

// msgOrder sends 10,000 messages of mixed sizes and checks that they arrive in the order sent (FI_ORDER_SAS).
func msgOrder(t *testing.T, st Stack) {
	const total, window = 10000, 64
	p := Open(t, st)
	r := rng(42)
	size := func() int {
		switch k := r.intn(1000); {
		case k < 700:
			return r.intn(128)
		case k < 980:
			return r.intn(4096)
		case k < 998:
			return r.intn(40000)
		}
		return r.intn(150000)
	}
	sz := make([]int, total)
	for i := range sz {
		sz[i] = min(size(), st.maxSize())
	}
	bufs := make([][]byte, window)
	srcs := make([][]byte, window)
	for i := range bufs {
		bufs[i], srcs[i] = make([]byte, 150000), make([]byte, 150000)
	}
	busy := make([]bool, window) // a send buffer is free when its own send has completed
	open := make([]bool, window) // receives posted and not completed
	posted, sent, recvd, done := 0, 0, 0, 0
	p.until("10,000 messages in order", func() bool {
		for posted < total && !open[posted%window] {
			if p.B.Rx().Recv(bufs[posted%window], 0, core.AddrUnspec, core.OpContext(posted)) != nil {
				break
			}
			open[posted%window] = true
			posted++
		}
		for sent < total && !busy[sent%window] {
			b := srcs[sent%window][:sz[sent]]
			Fill(b, uint64(sent))
			c := msgSends[sent%len(msgSends)]
			if c.inject && len(b) > p.A.Info.Tx.InjectSize {
				c = msgSends[0]
			}
			if c.do(p.A, b, 0, core.OpContext(sent)) != nil {
				break
			}
			if c.inject {
				done++
			} else {
				busy[sent%window] = true
			}
			sent++
		}
		p.A.Pump()
		for _, g := range p.A.got {
			if g.Err != nil {
				t.Fatalf("send: %v", g)
			}
			busy[int(g.Ctx)%window] = false
			done++
		}
		p.A.got = p.A.got[:0]
		p.B.Pump()
		for _, g := range p.B.got {
			i := recvd
			if st.Overtakes {
				i = int(g.Ctx)
			}
			if g.Err != nil || g.Ctx != core.OpContext(i) || i >= posted || !open[i%window] || g.Len != sz[i] {
				t.Fatalf("message %d of %d bytes: got %v", i, sz[i], g)
			}
			CheckPattern(t, fmt.Sprint("message ", i), bufs[i%window], g.Len, uint64(i))
			open[i%window] = false
			recvd++
		}
		p.B.got = p.B.got[:0]
		return recvd == total && done == total
	})
}
