package endpoint_test

// This file tests deferred work and triggered operations (fi_trigger(3)).

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gofabric/core"
)

// sendWork is deferred work of w.a: it sends a message with a tag when trig reaches threshold, and counts in done.
func sendWork(w *world, tag uint64, trig *core.Counter, threshold uint64, done *core.Counter) *core.DeferredWork {
	return &core.DeferredWork{Ctx: core.OpContext(tag), Threshold: threshold, TriggeringCntr: trig,
		CompletionCntr: done, OpType: core.OpTSend, Tagged: &core.OpTagged{EP: w.a.Endpoint,
			Msg: core.TaggedArgs{IOV: [][]byte{message}, Tag: tag, Ctx: core.OpContext(tag)}}}
}

// cntrWork changes a counter.
func cntrWork(ctx core.OpContext, trig *core.Counter, threshold uint64, op core.OpType, target *core.Counter,
	v uint64) *core.DeferredWork {
	return &core.DeferredWork{Ctx: ctx, Threshold: threshold, TriggeringCntr: trig, OpType: op,
		Cntr: &core.OpCntr{Cntr: target, Value: v}}
}

// tags receives n messages at w.b, and returns their tags in order.
func (w *world) tags(t testing.TB, n int) []uint64 {
	t.Helper()
	var got []uint64
	var in [64]byte
	for range n {
		must(t, w.b.TRecvMsg(&core.TaggedArgs{IOV: [][]byte{in[:]}, Addr: core.AddrUnspec, Ignore: ^uint64(0)},
			core.OpCompletion))
		got = append(got, next(t, w.qb).Tag)
	}
	return got
}

// counters opens counters that close with the world.
func (w *world) counters(t testing.TB, n int) []*core.Counter {
	list := make([]*core.Counter, n)
	for i := range list {
		list[i] = w.d.counter(t)
		w.bound = append(w.bound, list[i])
	}
	return list
}

// waitingWork is the model's view of work that has not started.
type waitingWork struct {
	ctx, threshold, value uint64
	trig, target          int // target is a counter to change, or to count a send in
	send, set             bool
	triggered             bool // by successes alone
}

// workModel is a simple model of the expected behaviour.
type workModel struct {
	val, errs []uint64
	waiting   []waitingWork // in order of queueing
	ready     []waitingWork
	sent      []uint64
}

func (m *workModel) look(c int) {
	var due, rest []waitingWork
	for _, w := range m.waiting {
		count := m.val[c]
		if !w.triggered {
			count += m.errs[c]
		}
		if w.trig == c && count >= w.threshold {
			due = append(due, w)
		} else {
			rest = append(rest, w)
		}
	}
	slices.SortStableFunc(due, func(a, b waitingWork) int { return cmp.Compare(a.threshold, b.threshold) })
	m.waiting, m.ready = rest, append(m.ready, due...)
}

func (m *workModel) run() {
	for len(m.ready) > 0 {
		w := m.ready[0]
		m.ready = m.ready[1:]
		switch {
		case w.send:
			m.sent = append(m.sent, w.ctx)
			if w.target >= 0 {
				m.val[w.target]++
			}
		case w.set:
			m.val[w.target] = w.value
		default:
			m.val[w.target] += w.value
		}
		if w.target >= 0 {
			m.look(w.target)
		}
	}
}

