package conform

// The flags of the msg calls (fi_msg(3), fi_rma(3), fi_atomic(3)) on transmits of every kind: FI_MORE, FI_COMPLETION,
// FI_INJECT. Also fi_cancel(3) of transmits.

import (
	"fmt"
	"testing"

	"gofabric/core"
)

func testFlags(t *testing.T, st Stack) {
	t.Run("more", func(t *testing.T) { flagMore(t, st) })
	t.Run("selective", func(t *testing.T) { flagSelective(t, st) })
	t.Run("inject", func(t *testing.T) { flagInject(t, st) })
	t.Run("cancel", func(t *testing.T) { flagCancel(t, st) })
	t.Run("peekcounts", func(t *testing.T) { peekCounts(t, st) })
}

// txKind is a kind of transmit call. Its data are at the target when it has completed with OpDeliveryComplete, or when
// a later operation with it has.
type txKind struct {
	name string
	dir  core.BindFlags // the direction that its counter counts
	post func(f *flagged, buf []byte, ctx core.OpContext, flags core.OpFlags) error
}

// flagged is a pair with memory at B for calls of every kind, and the buffers of B's receives.
type flagged struct {
	*Pair
	t     *testing.T
	kinds []txKind
	mem   []byte // of B: target of writes and reads
	mr    *core.MemoryRegion
	got   []byte // B receives into it
	res   []byte // results of fetching atomics
	cmp   []byte
}

func openFlagged(t *testing.T, st Stack, opts ...Option) *flagged {
	caps := core.CapMsg
	for _, c := range []core.Caps{core.CapTagged, core.CapRMA, core.CapAtomic, core.CapFence} {
		if st.Offers(t, c) {
			caps |= c
		}
	}
	f := &flagged{Pair: Open(t, st, append(opts, WithCaps(caps))...), t: t, mem: make([]byte, 4096),
		got: make([]byte, 4096), res: make([]byte, 64), cmp: make([]byte, 64)}
	for _, k := range txKinds {
		if caps&k.cap != 0 {
			f.kinds = append(f.kinds, k.txKind)
		}
	}
	if caps&(core.CapRMA|core.CapAtomic) != 0 {
		f.mr = f.B.Reg(f.mem, allAccess)
		t.Cleanup(func() { f.mr.Close() })
	}
	return f
}

func (f *flagged) rma(buf []byte, ctx core.OpContext) *core.RMAArgs {
	return &core.RMAArgs{IOV: [][]byte{buf}, Addr: f.A.Peer,
		RMAIOV: riov(f.mr.Base(), f.mr.Key(), len(buf), 1), Ctx: ctx}
}

func (f *flagged) atomic(buf []byte, ctx core.OpContext, op core.AtomicOp) *core.AtomicArgs {
	return &core.AtomicArgs{IOV: [][]byte{buf}, Addr: f.A.Peer,
		RMAIOC: []core.RMAIoc{{Addr: f.mr.Base(), Count: len(buf), Key: f.mr.Key()}},
		Type:   core.Uint8, Op: op, Ctx: ctx}
}

