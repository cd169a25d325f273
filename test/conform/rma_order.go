package conform

// Remote memory access (fi_rma(3)): order behind a write, remote CQ data, target counters (FI_RMA_EVENT).

import (
	"context"
	"testing"
	"time"

	"gofabric/core"
)

// rmaOrder checks a send behind a write (FI_ORDER_SAW), a read behind a write (RAW) and a write behind a write (WAW).
func rmaOrder(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapRMA))
	order := p.A.Info.Tx.MsgOrder
	mem := make([]byte, 100000)
	mr := p.B.Reg(mem, allAccess)
	var note [8]byte
	r := rng(3)
	for i := range 200 {
		n := r.intn(len(mem))
		if i%4 != 0 {
			n = r.intn(300)
		}
		src := Pattern(n, uint64(i))
		tail := Pattern(n/2, uint64(i)+1000)
		wr := func(b []byte, c core.OpContext) {
			p.Retry("write", func() error { return p.A.EP.Write(b, 0, p.A.Peer, mr.Base(), mr.Key(), c) })
		}
		p.Retry("recv", func() error { return p.B.Rx().Recv(note[:], 0, core.AddrUnspec, 3) })
		wr(src, 1)
		wr(tail, 2)
		if order&core.OrderSAW != 0 {
			p.Retry("inject", func() error { return p.A.EP.Inject(still[:8], p.A.Peer) })
			p.Want(p.B, 3)
			p.Progress()
			CheckPattern(t, "second write, when a later send arrives", mem, n/2, uint64(i)+1000)
			if string(mem[n/2:n]) != string(src[n/2:]) {
				t.Fatal("the first write is missing when a later send arrives")
			}
		}
		if order&core.OrderRAW != 0 {
			back := make([]byte, n)
			p.Retry("read", func() error { return p.A.EP.Read(back, 0, p.A.Peer, mr.Base(), mr.Key(), 4) })
			p.Want(p.A, 4)
			p.Progress()
			CheckPattern(t, "read behind two writes", back, n/2, uint64(i)+1000)
		}
		if order&core.OrderSAW == 0 {
			p.Retry("inject", func() error { return p.A.EP.Inject(still[:8], p.A.Peer) })
			p.Want(p.B, 3)
		}
		p.Want(p.A, 1)
		p.Want(p.A, 2)
	}
	p.B.ok("Close MR", mr.Close())
}

// rmaData checks that writes with remote CQ data consume no receive, and that plain writes have no completion at the
// target.
func rmaData(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapRMA))
	mem := make([]byte, 64)
	mr := p.B.Reg(mem, allAccess)
	buf := make([]byte, 16)
	posted := !p.B.takesReceives()
	if posted {
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 9) })
	}
	for i := range 20 {
		p.Retry("write", func() error { return p.A.EP.Write(mem[:0:0], 0, p.A.Peer, mr.Base(), mr.Key(), 1) })
		p.Want(p.A, 1)
		p.forData()
		p.Retry("writedata", func() error {
			return p.A.EP.WriteData(Pattern(8, uint64(i)), 0, uint64(i), p.A.Peer, mr.Base(), mr.Key(), 2)
		})
		p.Want(p.A, 2)
		g := p.WantWhere(p.B, "remote CQ data", func(*Got) bool { return true })
		if g.Err != nil || g.Data != uint64(i) || g.Flags&core.CompRemoteWrite == 0 || g.Flags&core.CompRecv != 0 {
			t.Fatalf("target saw %v; want RemoteWrite with data %d", g, i)
		}
		if g.Len != 8 {
			t.Errorf("remote write completion: len %d, want 8", g.Len)
		}
	}
	p.WantNone(p.B)
	if !posted {
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 9) })
	}
	p.Retry("inject", func() error { return p.A.EP.Inject(Pattern(16, 5), p.A.Peer) })
	p.Want(p.B, 9)
	CheckPattern(t, "receive", buf, 16, 5)
	p.B.ok("Close MR", mr.Close())
}

// rmaEvents checks target counters (FI_RMA_EVENT) of the endpoint and of the region.
func rmaEvents(t *testing.T, st Stack) {
	if !st.need(t, core.CapRMA|core.CapRMAEvent) {
		return
	}
	var rd, wr *core.Counter
	p := Open(t, st, WithCaps(core.CapRMA|core.CapRMAEvent), WithBefore(func(s *Side) {
		if s.Name != "B" {
			return
		}
		open := func() *core.Counter {
			return must(t, "OpenCounter", func() (*core.Counter, error) {
				return s.Domain.OpenCounter(core.CntrAttr{WaitObj: core.WaitUnspec})
			})
		}
		rd, wr = open(), open()
		s.ok("BindCounter RemoteRead", s.EP.BindCounter(rd, core.BindRemoteRead))
		s.ok("BindCounter RemoteWrite", s.EP.BindCounter(wr, core.BindRemoteWrite))
	}))
	mem := make([]byte, 5000)
	mrc := must(t, "OpenCounter", func() (*core.Counter, error) { return p.B.Domain.OpenCounter(core.CntrAttr{WaitObj: core.WaitUnspec}) })
	mr := must(t, "RegMR", func() (*core.MemoryRegion, error) {
		return p.B.RegAttr(&core.MRAttr{IOV: [][]byte{mem}, Access: allAccess, RequestedKey: 9, Flags: core.MRRMAEvent},
			func(mr *core.MemoryRegion) {
				p.B.ok("BindCounter of the region", mr.BindCounter(mrc, core.BindRemoteWrite))
			})
	})
	const n = 25
	buf := make([]byte, 5000)
	for i := range n {
		p.Retry("write", func() error { return p.A.EP.Write(buf[:i*100], 0, p.A.Peer, mr.Base(), mr.Key(), core.OpContext(i)) })
		p.Want(p.A, core.OpContext(i))
	}
	least := 0
	if st.NoEmptyReads {
		least = 1
	}
	for i := range 2 * n {
		p.Retry("read", func() error {
			return p.A.EP.Read(buf[:max(i*10, least)], 0, p.A.Peer, mr.Base(), mr.Key(), core.OpContext(i))
		})
		p.Want(p.A, core.OpContext(i))
	}
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	for _, c := range []struct {
		name string
		c    *core.Counter
		want uint64
	}{{"RemoteWrite", wr, n}, {"RemoteRead", rd, 2 * n}, {"region", mrc, n}} {
		if err := c.c.Wait(ctx, c.want); err != nil {
			t.Errorf("%s counter: %v at %d, want %d", c.name, err, c.c.Value(), c.want)
		}
	}
	time.Sleep(time.Millisecond) // what counts twice would do so meanwhile
	if wr.Value() != n || rd.Value() != 2*n || mrc.Value() != n {
		t.Errorf("counters %d, %d, %d; want %d, %d, %d", wr.Value(), rd.Value(), mrc.Value(), n, 2*n, n)
	}
	p.B.ok("Close MR", mr.Close())
	p.B.ok("Close counter", mrc.Close())
	refuse(t, "Close of a bound counter", wr.Close(), core.ErrBusy)
	p.B.CloseEP()
	p.B.ok("Close counter", rd.Close())
	p.B.ok("Close counter", wr.Close())
}