// TestWorkModel queues, counts, cancels and flushes at random. Work starts at the time and in the order of the
// model.
func TestWorkModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, allCaps, core.BindSelectiveCompletion)
		c := w.counters(t, 3)
		m := &workModel{val: make([]uint64, 3), errs: make([]uint64, 3)}
		ctx := uint64(0)
		which := rapid.IntRange(0, 2)
		small := rapid.Uint64Range(0, 12)
		queue := func(rt *rapid.T) waitingWork {
			ctx++
			return waitingWork{ctx: ctx, trig: which.Draw(rt, "trigger"), threshold: small.Draw(rt, "threshold")}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"send": func(rt *rapid.T) {
				x := queue(rt)
				x.send, x.target = true, rapid.IntRange(-1, 2).Draw(rt, "completion")
				var done *core.Counter
				if x.target >= 0 {
					done = c[x.target]
				}
				must(t, w.d.QueueWork(sendWork(w, x.ctx, c[x.trig], x.threshold, done)))
				m.waiting = append(m.waiting, x)
				m.look(x.trig)
			},
			"trigger": func(rt *rapid.T) {
				x := queue(rt)
				x.send, x.triggered, x.target = true, true, -1
				must(t, w.a.TSendMsg(&core.TaggedArgs{IOV: [][]byte{message}, Tag: x.ctx, Ctx: core.OpContext(x.ctx),
					Trigger: &core.TriggeredContext{Cntr: c[x.trig], Threshold: x.threshold}}, core.OpTrigger))
				m.waiting = append(m.waiting, x)
				m.look(x.trig)
			},
			"change": func(rt *rapid.T) {
				x := queue(rt)
				x.set, x.target, x.value = rapid.Bool().Draw(rt, "set"), which.Draw(rt, "target"),
					small.Draw(rt, "value")
				op := core.OpCntrAdd
				if x.set {
					op = core.OpCntrSet
				}
				must(t, w.d.QueueWork(cntrWork(core.OpContext(x.ctx), c[x.trig], x.threshold, op,
					c[x.target], x.value)))
				m.waiting = append(m.waiting, x)
				m.look(x.trig)
			},
			"count": func(rt *rapid.T) {
				i, v := which.Draw(rt, "counter"), rapid.Uint64Range(0, 4).Draw(rt, "value")
				switch rapid.IntRange(0, 3).Draw(rt, "how") {
				case 0:
					must(t, c[i].Set(v))
					m.val[i] = v
				case 1:
					must(t, c[i].AddErr(v))
					m.errs[i] += v
				default:
					must(t, c[i].Add(v))
					m.val[i] += v
				}
				m.look(i)
			},
			"cancel": func(rt *rapid.T) {
				x := rapid.Uint64Range(0, ctx+1).Draw(rt, "ctx")
				i := slices.IndexFunc(m.waiting, func(w waitingWork) bool { return w.ctx == x && !w.triggered })
				if err := w.d.CancelWork(core.OpContext(x)); (err == nil) != (i >= 0) || err != nil &&
					err != core.ErrNoEnt {
					rt.Fatalf("cancel of %d: %v", x, err)
				}
				if i >= 0 {
					m.waiting = slices.Delete(m.waiting, i, i+1)
				}
			},
			"flush": func(rt *rapid.T) {
				i := rapid.IntRange(-1, 2).Draw(rt, "counter")
				var only *core.Counter
				if i >= 0 {
					only = c[i]
				}
				must(t, w.d.FlushWork(only))
				m.waiting = slices.DeleteFunc(m.waiting,
					func(w waitingWork) bool { return !w.triggered && (i < 0 || w.trig == i) })
			},
			"": func(rt *rapid.T) {
				m.run()
				for i := range c {
					if c[i].Value() != m.val[i] || c[i].ErrValue() != m.errs[i] {
						rt.Fatalf("counter %d is %d, %d; want %d, %d", i, c[i].Value(), c[i].ErrValue(),
							m.val[i], m.errs[i])
					}
				}
				if got := w.tags(t, len(m.sent)); !slices.Equal(got, m.sent) {
					rt.Fatalf("sent %v, want %v", got, m.sent)
				}
				m.sent = nil
				none(t, w.qa)
			},
		})
		must(t, w.d.FlushWork(nil)) // counters cannot close under work
	})
}

