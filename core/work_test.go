package core_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"gofabric/core"
)

// workWorld is a domain that accepts deferred work, with the objects that the work needs.
type workWorld struct {
	domain *opDomain
	d      *core.Domain
	ep     *core.Endpoint
	wide   *core.ScalableEndpoint
	srx    *core.SharedRx
	cntr   [4]*core.Counter // their drivers have the numbers from 1
	args   *arguments       // the counter's driver has the number 5
}

func newWorkWorld(t *testing.T) *workWorld {
	t.Helper()
	w := &workWorld{domain: &opDomain{ep: &epDriver{plain: 301}, srx: srxDriver{ep: &epDriver{plain: 302}}}}
	w.d = w.domain.open(t)
	var err error
	w.ep, err = w.d.OpenEndpoint(nil)
	check(t, err)
	w.wide, err = w.d.OpenScalable(nil)
	check(t, err)
	w.srx, err = w.d.OpenSRX(nil)
	check(t, err)
	for i := range w.cntr {
		w.cntr[i], err = w.d.OpenCounter(core.CntrAttr{})
		check(t, err)
	}
	w.args = newArguments(t, w.d)
	return w
}

func (w *workWorld) msg(ep core.Object) *core.OpMsg {
	return &core.OpMsg{EP: ep, Msg: *w.args.msg, Flags: opFlags}
}
func (w *workWorld) tagged(ep core.Object) *core.OpTagged {
	return &core.OpTagged{EP: ep, Msg: *w.args.tagged, Flags: opFlags}
}
func (w *workWorld) rma() *core.OpRMA {
	return &core.OpRMA{EP: w.ep, Msg: *w.args.rma, Flags: opFlags}
}
func (w *workWorld) atomic() *core.OpAtomicArgs {
	return &core.OpAtomicArgs{EP: w.ep, Msg: *w.args.atomic, Result: opResult, ResultDesc: opResDesc, Compare: opComp,
		CompareDesc: opCmpDesc, Flags: opFlags}
}

// TestQueueWork: drivers receive deferred work of every type. The condition is in the work, not in its operation.
func TestQueueWork(t *testing.T) {
	w := newWorkWorld(t)
	ep, srx := w.domain.ep, w.domain.srx
	msg := core.Op{IOV: opIOV, Descs: opDescs, Addr: opPeer, Ctx: opCtx, Data: opData, Flags: opFlags}
	tagged := msg
	tagged.Tag, tagged.Ignore = opTag, opIgnore
	rma := msg
	rma.RMAIOV = opRMA
	atomic := msg
	atomic.RMAIOC, atomic.Type, atomic.Oper = opRMC, opType, opOper
	fetch := atomic
	fetch.Result, fetch.ResultDescs = opResult, opResDesc
	compare := fetch
	compare.Compare, compare.CompareDescs = opComp, opCmpDesc
	at := func(ep any, op core.Op, c core.Call) core.Work {
		op.Call = c
		return core.Work{Transfer: true, EP: ep, Op: op}
	}
	seen := map[core.OpType]bool{}
	for _, c := range []struct {
		work core.DeferredWork
		want core.Work
	}{
		{core.DeferredWork{OpType: core.OpRecv, Msg: w.msg(w.ep)}, at(ep, msg, core.CallRecvMsg)},
		{core.DeferredWork{OpType: core.OpRecv, Msg: w.msg(w.srx)}, at(srx, msg, core.CallRecvMsg)},
		{core.DeferredWork{OpType: core.OpRecv, Msg: w.msg(w.wide)}, at(ep, msg, core.CallRecvMsg)},
		// There is no endpoint. The driver must refuse it.
		{core.DeferredWork{OpType: core.OpRecv, Msg: w.msg(w.cntr[0])}, at(nil, msg, core.CallRecvMsg)},
		{core.DeferredWork{OpType: core.OpSend, Msg: w.msg(w.ep)}, at(ep, msg, core.CallSendMsg)},
		{core.DeferredWork{OpType: core.OpTRecv, Tagged: w.tagged(w.ep)}, at(ep, tagged, core.CallTRecvMsg)},
		{core.DeferredWork{OpType: core.OpTRecv, Tagged: w.tagged(w.srx)}, at(srx, tagged, core.CallTRecvMsg)},
		{core.DeferredWork{OpType: core.OpTSend, Tagged: w.tagged(w.ep)}, at(ep, tagged, core.CallTSendMsg)},
		{core.DeferredWork{OpType: core.OpTSend, Tagged: w.tagged(nil)}, at(nil, tagged, core.CallTSendMsg)},
		{core.DeferredWork{OpType: core.OpRead, RMA: w.rma()}, at(ep, rma, core.CallReadMsg)},
		{core.DeferredWork{OpType: core.OpWrite, RMA: w.rma()}, at(ep, rma, core.CallWriteMsg)},
		{core.DeferredWork{OpType: core.OpAtomic, Atomic: w.atomic()}, at(ep, atomic, core.CallAtomicMsg)},
		{core.DeferredWork{OpType: core.OpFetchAtomic, Atomic: w.atomic()}, at(ep, fetch, core.CallFetchAtomicMsg)},
		{core.DeferredWork{OpType: core.OpCompareAtomic, Atomic: w.atomic()},
			at(ep, compare, core.CallCompareAtomicMsg)},
		{core.DeferredWork{OpType: core.OpCntrSet, Cntr: &core.OpCntr{Cntr: w.cntr[2], Value: 311}},
			core.Work{Cntr: &cntrDriver{number: 3}, Change: core.CounterSet, Value: 311}},
		{core.DeferredWork{OpType: core.OpCntrAdd, Cntr: &core.OpCntr{Cntr: w.cntr[3], Value: 312}},
			core.Work{Cntr: &cntrDriver{number: 4}, Change: core.CounterAdd, Value: 312}},
	} {
		seen[c.work.OpType] = true
		c.work.Ctx, c.work.Threshold, c.work.TriggeringCntr = 321, 322, w.cntr[0]
		c.want.Ctx, c.want.Threshold, c.want.Triggering = 321, 322, &cntrDriver{number: 1}
		if c.want.Transfer {
			c.work.CompletionCntr, c.want.Completion = w.cntr[1], &cntrDriver{number: 2}
		}
		w.domain.work = core.Work{}
		if err := w.d.QueueWork(&c.work); err != nil || !reflect.DeepEqual(w.domain.work, c.want) {
			t.Errorf("operation %d: %v\n%+v, want\n%+v", c.work.OpType, err, w.domain.work, c.want)
		}
	}
	if len(seen) != int(core.OpCntrAdd)+1 {
		t.Errorf("%d types of %d", len(seen), core.OpCntrAdd+1)
	}
}