var txKinds = []struct {
	cap core.Caps
	txKind
}{
	{core.CapMsg, txKind{"send", core.BindSend,
		func(f *flagged, buf []byte, ctx core.OpContext, flags core.OpFlags) error {
			return f.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{buf}, Addr: f.A.Peer, Ctx: ctx}, flags)
		}}},
	{core.CapTagged, txKind{"tsend", core.BindSend,
		func(f *flagged, buf []byte, ctx core.OpContext, flags core.OpFlags) error {
			return f.A.EP.TSendMsg(&core.TaggedArgs{IOV: [][]byte{buf}, Addr: f.A.Peer, Tag: 5, Ctx: ctx}, flags)
		}}},
	{core.CapRMA, txKind{"write", core.BindWrite,
		func(f *flagged, buf []byte, ctx core.OpContext, flags core.OpFlags) error {
			return f.A.EP.WriteMsg(f.rma(buf, ctx), flags)
		}}},
	{core.CapAtomic, txKind{"atomic", core.BindWrite,
		func(f *flagged, buf []byte, ctx core.OpContext, flags core.OpFlags) error {
			return f.A.EP.Atomic(f.atomic(buf, ctx, core.AtomicWrite), flags)
		}}},
	{core.CapAtomic, txKind{"fetch", core.BindRead,
		func(f *flagged, buf []byte, ctx core.OpContext, flags core.OpFlags) error {
			return f.A.EP.FetchAtomic(f.atomic(buf, ctx, core.AtomicWrite), [][]byte{f.res[:len(buf)]}, nil, flags)
		}}},
	{core.CapAtomic, txKind{"compare", core.BindRead,
		func(f *flagged, buf []byte, ctx core.OpContext, flags core.OpFlags) error {
			for i := range f.cmp {
				f.cmp[i] = 255 // all bits
			}
			err := f.A.EP.CompareAtomic(f.atomic(buf, ctx, core.AtomicMSwap), [][]byte{f.cmp[:len(buf)]}, nil,
				[][]byte{f.res[:len(buf)]}, nil, flags)
			if flags&core.OpInject != 0 {
				clear(f.cmp)
			}
			return err
		}}},
	{core.CapRMA, txKind{"read", core.BindRead,
		func(f *flagged, buf []byte, ctx core.OpContext, flags core.OpFlags) error {
			return f.A.EP.ReadMsg(f.rma(buf, ctx), flags)
		}}},
}

// expect prepares B for one call of the kind. A receive, if there is one, has the context ctx.
func (f *flagged) expect(k txKind, ctx core.OpContext) {
	f.t.Helper()
	switch k.name {
	case "send":
		f.Retry("recv", func() error { return f.B.Rx().Recv(f.got, 0, core.AddrUnspec, ctx) })
	case "tsend":
		f.Retry("trecv", func() error { return f.B.Rx().TRecv(f.got, 0, core.AddrUnspec, 5, 0, ctx) })
	}
}

// arrived checks that n bytes of Pattern seed have arrived where a call of the kind puts them.
func (f *flagged) arrived(k txKind, ctx core.OpContext, n int, seed uint64) {
	f.t.Helper()
	switch k.name {
	case "send", "tsend":
		f.Want(f.B, ctx)
		CheckPattern(f.t, k.name, f.got, n, seed)
	case "read":
	default:
		settle(f.Pair, f.mr)
		CheckPattern(f.t, k.name, f.mem, n, seed)
	}
}

// flagMore posts chains with FI_MORE. The flag is a hint: a chain without an end is transmitted by the next read of
// the queue.
func flagMore(t *testing.T, st Stack) {
	f := openFlagged(t, st)
	for _, k := range f.kinds {
		for _, last := range []core.OpFlags{core.OpCompletion, core.OpCompletion | core.OpMore} {
			const n = 10
			for i := range n {
				flags := core.OpCompletion | core.OpMore
				if i == n-1 {
					flags = last
				}
				f.expect(k, core.OpContext(100+i))
				buf := Pattern(16, uint64(i))
				f.Retry(k.name, func() error { return k.post(f, buf, core.OpContext(i), flags) })
			}
			for i := range n {
				f.Want(f.A, core.OpContext(i))
				if k.dir == core.BindSend {
					f.Want(f.B, core.OpContext(100+i))
				}
			}
			if k.dir == core.BindSend {
				CheckPattern(t, k.name, f.got, 16, n-1)
			} else if k.name != "read" {
				settle(f.Pair, f.mr)
				CheckPattern(t, k.name, f.mem, 16, n-1)
			}
		}
	}
}