// TestWorkKinds makes all eleven kinds wait for one counter, in turns.
func TestWorkKinds(t *testing.T) {
	w, mem := atomicWorld(t)
	n := w.counters(t, 3)
	go_, done, extra := n[0], n[1], n[2]
	in, tin, read, result, compared := make([]byte, 64), make([]byte, 64), make([]byte, 8), make([]byte, 16),
		make([]byte, 16)
	deferred := func(at uint64, op core.OpType, f func(*core.DeferredWork)) {
		t.Helper()
		dw := &core.DeferredWork{Threshold: at, TriggeringCntr: go_, CompletionCntr: done, OpType: op}
		f(dw)
		must(t, w.d.QueueWork(dw))
	}
	rma := core.RMAArgs{IOV: [][]byte{words(99)}, RMAIOV: []core.RMAIov{{Addr: 0, Len: 8, Key: 3}}}
	deferred(1, core.OpRecv, func(d *core.DeferredWork) {
		d.Msg = &core.OpMsg{EP: w.b.Endpoint, Msg: core.MsgArgs{IOV: [][]byte{in}}}
	})
	deferred(2, core.OpSend, func(d *core.DeferredWork) {
		d.Msg = &core.OpMsg{EP: w.a.Endpoint, Msg: core.MsgArgs{IOV: [][]byte{message}}}
	})
	deferred(1, core.OpTRecv, func(d *core.DeferredWork) {
		d.Tagged = &core.OpTagged{EP: w.b.Endpoint, Msg: core.TaggedArgs{IOV: [][]byte{tin}, Tag: 7}}
	})
	deferred(2, core.OpTSend, func(d *core.DeferredWork) {
		d.Tagged = &core.OpTagged{EP: w.a.Endpoint, Msg: core.TaggedArgs{IOV: [][]byte{message}, Tag: 7}}
	})
	deferred(3, core.OpWrite, func(d *core.DeferredWork) { d.RMA = &core.OpRMA{EP: w.a.Endpoint, Msg: rma} })
	back := rma
	back.IOV = [][]byte{read}
	deferred(4, core.OpRead, func(d *core.DeferredWork) { d.RMA = &core.OpRMA{EP: w.a.Endpoint, Msg: back} })
	deferred(5, core.OpAtomic, func(d *core.DeferredWork) {
		d.Atomic = &core.OpAtomicArgs{EP: w.a.Endpoint, Msg: *args(core.AtomicSum, 10, 20)}
	})
	deferred(6, core.OpFetchAtomic, func(d *core.DeferredWork) {
		d.Atomic = &core.OpAtomicArgs{EP: w.a.Endpoint, Msg: *args(core.AtomicSum, 1, 1), Result: [][]byte{result}}
	})
	deferred(7, core.OpCompareAtomic, func(d *core.DeferredWork) {
		d.Atomic = &core.OpAtomicArgs{EP: w.a.Endpoint, Msg: *args(core.AtomicCSwap, 70, 80),
			Compare: [][]byte{words(13, 99)}, Result: [][]byte{compared}}
	})
	must(t, w.d.QueueWork(cntrWork(1, go_, 8, core.OpCntrSet, extra, 40)))
	must(t, w.d.QueueWork(cntrWork(1, go_, 9, core.OpCntrAdd, extra, 2)))
	for i, want := range []uint64{0, 4, 5, 6, 7, 8, 9, 9, 9} {
		must(t, go_.Add(1))
		if got := done.Value(); got != want {
			t.Fatalf("after %d: %d operations are complete, want %d", i+1, got, want)
		}
	}
	if extra.Value() != 42 || done.ErrValue() != 0 {
		t.Errorf("set and added: %d; %d errors", extra.Value(), done.ErrValue())
	}
	if string(in[:len(message)]) != string(message) || string(tin[:len(message)]) != string(message) {
		t.Errorf("received %q and %q", in, tin)
	}
	for what, v := range map[string][2][]byte{"memory": {mem, words(99, 70, 24, 4)}, "read": {read, words(99)},
		"fetched": {result, words(12, 23)}, "compared": {compared, words(13, 24)}} {
		if string(v[0]) != string(v[1]) {
			t.Errorf("%s: %x, want %x", what, v[0], v[1])
		}
	}
	none(t, w.qa)
	none(t, w.qb)
}