// TestQueueWorkRefuses: invalid work is refused before the driver receives it.
func TestQueueWorkRefuses(t *testing.T) {
	w := newWorkWorld(t)
	refused := func(what string, work *core.DeferredWork, want error) {
		t.Helper()
		w.domain.work = core.Work{}
		if err := w.d.QueueWork(work); !errors.Is(err, want) || !reflect.DeepEqual(w.domain.work, core.Work{}) {
			t.Errorf("%s: %v, want %v; the driver got %+v", what, err, want, w.domain.work)
		}
	}
	refused("nothing", nil, core.ErrInval)
	all := core.DeferredWork{TriggeringCntr: w.cntr[0], Msg: w.msg(w.ep), Tagged: w.tagged(w.ep), RMA: w.rma(),
		Atomic: w.atomic(), Cntr: &core.OpCntr{Cntr: w.cntr[1]}}
	for op := range core.OpCntrAdd + 2 {
		work := all
		work.OpType = op
		want := error(core.ErrInval)
		switch op {
		case core.OpRecv, core.OpSend:
			work.Msg = nil
		case core.OpTRecv, core.OpTSend:
			work.Tagged = nil
		case core.OpRead, core.OpWrite:
			work.RMA = nil
		case core.OpAtomic, core.OpFetchAtomic, core.OpCompareAtomic:
			work.Atomic = nil
		case core.OpCntrSet, core.OpCntrAdd:
			work.Cntr = nil
		default:
			want = core.ErrNoSys
		}
		refused(fmt.Sprintf("operation %d without arguments", op), &work, want)
	}
	for _, op := range []core.OpType{core.OpCntrSet, core.OpCntrAdd} {
		work := all
		work.OpType, work.CompletionCntr = op, w.cntr[2]
		refused("completion of a counter's change", &work, core.ErrInval)
	}
}

// TestWorkWithout: drivers receive nil for counters and endpoints that are absent.
func TestWorkWithout(t *testing.T) {
	w := newWorkWorld(t)
	r := w.rma()
	r.EP = nil
	check(t, w.d.QueueWork(&core.DeferredWork{OpType: core.OpRead, RMA: r}))
	if got := w.domain.work; got.Triggering != nil || got.Completion != nil || got.Cntr != nil || got.EP != nil {
		t.Errorf("%+v", got)
	}
	check(t, w.d.CancelWork(331))
	if w.domain.canceled != 331 {
		t.Error(w.domain.canceled)
	}
	check(t, w.d.FlushWork(w.cntr[1]))
	if c, ok := w.domain.flushed.(*cntrDriver); !ok || c.number != 2 {
		t.Error(w.domain.flushed)
	}
	check(t, w.d.FlushWork(nil))
	if w.domain.flushed != nil {
		t.Error(w.domain.flushed)
	}
}
