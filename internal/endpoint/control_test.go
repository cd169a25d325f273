package endpoint_test

// This file tests bindings, flags, options, aliases, shared receive contexts, and calls that fail.

import (
	"errors"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/xnet/engine"
)

func wants(t *testing.T, what string, err error, want core.Errno) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// TestNoHost: names cannot be inserted without a resolver, as in a test's network.
func TestNoHost(t *testing.T) {
	d := newDomain(t, newFabric())
	v := d.vector(t)
	_, err := v.InsertSvc("node1", "7", 0)
	wants(t, "a name", err, core.ErrNoSys)
	must(t, errors.Join(v.Close(), d.Close()))
}

// TestRefusals makes every forbidden control call, in the order of an endpoint's life.
func TestRefusals(t *testing.T) {
	f := newFabric()
	d, other := newDomain(t, f), newDomain(t, f)
	e := d.open(t, testInfo(allCaps))
	q, c, v, srx := d.queue(t), d.counter(t), d.vector(t), opened(t, d.OpenSRX, nil)
	oq, oc, ov := other.queue(t), other.counter(t), other.vector(t)

	wants(t, "queue of another domain", e.BindCQ(oq, core.BindTransmit), core.ErrInval)
	wants(t, "counter of another domain", e.BindCounter(oc, core.BindSend), core.ErrInval)
	wants(t, "vector of another domain", e.BindAV(ov, 0), core.ErrInval)
	wants(t, "foreign event queue", e.BindEQ(nil, 0), core.ErrInval)
	wants(t, "queue without direction", e.BindCQ(q, core.BindSelectiveCompletion), core.ErrBadFlags)
	wants(t, "counter of nothing", e.BindCounter(c, 0), core.ErrBadFlags)
	wants(t, "counter of multicast", e.BindCounter(c, core.BindSend|(1<<5)), core.ErrBadFlags)
	wants(t, "shared receive context", e.BindSRX(srx), core.ErrNoSys)
	must(t, srx.Close())
	wants(t, "no shared receive context", e.BindSRX(nil), core.ErrInval)
	wants(t, "no queue", e.BindCQ(nil, core.BindTransmit), core.ErrInval)
	wants(t, "no counter", e.BindCounter(nil, core.BindSend), core.ErrInval)
	wants(t, "no vector", e.BindAV(nil, 0), core.ErrInval)
	wants(t, "Enable without queues", e.Enable(), core.ErrNoCQ)
	d.locked(func() {
		wants(t, "Enable without event queue", e.drv.CheckEnable(endpoint.NeedsEQ), core.ErrNoEQ)
		wants(t, "Enable without vector", e.drv.CheckEnable(endpoint.NeedsAV), core.ErrNoAV)
	})
	must(t, e.BindCQ(q, core.BindTransmit))
	wants(t, "Enable without a queue for receives", e.Enable(), core.ErrNoCQ)
	must(t, e.BindCounter(c, core.BindRecv))
	must(t, e.BindAV(v, 0))
	wants(t, "queue bound twice", e.BindCQ(q, core.BindTransmit), core.ErrInval)
	wants(t, "counter bound twice", e.BindCounter(c, core.BindRecv), core.ErrInval)
	wants(t, "vector bound twice", e.BindAV(v, 0), core.ErrInval)
	wants(t, "Send before Enable", e.Send(message, 0, 0, 1), core.ErrOpBadState)
	wants(t, "Recv before Enable", e.Recv(nil, 0, 0, 1), core.ErrOpBadState)
	must(t, e.Enable())
	wants(t, "Enable again", e.Enable(), core.ErrOpBadState)
	wants(t, "queue after Enable", e.BindCQ(q, core.BindRecv), core.ErrInval)
	wants(t, "no such peer", e.Send(message, 0, 9, 1), core.ErrHostUnreach)

	for name, o := range map[string]core.Object{"queue": q, "counter": c, "vector": v, "domain": d, "fabric": f} {
		wants(t, "closing the "+name+" in use", o.Close(), core.ErrBusy)
	}
	for _, o := range []core.Object{e, q, c, v, oq, oc, ov, d, other, f} {
		must(t, o.Close())
	}
	wants(t, "closing the endpoint again", e.Close(), core.ErrBadF)
	wants(t, "Send after Close", e.Send(message, 0, 0, 1), core.ErrOpBadState)
}