// TestWorkBusy: operations without room are tried again in order, and operations to other destinations do not wait
// for them.
func TestWorkBusy(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	n := w.counters(t, 2)
	const many = 100
	w.a.drv.held = true
	for i := range uint64(many) {
		dw := sendWork(w, i, n[0], 1, n[1])
		dw.Tagged.Flags = core.OpDeliveryComplete
		must(t, w.d.QueueWork(dw))
	}
	must(t, w.d.QueueWork(cntrWork(0, n[0], 1, core.OpCntrAdd, n[1], 1000)))
	must(t, n[0].Add(1))
	if got := n[1].Value(); got != 1000 {
		t.Fatalf("%d, want only the counter's own work done", got)
	}
	w.a.drv.held = false
	in := make([]byte, 64)
	var got []uint64
	for len(got) < many {
		must(t, w.b.TRecv(in, 0, core.AddrUnspec, 0, ^uint64(0), 1))
		w.d.locked(w.a.drv.pump)
		w.d.locked(w.d.drv.Progress().Pass)
		var e [1]core.CQEntry
		if k, err := w.qb.Read(e[:]); k == 1 {
			got = append(got, e[0].Tag)
		} else if err != core.ErrAgain {
			t.Fatal(err)
		}
	}
	if !slices.IsSorted(got) || n[1].Value() != 1000+many {
		t.Errorf("%v; counted %d", got, n[1].Value())
	}
}

// TestTriggered: the msg variants with OpTrigger, of each receive and transmit call, complete like ordinary
// operations.
func TestTriggered(t *testing.T) {
	w, mem := atomicWorld(t)
	n := w.counters(t, 1)
	tc := func(at uint64) *core.TriggeredContext { return &core.TriggeredContext{Cntr: n[0], Threshold: at} }
	in, read, result := make([]byte, 64), make([]byte, 8), make([]byte, 16)
	rma := []core.RMAIov{{Addr: 0, Len: 8, Key: 3}}
	at := args(core.AtomicSum, 1, 1)
	at.Trigger = tc(5)
	cs := args(core.AtomicCSwap, 7, 7)
	cs.Trigger = tc(7)
	must(t, w.a.CompareAtomic(cs, [][]byte{words(4, 5)}, nil, [][]byte{result}, nil, core.OpTrigger))
	must(t, w.b.RecvMsg(&core.MsgArgs{IOV: [][]byte{in}, Ctx: 1, Trigger: tc(1)}, core.OpTrigger))
	must(t, w.a.SendMsg(&core.MsgArgs{IOV: [][]byte{message}, Ctx: 2, Trigger: tc(2)}, core.OpTrigger))
	must(t, w.a.WriteMsg(&core.RMAArgs{IOV: [][]byte{words(50)}, RMAIOV: rma, Ctx: 3, Trigger: tc(3)}, core.OpTrigger))
	must(t, w.a.ReadMsg(&core.RMAArgs{IOV: [][]byte{read}, RMAIOV: rma, Ctx: 4, Trigger: tc(4)}, core.OpTrigger))
	must(t, w.a.Atomic(at, core.OpTrigger))
	fetch := args(core.AtomicSum, 1, 1)
	fetch.Trigger = tc(6)
	must(t, w.a.FetchAtomic(fetch, [][]byte{result}, nil, core.OpTrigger))
	for i, ctx := range []core.OpContext{0, 2, 3, 4, 9, 9, 9} {
		none(t, w.qa)
		must(t, n[0].Add(1))
		if ctx == 0 {
			continue
		}
		if e := next(t, w.qa); e.Ctx != ctx {
			t.Errorf("at %d: %+v, want context %d", i+1, e, ctx)
		}
	}
	if e := next(t, w.qb); e.Ctx != 1 || e.Len != len(message) {
		t.Errorf("received %+v", e)
	}
	if string(read) != string(words(50)) || string(mem) != string(words(50, 7, 7, 4)) {
		t.Errorf("read %x; memory %x", read, mem)
	}
	// The condition is met, so the operation starts at once.
	must(t, w.b.TRecvMsg(&core.TaggedArgs{IOV: [][]byte{in}, Tag: 1, Ctx: 20, Trigger: tc(7)}, core.OpTrigger))
	must(t, w.a.TSendMsg(&core.TaggedArgs{IOV: [][]byte{message}, Tag: 1, Ctx: 21, Trigger: tc(0)}, core.OpTrigger))
	if a, b := next(t, w.qa), next(t, w.qb); a.Ctx != 21 || b.Ctx != 20 {
		t.Errorf("%+v, %+v", a, b)
	}
}