// flagSelective checks that calls without FI_COMPLETION are only counted, on an endpoint with selective completion.
func flagSelective(t *testing.T, st Stack) {
	var a counters
	f := openFlagged(t, st, WithSelective(),
		WithHints(func(h *core.Info) { h.Tx.OpFlags, h.Rx.OpFlags = 0, core.OpCompletion }), WithBefore(func(s *Side) {
			if s.Name == "A" {
				a = counters{}
				for _, d := range counterDirs[:4] {
					a[d] = must(t, "OpenCounter", func() (*core.Counter, error) { return s.Domain.OpenCounter(core.CntrAttr{WaitObj: core.WaitUnspec}) })
					s.ok("BindCounter", s.EP.BindCounter(a[d], d))
				}
			}
		}))
	sum := map[core.BindFlags]uint64{}
	for i, k := range f.kinds {
		for j, flags := range []core.OpFlags{0, core.OpCompletion, core.OpMore, core.OpDeliveryComplete,
			core.OpInject, core.OpInject | core.OpCompletion} {
			ctx := core.OpContext(10*i + j)
			f.expect(k, 1000+ctx)
			f.Retry(k.name, func() error { return k.post(f, Pattern(16, uint64(ctx)), ctx, flags) })
			sum[k.dir]++
			if flags&core.OpCompletion != 0 {
				f.Want(f.A, ctx)
			} else {
				f.until("counter of "+k.name, func() bool { return a[k.dir].Value() >= sum[k.dir] })
			}
			if k.dir == core.BindSend {
				f.arrived(k, 1000+ctx, 16, uint64(ctx))
			}
			if got := a[k.dir].Value(); got != sum[k.dir] {
				t.Errorf("%s with %s: counter at %d, want %d", k.name, flags.String(), got, sum[k.dir])
			}
		}
	}
	f.WantNone(f.A)
	f.WantNone(f.B)
	if f.mr != nil {
		f.mr.Close()
	}
	a.close(f.A)
}

// flagInject overwrites the buffers of calls with FI_INJECT at once, even of calls that wait behind a fence. A buffer
// that is too long is refused.
func flagInject(t *testing.T, st Stack) {
	f := openFlagged(t, st)
	fence := f.A.Info.Caps&core.CapFence != 0 && f.mr != nil
	far := make([]byte, len(f.mem))
	for i, k := range f.kinds {
		ctx := core.OpContext(100 * (i + 1))
		for j, flags := range []core.OpFlags{0, core.OpMore, core.OpFence} {
			ctx, seed := ctx+core.OpContext(4*j), uint64(10*i+j)
			if flags == core.OpFence {
				if !fence {
					continue
				}
				f.Retry("read", func() error { return f.A.EP.Read(far, 0, f.A.Peer, f.mr.Base(), f.mr.Key(), ctx+1) })
			}
			f.expect(k, ctx+2)
			buf := Pattern(32, seed)
			f.Retry(k.name, func() error {
				err := k.post(f, buf, ctx, core.OpInject|core.OpCompletion|flags)
				if err == nil && k.name != "read" {
					clear(buf)
				}
				return err
			})
			if flags == core.OpFence {
				f.Want(f.A, ctx+1)
			}
			f.Want(f.A, ctx)
			f.arrived(k, ctx+2, 32, seed)
		}
		long := make([]byte, f.A.Info.Tx.InjectSize+1)
		if len(long) > len(f.mem) || k.name == "fetch" || k.name == "compare" {
			continue
		}
		err := f.TryPost(func() error { return k.post(f, long, ctx+20, core.OpInject|core.OpCompletion) })
		if k.name == "read" { // a read has nothing to inject
			f.A.ok("read with Inject", err)
			f.Want(f.A, ctx+20)
			continue
		}
		refuse(t, k.name+" of too much", err, core.ErrInval, core.ErrMsgSize)
	}
}