// TestArguments passes invalid arguments to the data calls.
func TestArguments(t *testing.T) {
	w := newWorld(t, allCaps&^(core.CapTagged|core.CapMultiRecv), 0)
	long, iov := make([]byte, 65), make([][]byte, engine.MaxIOV+1)
	rma := []core.RMAIov{{Len: 1}}
	for _, c := range []struct {
		name string
		err  error
		want core.Errno
	}{
		{"inject", w.a.Inject(long, 0), core.ErrInval},
		{"inject data", w.a.InjectData(long, 0, 0), core.ErrInval},
		{"tagged inject", w.a.TInject(long, 0, 0), core.ErrInval},
		{"tagged inject data", w.a.TInjectData(long, 0, 0, 0), core.ErrInval},
		{"inject write", w.a.InjectWrite(long, 0, 0, 0), core.ErrInval},
		{"inject write data", w.a.InjectWriteData(long, 0, 0, 0, 0), core.ErrInval},
		{"inject flag", w.a.SendMsg(&core.MsgArgs{IOV: [][]byte{long}}, core.OpInject), core.ErrInval},
		{"sendv", w.a.SendV(iov, nil, 0, 0), core.ErrInval},
		{"tsendv", w.a.TSendV(iov, nil, 0, 0, 0), core.ErrInval},
		{"readv", w.a.ReadV(iov, nil, 0, 0, 0, 0), core.ErrInval},
		{"writev", w.a.WriteV(iov, nil, 0, 0, 0, 0), core.ErrInval},
		{"sendmsg", w.a.SendMsg(&core.MsgArgs{IOV: iov}, 0), core.ErrInval},
		{"recvv", w.a.RecvV(iov, nil, 0, 0), core.ErrInval},
		{"recvmsg", w.a.RecvMsg(&core.MsgArgs{IOV: iov}, 0), core.ErrInval},
		{"trecvv", w.a.TRecvV(iov, nil, 0, 0, 0, 0), core.ErrInval},
		{"trecvmsg", w.a.TRecvMsg(&core.TaggedArgs{IOV: iov}, 0), core.ErrInval},
		{"no remote range", w.a.ReadMsg(&core.RMAArgs{}, 0), core.ErrInval},
		{"unequal lengths", w.a.WriteMsg(&core.RMAArgs{RMAIOV: rma}, 0), core.ErrInval},
		{"length overflows", w.a.WriteMsg(&core.RMAArgs{IOV: [][]byte{{}},
			RMAIOV: []core.RMAIov{{Len: 1}, {Len: ^uint64(0)}}}, 0), core.ErrInval},
		{"send flags", w.a.SendMsg(&core.MsgArgs{}, core.OpMultiRecv), core.ErrBadFlags},
		{"fence", w.a.SendMsg(&core.MsgArgs{}, core.OpFence), core.ErrOpNotSupp},
		{"recv flags", w.a.RecvMsg(&core.MsgArgs{}, core.OpInject), core.ErrBadFlags},
		{"trecv flags", w.a.TRecvMsg(&core.TaggedArgs{}, core.OpMultiRecv), core.ErrBadFlags},
		{"multi-receive not asked for", w.a.RecvMsg(&core.MsgArgs{IOV: [][]byte{long}}, core.OpMultiRecv),
			core.ErrBadFlags},
		{"tagged not asked for", w.a.TSend(nil, 0, 0, 0, 0), core.ErrNoSys},
		{"tagged receive not asked for", w.a.TRecv(nil, 0, 0, 0, 0, 0), core.ErrNoSys},
		{"tagged peek not asked for", w.a.TRecvMsg(&core.TaggedArgs{}, core.OpPeek), core.ErrNoSys},
		{"atomics not asked for", w.a.Atomic(&core.AtomicArgs{}, 0), core.ErrOpNotSupp},
		{"inject atomic not asked for", w.a.InjectAtomic(nil, 0, 0, 0, core.Int8, core.AtomicSum), core.ErrOpNotSupp},
	} {
		wants(t, c.name, c.err, c.want)
	}
}