// TestWorkRefused: operations that cannot be deferred fail and leave nothing behind.
func TestWorkRefused(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	plain := w.d.open(t, testInfo(allCaps&^core.CapTrigger))
	w.bound = append(w.bound, plain)
	n := w.counters(t, 1)
	other := newDomain(t, w.f)
	foreign := other.counter(t)
	w.bound = append(w.bound, foreign, other)
	wants := func(what string, err error, want core.Errno) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	for name, c := range map[string]struct {
		change func(*core.DeferredWork)
		want   core.Errno
	}{
		"no counter":         {func(d *core.DeferredWork) { d.TriggeringCntr = nil }, core.ErrInval},
		"foreign counter":    {func(d *core.DeferredWork) { d.TriggeringCntr = foreign }, core.ErrInval},
		"foreign completion": {func(d *core.DeferredWork) { d.CompletionCntr = foreign }, core.ErrInval},
		"no operation":       {func(d *core.DeferredWork) { d.Tagged = nil }, core.ErrInval},
		"another operation":  {func(d *core.DeferredWork) { d.OpType = core.OpWrite }, core.ErrInval},
		"no such operation":  {func(d *core.DeferredWork) { d.OpType = 11 }, core.ErrNoSys},
		"no such endpoint":   {func(d *core.DeferredWork) { d.Tagged.EP = nil }, core.ErrNoSys},
		"endpoint without":   {func(d *core.DeferredWork) { d.Tagged.EP = plain.Endpoint }, core.ErrNoSys},
		"inject":             {func(d *core.DeferredWork) { d.Tagged.Flags = core.OpInject }, core.ErrInval},
		"bad flag":           {func(d *core.DeferredWork) { d.Tagged.Flags = core.OpPeek }, core.ErrBadFlags},
		"peek": {func(d *core.DeferredWork) { d.OpType, d.Tagged.Flags = core.OpTRecv, core.OpPeek },
			core.ErrNoSys},
		"counter's completion": {func(d *core.DeferredWork) { d.OpType, d.Cntr = core.OpCntrAdd, &core.OpCntr{Cntr: n[0]} }, core.ErrInval},
		"long":                 {func(d *core.DeferredWork) { d.Tagged.Msg.IOV = make([][]byte, 9) }, core.ErrInval},
	} {
		dw := sendWork(w, 1, n[0], 1, n[0])
		c.change(dw)
		wants(name, w.d.QueueWork(dw), c.want)
	}
	wants("nothing", w.d.QueueWork(nil), core.ErrInval)
	m := &core.MsgArgs{IOV: [][]byte{message}}
	wants("trigger without context", w.a.SendMsg(m, core.OpTrigger), core.ErrInval)
	m.Trigger = &core.TriggeredContext{Cntr: foreign}
	wants("foreign trigger", w.a.SendMsg(m, core.OpTrigger), core.ErrInval)
	m.Trigger = &core.TriggeredContext{EventType: core.TriggerXPU}
	wants("another processor's trigger", w.a.RecvMsg(m, core.OpTrigger), core.ErrNoSys)
	m.Trigger = &core.TriggeredContext{Cntr: n[0]}
	wants("trigger of an endpoint without", plain.SendMsg(m, core.OpTrigger), core.ErrOpNotSupp)
	wants("cancel", w.d.CancelWork(1), core.ErrNoEnt)
	wants("flush of a foreign counter", w.d.FlushWork(foreign), core.ErrInval)
	must(t, n[0].Add(5))
	none(t, w.qa)
}

