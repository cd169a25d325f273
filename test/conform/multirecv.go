package conform

// Multi-receive buffers (fi_msg(3), FI_MULTI_RECV) and directed receives (FI_DIRECTED_RECV).

import (
	"fmt"
	"testing"

	"gofabric/core"
)

func testMultiRecv(t *testing.T, st Stack) {
	if !st.need(t, core.CapMultiRecv) {
		p := Open(t, st)
		refuse(t, "recvmsg with OpMultiRecv",
			p.A.Rx().RecvMsg(&core.MsgArgs{IOV: [][]byte{make([]byte, 64)}, Addr: core.AddrUnspec, Ctx: 1},
				core.OpMultiRecv),
			core.ErrInval, core.ErrBadFlags, core.ErrOpNotSupp, core.ErrNoSys)
		return
	}
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprintf("late=%v", late), func(t *testing.T) { multiRecv(t, st, late) })
	}
	t.Run("cancel", func(t *testing.T) { multiRecvCancel(t, st) })
	t.Run("option", func(t *testing.T) { multiRecvOption(t, st) })
}

// setMinMultiRecv sets FI_OPT_MIN_MULTI_RECV where receives are posted, or on the endpoint.
func setMinMultiRecv(s *Side, n int) error {
	err := s.Rx().SetOpt(core.OptMinMultiRecv, n)
	if err != nil && s.SRX != nil {
		err = s.EP.SetOpt(core.OptMinMultiRecv, n)
	}
	return err
}

func postMulti(p *Pair, s *Side, buf []byte, ctx core.OpContext) {
	p.T.Helper()
	p.Retry("recvmsg with OpMultiRecv", func() error {
		return s.Rx().RecvMsg(&core.MsgArgs{IOV: [][]byte{buf}, Addr: core.AddrUnspec, Ctx: ctx},
			core.OpMultiRecv|core.OpCompletion)
	})
}

// multiRecv fills buffers with messages and checks offsets, data and the release of each buffer.
func multiRecv(t *testing.T, st Stack, late bool) {
	const bufSize, minFree, total = 1024, 64, 200
	p := Open(t, st, WithCaps(core.CapMultiRecv))
	p.B.ok("SetOpt(OptMinMultiRecv)", setMinMultiRecv(p.B, minFree))
	r := rng(5)
	sizes := make([]int, total)
	for i := range sizes {
		sizes[i] = r.intn(min(minFree, p.A.Info.Tx.InjectSize) + 1)
	}
	sent := 0
	send := func() {
		for sent < total && p.A.EP.Inject(Pattern(sizes[sent], uint64(sent)), p.A.Peer) == nil {
			sent++
		}
	}
	if late {
		p.until("all sent", func() bool { send(); return sent == total })
	}
	bufs := map[core.OpContext][]byte{}
	off := map[core.OpContext]int{}
	next := core.OpContext(1)
	post := func() {
		bufs[next] = make([]byte, bufSize)
		postMulti(p, p.B, bufs[next], next)
		next++
	}
	post()
	post()
	cur := core.OpContext(1)
	for i := 0; i < total; {
		var g Got
		p.until(fmt.Sprint("message ", i), func() bool {
			send()
			if len(p.B.got) == 0 {
				return false
			}
			g = p.B.got[0]
			p.B.got = p.B.got[1:]
			return true
		})
		if g.Err != nil {
			t.Fatalf("message %d: %v", i, g)
		}
		standalone := g.Flags&core.CompMultiRecv != 0 && g.Flags&core.CompMsg == 0
		if !standalone {
			o := off[cur]
			if g.Ctx != cur || g.Len != sizes[i] {
				t.Fatalf("message %d: %v; want ctx %d, %d bytes", i, g, cur, sizes[i])
			}
			if g.Len > 0 && &g.Buf[0] != &bufs[cur][o] {
				t.Fatalf("message %d: Buf is not at offset %d of buffer %d", i, o, cur)
			}
			CheckPattern(t, fmt.Sprint("message ", i), bufs[cur][o:], sizes[i], uint64(i))
			off[cur] = o + sizes[i]
			i++
		}
		if g.Flags&core.CompMultiRecv != 0 {
			if free := bufSize - off[cur]; free >= minFree {
				t.Fatalf("buffer %d released with %d bytes free; the minimum is %d", cur, free, minFree)
			}
			cur++
			post()
		} else if free := bufSize - off[cur]; free < minFree && i < total && !standalone {
			p.until("release of a full buffer", func() bool { return len(p.B.got) > 0 })
			if p.B.got[0].Flags&core.CompMultiRecv == 0 {
				t.Fatalf("buffer %d has %d bytes free and was not released", cur, free)
			}
		}
	}
	p.B.got = nil // there may be a release without a message
}

func multiRecvCancel(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapMultiRecv))
	p.B.ok("SetOpt(OptMinMultiRecv)", setMinMultiRecv(p.B, 16))
	buf := make([]byte, 256)
	postMulti(p, p.B, buf, 1)
	p.Retry("inject", func() error { return p.A.EP.Inject(Pattern(40, 1), p.A.Peer) })
	if g := p.Want(p.B, 1); g.Flags&core.CompMultiRecv != 0 {
		t.Errorf("buffer released after 40 of 256 bytes: %v", g)
	}
	p.B.ok("Cancel", p.B.Rx().Cancel(1))
	g := p.WantErr(p.B, 1, core.ErrCanceled)
	if g.Flags&core.CompMultiRecv == 0 {
		t.Errorf("cancel of a multi-receive buffer does not release it: flags %#x", uint64(g.Flags))
	}
	CheckPattern(t, "message before the cancel", buf, 40, 1)
	CheckZero(t, "rest of the buffer", buf[40:])
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 10, 5)
}

func multiRecvOption(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapMultiRecv))
	p.B.ok("SetOpt", setMinMultiRecv(p.B, 777))
	n, err := p.B.Rx().GetOpt(core.OptMinMultiRecv)
	if err != nil && p.B.SRX != nil {
		n, err = p.B.EP.GetOpt(core.OptMinMultiRecv)
	}
	if err != nil || n != 777 {
		t.Errorf("GetOpt(OptMinMultiRecv) = %d, %v; want 777", n, err)
	}
	refuse(t, "recvmsg with OpMultiRecv and two iovs",
		p.B.Rx().RecvMsg(&core.MsgArgs{IOV: make([][]byte, 2), Addr: core.AddrUnspec, Ctx: 1}, core.OpMultiRecv),
		core.ErrInval)
}