// TestSelective: only requested completions are reported, errors always. Counters count all operations.
func TestSelective(t *testing.T) {
	w := newWorld(t, allCaps, core.BindSelectiveCompletion)
	c := w.d.counter(t)
	w.bound = append(w.bound, c)
	must(t, w.a.BindCounter(c, core.BindSend|core.BindRecv))
	in := make([]byte, 4)
	must(t, w.a.Send(message[:4], 0, 0, 1))
	must(t, w.b.Recv(in, 0, 0, 2))
	none(t, w.qa)
	none(t, w.qb)
	must(t, w.a.SendMsg(&core.MsgArgs{IOV: [][]byte{message}, Ctx: 3}, core.OpCompletion))
	must(t, w.b.Recv(in, 0, 0, 4))
	if e := next(t, w.qa); e.Ctx != 3 {
		t.Errorf("%+v", e)
	}
	if _, err := w.qb.Read(make([]core.CQEntry, 1)); err != core.ErrAvail {
		t.Fatalf("a message cut short: %v, want ErrAvail", err)
	}
	var e core.CQErrEntry
	must(t, w.qb.ReadErr(&e))
	if e.Err != core.ErrTrunc || e.Ctx != 4 || e.OLen != len(message)-4 ||
		e.Peer.IP != netip.MustParseAddrPort("10.0.0.2:7") ||
		!strings.HasPrefix(e.Detail, "loop: receive to 10.0.0.2:7: ") {
		t.Errorf("%+v", e)
	}
	must(t, w.a.SetOpFlags(core.BindTransmit, core.OpCompletion))
	must(t, w.a.Send(message, 0, 0, 5))
	next(t, w.qa)
	if c.Value() != 3 || c.ErrValue() != 0 {
		t.Errorf("counter %d and %d, want 3 and 0", c.Value(), c.ErrValue())
	}
}

// TestFlagsAndOptions reads and changes the default flags and the options.
func TestFlagsAndOptions(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	must(t, w.a.SetOpFlags(core.BindRecv, core.OpMultiRecv))
	if fl, err := w.a.OpFlags(core.BindRecv); fl != core.OpMultiRecv || err != nil {
		t.Error(fl, err)
	}
	wants(t, "receive flag on transmits", w.a.SetOpFlags(core.BindTransmit, core.OpMultiRecv), core.ErrBadFlags)
	wants(t, "transmit flag on receives", w.a.SetOpFlags(core.BindRecv, core.OpInject), core.ErrBadFlags)
	wants(t, "no direction", w.a.SetOpFlags(0, 0), core.ErrInval)
	_, err := w.a.OpFlags(core.BindSend | core.BindRecv)
	wants(t, "two directions", err, core.ErrInval)
	must(t, w.a.SetOpt(core.OptMinMultiRecv, 100))
	for opt, want := range map[core.EPOpt]int{core.OptMinMultiRecv: 100, core.OptMaxMsgSize: 1 << 20,
		core.OptInjectMsgSize: 64, core.OptTxSize: 32, core.OptRxSize: 32} {
		if v, err := w.a.GetOpt(opt); v != want || err != nil {
			t.Errorf("option %v: %d, %v; want %d", opt, v, err, want)
		}
	}
	wants(t, "negative size", w.a.SetOpt(core.OptMinMultiRecv, -1), core.ErrInval)
	wants(t, "read-only option", w.a.SetOpt(core.OptTxSize, 1), core.ErrNoProtoOpt)
	_, err = w.a.GetOpt(core.OptCMDataSize)
	wants(t, "unknown option", err, core.ErrNoProtoOpt)
	must(t, w.a.SendMsg(&core.MsgArgs{IOV: [][]byte{message}}, core.OpMore))
	if w.a.drv.more != 1 {
		t.Error("the provider did not get the flag that another operation follows")
	}
}