// flagCancel has calls of every kind wait behind a fence and an unreceived message, and cancels them.
func flagCancel(t *testing.T, st Stack) {
	f := openFlagged(t, st)
	for _, s := range []*Side{f.A, f.B} {
		refuse(t, "Cancel of an unknown context", s.EP.Cancel(77), core.ErrNoEnt)
	}
	if st.Foreign || f.A.Info.Caps&core.CapFence == 0 || !offersLevel(t, st, core.OpMatchComplete) {
		return // these calls complete soon
	}
	was := fmt.Sprint(f.mem)
	f.Retry("sendmsg", func() error {
		return f.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{still[:8]}, Addr: f.A.Peer, Ctx: 1},
			core.OpMatchComplete|core.OpCompletion)
	})
	for round := range core.OpContext(2) {
		for i, k := range f.kinds {
			buf := Pattern(40, 3)
			f.Retry(k.name, func() error {
				return k.post(f, buf, 10+core.OpContext(i),
					core.OpFence|core.OpCompletion|core.OpFlags(round)*core.OpInject)
			})
		}
		f.quiet("behind a fence")
		for i := range f.kinds {
			ctx := 10 + core.OpContext((i+3)%len(f.kinds))
			f.A.ok("Cancel", f.A.EP.Cancel(ctx))
			f.WantErr(f.A, ctx, core.ErrCanceled)
			refuse(t, "second Cancel", f.A.EP.Cancel(ctx), core.ErrNoEnt)
		}
	}
	f.Retry("send", func() error { return f.A.EP.Send(still[:8], 0, f.A.Peer, 2) })
	for ctx := range core.OpContext(2) {
		f.Retry("recv", func() error { return f.B.Rx().Recv(f.got, 0, core.AddrUnspec, 50+ctx) })
		f.Want(f.B, 50+ctx)
		f.Want(f.A, 1+ctx)
	}
	if f.mr != nil {
		settle(f.Pair, f.mr)
	}
	if fmt.Sprint(f.mem) != was {
		t.Error("a canceled operation has written")
	}
}

// peekCounts checks that counters count receives, but not peeks (FI_PEEK).
func peekCounts(t *testing.T, st Stack) {
	if !st.need(t, core.CapTagged) {
		return
	}
	var c *core.Counter
	p := Open(t, st, WithCaps(core.CapTagged), WithBefore(func(s *Side) {
		if s.Name == "B" {
			c = must(t, "OpenCounter",
				func() (*core.Counter, error) { return s.Domain.OpenCounter(core.CntrAttr{WaitObj: core.WaitUnspec}) })
			s.ok("BindCounter", s.EP.BindCounter(c, core.BindRecv))
		}
	}))
	arrive(p, 100, 5, 6, 7) // contains one receive
	p.wantSends(3)
	for i, o := range []struct {
		tag   uint64
		flags core.OpFlags
	}{{5, 0}, {6, core.OpDiscard}, {7, core.OpClaim}} {
		p.Retry("peek", func() error { return peek(p.B, o.tag, 0, core.OpContext(10+i), o.flags) })
		p.Want(p.B, core.OpContext(10+i))
	}
	p.Retry("peek", func() error { return peek(p.B, 99, 0, 20, 0) })
	p.WantErr(p.B, 20, core.ErrNoMsg)
	if c.Value() != 1 || c.ErrValue() != 0 {
		t.Errorf("after peeking: %d and %d errors, want 1 and 0", c.Value(), c.ErrValue())
	}
	buf := make([]byte, 200)
	p.Retry("trecv", func() error { return p.B.Rx().TRecv(buf, 0, core.AddrUnspec, 5, 0, 30) })
	p.Want(p.B, 30)
	p.Retry("claim", func() error {
		return p.B.Rx().TRecvMsg(&core.TaggedArgs{IOV: [][]byte{buf}, Addr: core.AddrUnspec, Tag: 7, Ctx: 12},
			core.OpClaim)
	})
	p.Want(p.B, 12)
	if c.Value() != 3 || c.ErrValue() != 0 {
		t.Errorf("after receiving: %d and %d errors, want 3 and 0", c.Value(), c.ErrValue())
	}
	p.B.CloseEP()
	p.B.ok("Close counter", c.Close())
}
