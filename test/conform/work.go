package conform

// Deferred work (fi_trigger(3), "DEFERRED WORK QUEUES"): all kinds, chains, errors, cancel and flush.

import (
	"testing"
	"time"

	"gofabric/core"
)

func testWork(t *testing.T, st Stack) {
	if !st.need(t, core.CapTrigger) {
		return
	}
	t.Run("kinds", func(t *testing.T) { workKinds(t, st) })
	t.Run("chain", func(t *testing.T) { workChain(t, st) })
	t.Run("many", func(t *testing.T) { workMany(t, st) })
	t.Run("reported", func(t *testing.T) { workReported(t, st) })
	t.Run("flush", func(t *testing.T) { workFlush(t, st) })
	t.Run("errors", func(t *testing.T) { workErrors(t, st) })
	if st.EPType == core.EPTypeRDM {
		t.Run("tree", func(t *testing.T) { workTree(t, st) })
	}
}

// rxObject returns the object of deferred receives: the shared context if there is one, otherwise the endpoint.
func (s *Side) rxObject() core.Object {
	if s.SRX != nil {
		return s.SRX
	}
	return s.EP
}

// queue queues w on the side's domain.
func (s *Side) queue(w core.DeferredWork) {
	s.T.Helper()
	s.ok("QueueWork", s.Domain.QueueWork(&w))
}

// sendWork returns a deferred send of the side.
func (s *Side) sendWork(buf []byte, to core.FIAddr, trig *core.Counter, at uint64,
	done *core.Counter) core.DeferredWork {
	return core.DeferredWork{Threshold: at, TriggeringCntr: trig, CompletionCntr: done, OpType: core.OpSend,
		Msg: &core.OpMsg{EP: s.EP, Msg: core.MsgArgs{IOV: [][]byte{buf}, Addr: to}}}
}

// recvWork returns a deferred receive of the side.
func (s *Side) recvWork(buf []byte, trig *core.Counter, at uint64, done *core.Counter) core.DeferredWork {
	return core.DeferredWork{Threshold: at, TriggeringCntr: trig, CompletionCntr: done, OpType: core.OpRecv,
		Msg: &core.OpMsg{EP: s.rxObject(), Msg: core.MsgArgs{IOV: [][]byte{buf}, Addr: core.AddrUnspec}}}
}