func aliased(t testing.TB, open func(dir core.BindFlags, flags core.OpFlags) (*core.Endpoint, error), dir core.BindFlags, flags core.OpFlags) *core.Endpoint {
	t.Helper()
	a, err := open(dir, flags)
	must(t, err)
	return a
}

// TestAlias: an alias has its own flags, makes all calls of its endpoint, and keeps it from closing.
func TestAlias(t *testing.T) {
	w := newWorld(t, allCaps, core.BindSelectiveCompletion)
	_, err := w.a.Alias(core.BindTransmit|core.BindRecv, 0)
	wants(t, "two directions", err, core.ErrBadFlags)
	_, err = w.a.Alias(core.BindTransmit, core.OpMultiRecv)
	wants(t, "flag of the other direction", err, core.ErrBadFlags)
	tx := aliased(t, w.a.Alias, core.BindTransmit, core.OpCompletion)
	rx := aliased(t, w.b.Alias, core.BindRecv, core.OpCompletion)
	must(t, rx.Recv(make([]byte, 64), 0, 0, 2))
	must(t, tx.Send(message, 0, 0, 1))
	next(t, w.qa)
	next(t, w.qb)
	must(t, w.b.Recv(make([]byte, 64), 0, 0, 2))
	must(t, w.a.Send(message, 0, 0, 1))
	none(t, w.qa)
	none(t, w.qb)
	wants(t, "closing an aliased endpoint", w.a.Close(), core.ErrBusy)
	must(t, tx.Close())
	wants(t, "closing an alias twice", tx.Close(), core.ErrBadF)
	must(t, rx.Close())
}

// TestAliasFlags: a change of an alias' flags does not change the endpoint's.
func TestAliasFlags(t *testing.T) {
	w := newWorld(t, allCaps, core.BindSelectiveCompletion)
	flags := func(ep *core.Endpoint, dir core.BindFlags) core.OpFlags {
		f, err := ep.OpFlags(dir)
		must(t, err)
		return f
	}
	for _, dir := range []core.BindFlags{core.BindTransmit, core.BindRecv} {
		other := core.BindTransmit ^ core.BindRecv ^ dir
		before := flags(w.a.Endpoint, dir)
		a := aliased(t, w.a.Alias, dir, core.OpCompletion)
		if f := flags(a, dir); f != core.OpCompletion {
			t.Errorf("the alias has flags %v", f)
		}
		if flags(a, other) != flags(w.a.Endpoint, other) {
			t.Error("an alias does not have its endpoint's flags of the other direction")
		}
		must(t, a.SetOpFlags(dir, 0))
		must(t, a.SetOpFlags(other, core.OpCompletion))
		if flags(a, dir) != 0 || flags(a, other) != core.OpCompletion {
			t.Error("the alias does not take flags")
		}
		if flags(w.a.Endpoint, dir) != before || flags(w.a.Endpoint, other)&core.OpCompletion != 0 {
			t.Error("the endpoint has the alias' flags")
		}
		wants(t, "no direction", a.SetOpFlags(0, 0), core.ErrInval)
		wants(t, "another direction's flag", a.SetOpFlags(core.BindTransmit, core.OpMultiRecv), core.ErrBadFlags)
		must(t, a.Close())
	}
	tx := aliased(t, w.a.Alias, core.BindTransmit, 0)
	// Also messages on the fast path to the last destination.
	for i, want := range []core.OpFlags{0, core.OpCompletion, 0} {
		must(t, tx.SetOpFlags(core.BindTransmit, want))
		must(t, w.b.Recv(make([]byte, 64), 0, 0, 2))
		must(t, tx.Send(message, 0, 0, core.OpContext(i+1)))
		if want != 0 {
			next(t, w.qa)
		}
		none(t, w.qa)
	}
	must(t, tx.Close())
}

