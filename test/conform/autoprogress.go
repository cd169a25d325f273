package conform

// Automatic progress (fi_domain(3), FI_PROGRESS_AUTO). A target that makes no calls after posting serves everything.

import (
	"testing"

	"gofabric/core"
)

func testAutoProgress(t *testing.T, st Stack) {
	if st.Manual {
		if _, err := st.info("", autoHints(st)); err != nil {
			refuse(t, "GetInfo with automatic progress", err, core.ErrNoData)
			return
		}
	}
	caps := core.CapMsg
	for _, c := range []core.Caps{core.CapRMA, core.CapTagged} {
		if st.Offers(t, c) {
			caps |= c
		}
	}
	n := min(3<<20, st.maxSize())
	p := Open(t, st, WithCaps(caps), withAuto())
	mem := Pattern(n, 1)
	recv := make([]byte, n)
	tagged := make([]byte, n)
	p.Retry("recv", func() error { return p.B.Rx().Recv(recv, 0, core.AddrUnspec, 1) })
	if caps&core.CapTagged != 0 {
		p.Retry("trecv", func() error { return p.B.Rx().TRecv(tagged, 0, core.AddrUnspec, 7, 0, 2) })
	}
	var mr *core.MemoryRegion
	if caps&core.CapRMA != 0 {
		mr = p.B.Reg(mem, allAccess)
	}
	p.B.Asleep = true // no calls into B from here on; an RDM endpoint is not even connected yet

	if mr != nil {
		dst := make([]byte, n)
		p.Retry("read", func() error { return p.A.EP.Read(dst, 0, p.A.Peer, mr.Base(), mr.Key(), 10) })
		p.Want(p.A, 10)
		CheckPattern(t, "read from a sleeping target", dst, n, 1)
		src := Pattern(n, 2)
		p.Retry("write", func() error {
			return p.A.EP.WriteMsg(&core.RMAArgs{IOV: [][]byte{src}, Addr: p.A.Peer,
				RMAIOV: riov(mr.Base(), mr.Key(), n, 1), Ctx: 11}, core.OpDeliveryComplete)
		})
		p.Want(p.A, 11)
		for i := range 50 { // small ones, one at a time: each needs an answer of the target
			p.Retry("read", func() error { return p.A.EP.Read(dst[:8], 0, p.A.Peer, mr.Base(), mr.Key(), core.OpContext(100+i)) })
			p.Want(p.A, core.OpContext(100+i))
		}
	}
	src := Pattern(n, 3)
	p.Retry("send", func() error {
		return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{src}, Addr: p.A.Peer, Ctx: 12}, core.OpDeliveryComplete)
	})
	p.Want(p.A, 12)
	if caps&core.CapTagged != 0 {
		p.Retry("tsend", func() error {
			return p.A.EP.TSendMsg(&core.TaggedArgs{IOV: [][]byte{src}, Addr: p.A.Peer, Tag: 7, Ctx: 13},
				core.OpDeliveryComplete)
		})
		p.Want(p.A, 13)
	}
	// Its memory may be read only after a call into the library, which orders the reads behind the transfers.
	p.B.Asleep = false
	p.Want(p.B, 1)
	CheckPattern(t, "message to a sleeping target", recv, n, 3)
	if caps&core.CapTagged != 0 {
		p.Want(p.B, 2)
		CheckPattern(t, "large tagged message to a sleeping target", tagged, n, 3)
	}
	if mr != nil {
		CheckPattern(t, "write to a sleeping target", mem, n, 2)
		p.B.ok("Close MR", mr.Close())
	}
	sleepySender(p)
}

func autoHints(st Stack) *core.Info {
	h := st.hints(core.CapMsg)
	h.Domain.DataProgress = core.ProgressAuto
	return h
}

// sleepySender checks that posted sends leave although the application makes no further calls.
func sleepySender(p *Pair) {
	p.T.Helper()
	n := min(3<<20, p.Stack.maxSize())
	bufs := [3][]byte{make([]byte, n), make([]byte, 8), make([]byte, 8)}
	for i := range bufs {
		p.Retry("recv", func() error { return p.B.Rx().Recv(bufs[i], 0, core.AddrUnspec, core.OpContext(30+i)) })
	}
	p.Retry("send", func() error { return p.A.EP.Send(Pattern(n, 9), 0, p.A.Peer, 40) })
	p.Retry("send", func() error { return p.A.EP.Send(Pattern(8, 10), 0, p.A.Peer, 41) })
	p.Retry("inject", func() error { return p.A.EP.Inject(Pattern(8, 11), p.A.Peer) })
	p.A.Asleep = true
	for i := range bufs {
		g := p.Want(p.B, core.OpContext(30+i))
		CheckPattern(p.T, "message of a sleeping sender", bufs[i], g.Len, uint64(9+i))
	}
	p.A.Asleep = false
	p.Want(p.A, 40)
	p.Want(p.A, 41)
}