// workKinds queues all eleven kinds. Each completion advances a counter that triggers the next, so the whole sequence
// runs without calls.
func workKinds(t *testing.T, st Stack) {
	caps := workCaps(t, st)
	p := Open(t, st, WithCaps(caps))
	a, b, set := p.A.counter(), p.B.counter(), p.A.counter()
	out, in, tin, read, fetched, compared := Pattern(64, 5), make([]byte, 64), make([]byte, 64), make([]byte, 64),
		make([]byte, 64), make([]byte, 64)
	p.B.queue(p.B.recvWork(in, b, 0, b))
	step := uint64(1) // A's counter is 0, so nothing starts yet
	next := func(op core.OpType, w core.DeferredWork) {
		t.Helper()
		w.OpType, w.TriggeringCntr, w.CompletionCntr, w.Threshold = op, a, a, step
		step++
		p.A.queue(w)
	}
	next(core.OpSend, p.A.sendWork(out, p.A.Peer, a, 0, a))
	received := uint64(1)
	if caps&core.CapTagged != 0 {
		tagged := func(ep core.Object, buf []byte, to core.FIAddr) *core.OpTagged {
			return &core.OpTagged{EP: ep, Msg: core.TaggedArgs{IOV: [][]byte{buf}, Addr: to, Tag: 0xcafe}}
		}
		p.B.queue(core.DeferredWork{OpType: core.OpTRecv, TriggeringCntr: b, Threshold: 1, CompletionCntr: b,
			Tagged: tagged(p.B.rxObject(), tin, core.AddrUnspec)})
		next(core.OpTSend, core.DeferredWork{Tagged: tagged(p.A.EP, out, p.A.Peer)})
		received++
	}
	mem := make([]byte, 64)
	if caps&core.CapRMA != 0 {
		mr := p.B.Reg(mem, allAccess)
		defer func() { p.B.ok("Close MR", mr.Close()) }()
		rma := func(buf []byte, flags core.OpFlags) core.DeferredWork {
			return core.DeferredWork{RMA: &core.OpRMA{EP: p.A.EP, Flags: flags,
				Msg: core.RMAArgs{IOV: p.A.tx(buf, 2), Addr: p.A.Peer,
					RMAIOV: []core.RMAIov{{Addr: mr.Base(), Len: 64, Key: mr.Key()}}}}}
		}
		next(core.OpWrite, rma(out, core.OpDeliveryComplete))
		next(core.OpRead, rma(read, 0))
		if caps&core.CapAtomic != 0 {
			at := func(op core.AtomicOp, flags core.OpFlags) core.DeferredWork {
				return core.DeferredWork{Atomic: &core.OpAtomicArgs{EP: p.A.EP, Flags: flags,
					Result: [][]byte{fetched}, Compare: [][]byte{out},
					Msg: core.AtomicArgs{IOV: [][]byte{out}, Addr: p.A.Peer,
						RMAIOC: []core.RMAIoc{{Addr: mr.Base(), Count: 64, Key: mr.Key()}}, Type: core.Uint8, Op: op}}}
			}
			next(core.OpAtomic, at(core.AtomicBXor, core.OpDeliveryComplete))
			next(core.OpFetchAtomic, at(core.AtomicBOr, 0))
			last := at(core.AtomicCSwap, 0)
			last.Atomic.Result = [][]byte{compared}
			next(core.OpCompareAtomic, last)
		}
	}
	p.A.queue(core.DeferredWork{OpType: core.OpCntrSet, TriggeringCntr: a, Threshold: step,
		Cntr: &core.OpCntr{Cntr: set, Value: 40}})
	p.A.queue(core.DeferredWork{OpType: core.OpCntrAdd, TriggeringCntr: set, Threshold: 40,
		Cntr: &core.OpCntr{Cntr: set, Value: 2}})
	p.quiet("work")
	if a.Value() != 0 || b.Value() != 0 {
		t.Fatalf("before the start: %d, %d", a.Value(), b.Value())
	}
	p.A.ok("Add", a.Add(1))
	p.A.wantCount("the end of all work", set, 42)
	p.B.wantCount("receives", b, received)
	if a.Value() != step || a.ErrValue() != 0 {
		t.Errorf("counted %d, %d errors; want %d", a.Value(), a.ErrValue(), step)
	}
	CheckPattern(t, "deferred message", in, 64, 5)
	if caps&core.CapTagged != 0 {
		CheckPattern(t, "deferred tagged message", tin, 64, 5)
	}
	if caps&core.CapRMA != 0 {
		CheckPattern(t, "deferred read of a deferred write", read, 64, 5)
	}
	if caps&core.CapAtomic != 0 {
		CheckZero(t, "a pattern combined with itself", fetched)
		CheckPattern(t, "compared", compared, 64, 5)
	}
}

// workChain queues a whole ping-pong at both ends and makes no further calls. Each end answers without the
// application, and the last message has passed all rounds.
func workChain(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapTrigger), withAuto())
	a, b := p.A.counter(), p.B.counter() // they count receives
	const rounds = 100
	start := Pattern(100, 8)
	var bufs [2][rounds][]byte
	for i := range uint64(rounds) {
		bufs[0][i], bufs[1][i] = make([]byte, 100), make([]byte, 100)
		p.A.queue(p.A.recvWork(bufs[0][i], a, i, a))
		p.B.queue(p.B.recvWork(bufs[1][i], b, i, b))
		p.B.queue(p.B.sendWork(bufs[1][i], p.B.Peer, b, i+1, nil))
		if i > 0 {
			p.A.queue(p.A.sendWork(bufs[0][i-1], p.A.Peer, a, i, nil))
		}
	}
	p.B.Asleep = true
	p.Retry("inject", func() error { return p.A.EP.Inject(start, p.A.Peer) })
	p.A.Asleep = true
	p.A.wantCount("the chain", a, rounds)
	p.A.Asleep, p.B.Asleep = false, false
	if n := b.Value(); n != rounds {
		t.Errorf("B received %d", n)
	}
	CheckPattern(t, "message after all rounds", bufs[0][rounds-1], 100, 8)
}