// TestClosedAlias: posts through a closed alias fail. Earlier posts and the endpoint go on.
func TestClosedAlias(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	n := w.counters(t, 1)
	tx, rx := aliased(t, w.a.Alias, core.BindTransmit, 0), aliased(t, w.b.Alias, core.BindRecv, 0)
	must(t, rx.TRecv(make([]byte, 64), 0, core.AddrUnspec, 1, 0, 2))
	must(t, tx.TSend(message, 0, 0, 1, 1)) // the next message would take the fast path after it
	next(t, w.qa)
	must(t, rx.TRecv(make([]byte, 64), 0, core.AddrUnspec, 2, 0, 3))
	dw := sendWork(w, 4, n[0], 1, nil)
	dw.Tagged.EP = tx
	must(t, w.d.QueueWork(dw))
	must(t, tx.Close())
	must(t, rx.Close())
	next(t, w.qb)
	must(t, w.b.TRecv(make([]byte, 64), 0, core.AddrUnspec, 4, 0, 4))
	later := &core.TriggeredContext{EventType: core.TriggerThreshold, Cntr: n[0], Threshold: 9}
	for name, err := range map[string]error{
		"send": tx.Send(message, 0, 0, 1), "inject": tx.Inject(message, 0), "tsend": tx.TSend(message, 0, 0, 1, 1),
		"write": tx.Write(message, 0, 0, 0, 3, 1), "sendmsg": tx.SendMsg(&core.MsgArgs{IOV: [][]byte{message}}, 0),
		"triggered": tx.SendMsg(&core.MsgArgs{IOV: [][]byte{message}, Trigger: later}, core.OpTrigger),
		"deferred": w.d.QueueWork(&core.DeferredWork{OpType: core.OpTSend, TriggeringCntr: n[0], Threshold: 9,
			Tagged: dw.Tagged}),
		"recv": rx.Recv(nil, 0, 0, 1), "trecv": rx.TRecv(nil, 0, 0, 1, 0, 1),
	} {
		wants(t, name, err, core.ErrOpBadState)
	}
	must(t, n[0].Add(1))
	if e := next(t, w.qb); e.Ctx != 4 {
		t.Errorf("%+v: want the message that was deferred before", e)
	}
	must(t, w.a.TSend(message, 0, 0, 2, 5))
	next(t, w.qb)
}

// TestSharedRx: a context serves the endpoints bound to it and belongs to its domain.
func TestSharedRx(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	other := newDomain(t, w.f)
	_, err := w.d.OpenSRX(&core.RxAttr{OpFlags: core.OpInject})
	wants(t, "transmit flag", err, core.ErrBadFlags)
	srx := opened(t, w.d.OpenSRX, &core.RxAttr{Size: 2})
	s := srx.Driver().(*endpoint.SharedRx)
	stray := other.open(t, testInfo(allCaps))
	_, err = stray.drv.TakeSRX(s)
	wants(t, "context of another domain", err, core.ErrInval)
	must(t, stray.Close())
	w.d.locked(func() {
		s.Bound(&w.a.drv.Endpoint)
		s.Bound(&w.b.drv.Endpoint)
		w.b.drv.conn = engine.NewReady(w.d.drv.Pool(), &engine.Config{StageMax: 4096, StageLimit: 1 << 16, TxDepth: 8},
			s.Context(), w.d.drv, w.b.drv)
	})
	in := make([]byte, 64)
	must(t, srx.TRecv(in, 0, core.AddrUnspec, 1, 0, 7))
	must(t, srx.Recv(in, 0, core.AddrUnspec, 8))
	wants(t, "third receive of two", srx.Recv(in, 0, core.AddrUnspec, 9), core.ErrAgain)
	must(t, w.a.TSend(message, 0, 0, 1, 1))
	next(t, w.qa)
	if e := next(t, w.qb); e.Ctx != 7 {
		t.Errorf("%+v", e)
	}
	must(t, srx.Cancel(8))
	wants(t, "cancel again", srx.Cancel(8), core.ErrNoEnt)
	var e core.CQErrEntry
	must(t, w.qa.ReadErr(&e)) // the queue of the endpoint that was bound first
	if e.Err != core.ErrCanceled || e.Ctx != 8 {
		t.Errorf("%+v", e)
	}
	wants(t, "closing the context in use", srx.Close(), core.ErrBusy)
	w.d.locked(func() {
		s.Unbound(&w.a.drv.Endpoint)
		w.b.drv.conn.Drop(engine.ErrClosed)
		s.Unbound(&w.b.drv.Endpoint)
	})
	must(t, srx.Close())
	wants(t, "Recv after Close", srx.Recv(in, 0, 0, 1), core.ErrBadF)
	wants(t, "closing it again", srx.Close(), core.ErrBadF)
	must(t, other.Close())
}