// TestWorkEnds: cancel, flush and close end work that has not started, as fi_trigger(3), fi_cancel(3) and
// fi_close(3) say.
func TestWorkEnds(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	n := w.counters(t, 2)
	must(t, w.d.QueueWork(sendWork(w, 1, n[0], 5, n[1])))
	loud := sendWork(w, 2, n[0], 5, n[1])
	loud.Tagged.Flags = core.OpCompletion
	must(t, w.d.QueueWork(loud))
	must(t, w.d.QueueWork(loud))
	for _, c := range n {
		if err := c.Close(); !errors.Is(err, core.ErrBusy) {
			t.Errorf("closing a counter that work needs: %v", err)
		}
	}
	must(t, w.d.CancelWork(1))
	none(t, w.qa)
	canceled := func() {
		t.Helper()
		var e core.CQErrEntry
		if err := w.qa.ReadErr(&e); err != nil || e.Err != core.ErrCanceled || e.Ctx != 2 {
			t.Errorf("%v, %+v", err, e)
		}
	}
	must(t, w.d.CancelWork(2))
	canceled()
	must(t, w.d.FlushWork(n[1]))
	none(t, w.qa)
	must(t, w.d.FlushWork(n[0]))
	canceled()
	if n[1].Value() != 0 || n[1].ErrValue() != 0 {
		t.Errorf("canceled work counted: %d, %d", n[1].Value(), n[1].ErrValue())
	}
	// An endpoint that closes ends its work.
	third := w.d.open(t, testInfo(allCaps))
	must(t, third.BindCQ(w.qa, core.BindTransmit|core.BindRecv))
	must(t, third.Enable())
	gone := sendWork(w, 3, n[0], 5, n[1])
	gone.Tagged.EP = third.Endpoint
	must(t, w.d.QueueWork(gone))
	must(t, third.RecvMsg(&core.MsgArgs{IOV: [][]byte{make([]byte, 8)},
		Trigger: &core.TriggeredContext{Cntr: n[0], Threshold: 5}}, core.OpTrigger))
	must(t, third.Close())
	must(t, n[0].Add(10))
	none(t, w.qa)
}

// TestWorkCloses closes the objects that work in progress uses, in each order. The completion counter stays open
// until the work has completed. If the endpoint closes first, its work ends without completion (fi_close(3)).
func TestWorkCloses(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	n := w.counters(t, 1)
	done := w.d.counter(t)
	third, fourth := w.d.open(t, testInfo(allCaps)), w.d.open(t, testInfo(allCaps))
	fourth.drv.peer = w.b.drv
	for _, e := range []*loopEndpoint{third, fourth} {
		must(t, e.BindCQ(w.qb, core.BindTransmit|core.BindRecv))
		must(t, e.Enable())
	}
	in := make([]byte, 64)
	recv := func(ep *core.Endpoint, tag uint64) {
		t.Helper()
		must(t, w.d.QueueWork(&core.DeferredWork{Ctx: 5, TriggeringCntr: n[0], CompletionCntr: done,
			OpType: core.OpTRecv, Tagged: &core.OpTagged{EP: ep, Msg: core.TaggedArgs{IOV: [][]byte{in}, Tag: tag},
				Flags: core.OpCompletion}}))
	}
	busy := func(what string) {
		t.Helper()
		if err := done.Close(); !errors.Is(err, core.ErrBusy) {
			t.Fatalf("closing the completion counter of %s: %v", what, err)
		}
	}
	recv(w.b.Endpoint, 1)
	busy("a receive under way")
	if err := w.d.CancelWork(5); err != core.ErrNoEnt {
		t.Errorf("cancel of work that has started: %v", err)
	}
	must(t, w.d.FlushWork(nil))
	busy("a receive under way after a flush")
	must(t, w.a.TSend(message, 0, 0, 1, 9))
	next(t, w.qa)
	next(t, w.qb)
	if done.Value() != 1 {
		t.Errorf("counted %d", done.Value())
	}
	recv(third.Endpoint, 2)
	fourth.drv.held = true
	big := sendWork(w, 3, n[0], 0, done)
	big.Tagged.EP, big.Tagged.Flags = fourth.Endpoint, core.OpDeliveryComplete
	must(t, w.d.QueueWork(big))
	busy("a receive and a send under way")
	if err := w.d.Close(); !errors.Is(err, core.ErrBusy) {
		t.Errorf("closing the domain: %v", err)
	}
	must(t, third.Close())
	busy("a send under way")
	must(t, fourth.Close())
	none(t, w.qa)
	none(t, w.qb)
	if done.Value() != 1 || done.ErrValue() != 0 {
		t.Errorf("what ended with its endpoint was counted: %d, %d", done.Value(), done.ErrValue())
	}
	must(t, done.Close())
}