// workMany queues more operations than any queue holds, with thresholds in the past. All of them start in the end, in
// order.
func workMany(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapTrigger))
	c, sent := p.A.counter(), p.A.counter()
	const n = 3000
	out := make([]byte, 4*n)
	p.A.ok("Add", c.Add(1000))
	for i := range n {
		out[4*i], out[4*i+1] = byte(i), byte(i>>8)
		w := p.A.sendWork(out[4*i:4*i+4], p.A.Peer, c, uint64(i%900), sent)
		if i%2 == 0 {
			w.Msg.Flags = core.OpDeliveryComplete // it takes a place in the transmit queue until the peer has it
		}
		p.A.queue(w)
	}
	in := make([]byte, 4)
	for i := range n {
		p.Retry("recv", func() error { return p.B.Rx().Recv(in, 0, core.AddrUnspec, 1) })
		p.Want(p.B, 1)
		if got := int(in[0]) | int(in[1])<<8; got != i {
			t.Fatalf("message %d arrived as number %d", got, i)
		}
	}
	p.until("all sends are counted", func() bool { return sent.Value() == n })
}

// workReported requests completions at the endpoint, and checks the endpoint's counters.
func workReported(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapTrigger))
	a, b := p.A.counter(), p.B.counter()
	out, in := Pattern(32, 2), make([]byte, 32)
	r := p.B.recvWork(in, b, 0, b)
	r.Msg.Flags, r.Msg.Msg.Ctx = core.OpCompletion, 7
	p.B.queue(r)
	s := p.A.sendWork(out, p.A.Peer, a, 1, a)
	s.Msg.Flags, s.Msg.Msg.Ctx = core.OpCompletion, 8
	p.A.queue(s)
	p.quiet("work")
	p.A.ok("AddErr", a.AddErr(1)) // failures count for thresholds of deferred work
	p.Want(p.A, 8)
	if g := p.Want(p.B, 7); g.Len != 32 {
		t.Errorf("received %d bytes", g.Len)
	}
	CheckPattern(t, "message", in, 32, 2)
	if a.Value() != 1 || b.Value() != 1 {
		t.Errorf("counted %d, %d", a.Value(), b.Value())
	}
}

// workFlush cancels and flushes work, and closes objects that work names.
func workFlush(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapTrigger))
	c, d, done := p.A.counter(), p.A.counter(), p.A.counter()
	work := func(ctx core.OpContext, trig *core.Counter, flags core.OpFlags) {
		t.Helper()
		w := p.A.sendWork(still[:8], p.A.Peer, trig, 1, done)
		w.Ctx, w.Msg.Msg.Ctx, w.Msg.Flags = ctx, ctx, flags
		p.A.queue(w)
	}
	work(1, c, 0)
	work(2, c, core.OpCompletion)
	refuse(t, "Close of the triggering counter", c.Close(), core.ErrBusy)
	refuse(t, "Close of the completion counter", done.Close(), core.ErrBusy)
	p.A.ok("CancelWork", p.A.Domain.CancelWork(1))
	refuse(t, "second CancelWork", p.A.Domain.CancelWork(1), core.ErrNoEnt)
	p.quiet("silent work that was canceled")
	p.A.ok("CancelWork", p.A.Domain.CancelWork(2))
	p.WantErr(p.A, 2, core.ErrCanceled)
	work(3, c, 0)
	work(4, d, 0)
	p.A.ok("FlushWork of a counter", p.A.Domain.FlushWork(c))
	refuse(t, "CancelWork of flushed work", p.A.Domain.CancelWork(3), core.ErrNoEnt)
	p.A.ok("CancelWork of other work", p.A.Domain.CancelWork(4))
	work(5, c, 0)
	work(6, d, core.OpCompletion)
	p.A.ok("FlushWork", p.A.Domain.FlushWork(nil))
	p.WantErr(p.A, 6, core.ErrCanceled)
	p.A.ok("Add", c.Add(1))
	p.A.ok("Add", d.Add(1))
	if done.Value() != 0 || done.ErrValue() != 0 {
		t.Errorf("canceled work was counted: %d, %d", done.Value(), done.ErrValue())
	}
	p.A.ok("Set", c.Set(0))
	work(7, c, core.OpCompletion)
	p.A.queue(core.DeferredWork{Ctx: 8, OpType: core.OpCntrAdd, TriggeringCntr: c, Threshold: 1,
		Cntr: &core.OpCntr{Cntr: done, Value: 5}})
	if p.A.SRX == nil {
		p.A.queue(p.A.recvWork(make([]byte, 8), c, 0, done)) // starts at once, and is pending until the endpoint closes
		refuse(t, "Close of the completion counter of what is under way", done.Close(), core.ErrBusy)
	}
	p.A.CloseEP() // drops the endpoint's work, but not the counter's
	p.A.ok("Add", c.Add(1))
	if done.Value() != 5 {
		t.Errorf("the counter's work: %d, want 5", done.Value())
	}
}