// TestWatchAV reports insertions and removals until the endpoint closes.
func TestWatchAV(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	e, v, q := w.d.open(t, testInfo(allCaps)), w.d.vector(t), w.d.queue(t)
	must(t, e.BindAV(v, 0))
	var told []string
	e.drv.WatchAV(func(_ core.FIAddr, a core.Addr) { told = append(told, "+"+a.IP.String()) },
		func(core.FIAddr) { told = append(told, "-") })
	fi := make([]core.FIAddr, 1)
	for _, end := range []func(){func() {}, func() { must(t, e.Close()) }} {
		end()
		_, err := v.Insert([]core.Addr{core.IPAddr(netip.MustParseAddrPort("10.0.0.9:1"))}, fi, 0)
		must(t, err)
		must(t, v.Remove(fi, 0))
	}
	if got := strings.Join(told, " "); got != "+10.0.0.9:1 -" {
		t.Errorf("told of %q", got)
	}
	must(t, v.Close())
	must(t, q.Close())
}

// TestEventQueues: a queue cannot close while the endpoint or the domain is bound to it.
func TestEventQueues(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	eq := opened(t, w.f.OpenEQ, core.EQAttr{})
	d := newDomain(t, w.f)
	must(t, d.BindEQ(eq, 0))
	wants(t, "second event queue", d.BindEQ(eq, 0), core.ErrInval)
	e := d.open(t, testInfo(0))
	must(t, e.BindEQ(eq, 0))
	wants(t, "second event queue", e.BindEQ(eq, 0), core.ErrInval)
	must(t, e.Close())
	wants(t, "closing the queue in use", eq.Close(), core.ErrBusy)
	must(t, d.Close())
	must(t, eq.Close())
}

// TestNames checks error texts.
func TestNames(t *testing.T) {
	peer := netip.MustParseAddrPort("10.0.0.2:7")
	for _, c := range []struct {
		err  error
		no   core.Errno
		prov int
		text string
	}{
		{engine.ErrTimeout, core.ErrTimedOut, int(core.ErrTimedOut), "; wait longer"},
		{engine.ErrRefused, core.ErrConnRefused, int(core.ErrConnRefused), "; is an endpoint listening there?"},
		{syscall.EMFILE, core.ErrMFile, int(syscall.EMFILE), "; raise the limit on open files (ulimit -n)"},
		{errors.Join(errors.New("x"), core.ErrNoKey), core.ErrNoKey, int(core.ErrNoKey), ""},
		{errors.New("strange"), core.ErrIO, int(core.ErrIO), ""},
	} {
		if no, prov := endpoint.Errno(c.err), endpoint.ProvErrno(c.err); no != c.no || prov != c.prov {
			t.Errorf("%v: %v and %d, want %v and %d", c.err, no, prov, c.no, c.prov)
		}
		if got, want := names.Detail("send", endpoint.NoPeer, peer, c.err),
			"loop: send to 10.0.0.2:7: "+c.err.Error()+c.text; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	err := names.Error("fi_x", "thing", peer, syscall.EMFILE, "do so")
	if got, want := err.Error(), "fi_x (loop) thing -> 10.0.0.2:7: "+core.ErrMFile.Error()+" (do so)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if again := names.Error("fi_y", "", endpoint.NoPeer, err, ""); again != err {
		t.Errorf("wrapped twice: %v", again)
	}
}