// TestWorkFails: work that fails increments the counter's errors. Without a counter it makes an error entry.
func TestWorkFails(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	n := w.counters(t, 2)
	for _, done := range []*core.Counter{n[1], nil} {
		dw := sendWork(w, 8, n[0], 0, done)
		dw.Tagged.Msg.Addr = 5 // no such peer
		must(t, w.d.QueueWork(dw))
	}
	var e core.CQErrEntry
	if err := w.qa.ReadErr(&e); err != nil || e.Err != core.ErrHostUnreach || e.Ctx != 8 {
		t.Errorf("%v, %+v", err, e)
	}
	none(t, w.qa)
	if n[1].Value() != 0 || n[1].ErrValue() != 1 {
		t.Errorf("counted %d, %d", n[1].Value(), n[1].ErrValue())
	}
}

// TestWorkReported: with OpCompletion the completion is also reported and counted at the endpoint.
func TestWorkReported(t *testing.T) {
	w := newWorld(t, allCaps, core.BindSelectiveCompletion)
	n := w.counters(t, 2)
	dw := sendWork(w, 6, n[0], 1, n[1])
	dw.Tagged.Flags = core.OpCompletion
	must(t, w.d.QueueWork(dw))
	rv := &core.DeferredWork{Threshold: 1, TriggeringCntr: n[0], CompletionCntr: n[1], OpType: core.OpTRecv,
		Tagged: &core.OpTagged{EP: w.b.Endpoint, Msg: core.TaggedArgs{IOV: [][]byte{make([]byte, 64)}, Tag: 6, Ctx: 7},
			Flags: core.OpCompletion}}
	must(t, w.d.QueueWork(rv))
	must(t, n[0].Add(1))
	if a, b := next(t, w.qa), next(t, w.qb); a.Ctx != 6 || b.Ctx != 7 || b.Tag != 6 || n[1].Value() != 2 {
		t.Errorf("%+v, %+v, counted %d", a, b, n[1].Value())
	}
}

// TestWorkAllocates: a round of deferred work allocates no memory in steady state.
func TestWorkAllocates(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	n := w.counters(t, 3)
	dw, again := sendWork(w, 1, n[0], 0, n[1]), cntrWork(2, n[1], 0, core.OpCntrAdd, n[2], 1)
	in := make([]byte, 64)
	rv := &core.DeferredWork{TriggeringCntr: n[0], CompletionCntr: n[2], OpType: core.OpTRecv,
		Tagged: &core.OpTagged{EP: w.b.Endpoint, Msg: core.TaggedArgs{IOV: [][]byte{in}, Tag: 1}}}
	round := uint64(0)
	one := func() {
		round++
		dw.Threshold, again.Threshold, rv.Threshold = round, round, round
		must(t, w.d.QueueWork(rv))
		must(t, w.d.QueueWork(dw))
		must(t, w.d.QueueWork(again))
		must(t, n[0].Add(1))
	}
	for range 100 {
		one()
	}
	if a := testing.AllocsPerRun(200, one); a != 0 {
		t.Errorf("%v allocations for a round", a)
	}
	if n[2].Value() != 2*round {
		t.Errorf("%d of %d", n[2].Value(), 2*round)
	}
}

// TestTriggerAlias: plain calls of a triggered alias fail. Its msg variants and the other direction work.
func TestTriggerAlias(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	n := w.counters(t, 1)
	a, err := w.a.Alias(core.BindTransmit, core.OpTrigger)
	must(t, err)
	for name, err := range map[string]error{"send": a.Send(message, 0, 0, 1), "tsend": a.TSend(message, 0, 0, 1, 1),
		"read": a.Read(message, 0, 0, 0, 3, 1)} {
		if err != core.ErrInval {
			t.Errorf("%s: %v", name, err)
		}
	}
	dw := sendWork(w, 4, n[0], 1, nil)
	dw.Tagged.EP = a
	must(t, w.d.QueueWork(dw))
	must(t, n[0].Add(1))
	if got := w.tags(t, 1); got[0] != 4 {
		t.Errorf("%v", got)
	}
	must(t, a.Close())
}