// workErrors checks that failures are counted as errors, both at the start and later.
func workErrors(t *testing.T, st Stack) {
	p := Open(t, st, WithCaps(core.CapTrigger|core.CapRMA))
	c, done, recv := p.A.counter(), p.A.counter(), p.B.counter()
	p.B.queue(p.B.recvWork(make([]byte, 4), recv, 0, recv))
	p.A.queue(p.A.sendWork(still[:8], p.A.Peer, c, 0, done)) // longer than the receive
	p.until("the truncated receive", func() bool { return recv.ErrValue() == 1 })
	p.A.wantCount("the send", done, 1)
	p.A.queue(core.DeferredWork{OpType: core.OpRead, TriggeringCntr: c,
		CompletionCntr: done, RMA: &core.OpRMA{EP: p.A.EP,
			Msg: core.RMAArgs{IOV: [][]byte{make([]byte, 8)}, Addr: p.A.Peer,
				RMAIOV: []core.RMAIov{{Addr: 0, Len: 8, Key: 0xbad}}}}})
	p.untilFor(st.bounded(), "the read of unregistered memory", func() bool { return done.ErrValue() == 1 })
	bad := p.A.sendWork(still[:8], p.A.Peer, c, 5, done)
	bad.Threshold, bad.Msg.Msg.IOV = 0, make([][]byte, 100)
	refuse(t, "QueueWork with too many buffers", p.A.Domain.QueueWork(&bad), core.ErrInval)
	bad.OpType = 77
	refuse(t, "QueueWork of an unknown kind", p.A.Domain.QueueWork(&bad), core.ErrNoSys)
	if st.EPType == core.EPTypeRDM {
		p.A.queue(p.A.sendWork(still[:8], 12345, c, 0, done)) // no such index in the vector
		p.until("the send to an unknown index", func() bool { return done.ErrValue() == 2 })
	}
	p.Forget() // connections may have ended
	if done.Value() != 1 || recv.Value() != 0 {
		t.Errorf("counted %d and %d successes; want 1 and none", done.Value(), recv.Value())
	}
}

// workTree broadcasts down a binary tree of endpoints with deferred work alone, repeatedly. The applications only read
// counters.
func workTree(t *testing.T, st Stack) {
	const n, rounds, size = 13, 20, 3000
	k := makeConfig([]Option{WithCaps(core.CapTrigger), withAuto()})
	sides := make([]*Side, n)
	got := make([]*core.Counter, n)
	for i := range sides {
		var share *Side
		if i > 0 {
			share = sides[0]
		}
		s := openSide(t, st, "node", k, share)
		s.openEP(s.Info)
		s.Addr = must(t, "Name", s.EP.Name)
		sides[i] = s
		got[i] = must(t, "OpenCounter",
			func() (*core.Counter, error) { return s.Domain.OpenCounter(core.CntrAttr{WaitObj: core.WaitUnspec}) })
	}
	bufs := make([][rounds][]byte, n)
	for i, s := range sides {
		for r := range uint64(rounds) {
			bufs[i][r] = make([]byte, size)
			if i > 0 {
				s.queue(s.recvWork(bufs[i][r], got[i], 0, got[i]))
			}
		}
		for child := 2*i + 1; child <= 2*i+2 && child < n; child++ {
			fi := s.Insert(sides[child].Addr)
			for r := range uint64(rounds) {
				s.queue(s.sendWork(bufs[i][r], fi, got[i], r+1, nil))
			}
		}
	}
	for r := range uint64(rounds) {
		Fill(bufs[0][r], r)
		sides[0].ok("Add", got[0].Add(1))
		if r%4 == 3 {
			time.Sleep(3 * time.Millisecond) // no thread polls any more
		}
	}
	for i := n - 1; i > 0; i-- {
		sides[i].wantCount("broadcasts", got[i], rounds)
		for r := range uint64(rounds) {
			CheckPattern(t, "broadcast", bufs[i][r], size, r)
		}
	}
	for i := n - 1; i >= 0; i-- {
		sides[i].CloseEP()
		sides[i].ok("Close counter", got[i].Close())
	}
	for i := n - 1; i >= 0; i-- {
		sides[i].Close()
	}
}
