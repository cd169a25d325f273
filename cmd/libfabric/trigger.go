//go:build linux

package main

/*
#include "gf.h"
*/
import "C"

import (
	"unsafe"

	"gofabric/core"
)

// This file has deferred work (fi_trigger(3)). QueueWork copies its arguments, except the memory of operations. So
// the arguments here belong to one call.

// work is FI_QUEUE_WORK, FI_CANCEL_WORK and FI_FLUSH_WORK. The structure's address identifies the work.
func work(d *domain, command C.int, arg unsafe.Pointer) error {
	if command == C.FI_FLUSH_WORK {
		return d.FlushWork(nil)
	}
	refuse(arg == nil)
	if command == C.FI_CANCEL_WORK {
		return d.CancelWork(fromContext(arg))
	}
	c := (*C.struct_fi_deferred_work)(arg)
	w := &core.DeferredWork{Ctx: fromContext(arg), Threshold: uint64(c.threshold), OpType: core.OpType(c.op_type),
		TriggeringCntr: counterAt(c.triggering_cntr), CompletionCntr: counterAt(c.completion_cntr)}
	refuse(c.op == nil || w.TriggeringCntr == nil || (c.completion_cntr != nil && w.CompletionCntr == nil))
	operation(w, c.op)
	return d.QueueWork(w)
}

func counterAt(p *C.struct_fid_cntr) *core.Counter {
	if o := objectAt(unsafe.Pointer(p)); o != nil {
		c, _ := o.core.(*core.Counter)
		return c
	}
	return nil
}

// endpointAt returns the endpoint of an operation, or for receives a shared receive context.
func endpointAt(p *C.struct_fid_ep) core.Object {
	if o := objectAt(unsafe.Pointer(p)); o != nil {
		return o.core
	}
	return nil
}

// operation reads the structure of op_type.
func operation(w *core.DeferredWork, op unsafe.Pointer) {
	a := new(args)
	switch w.OpType {
	case core.OpRecv, core.OpSend:
		c := (*C.struct_fi_op_msg)(op)
		a.fillMsg(&c.msg, 0)
		w.Msg = &core.OpMsg{EP: endpointAt(c.ep), Msg: a.msg, Flags: core.OpFlags(c.flags)}
	case core.OpTRecv, core.OpTSend:
		c := (*C.struct_fi_op_tagged)(op)
		a.fillTagged(&c.msg, 0)
		w.Tagged = &core.OpTagged{EP: endpointAt(c.ep), Msg: a.tagged, Flags: core.OpFlags(c.flags)}
	case core.OpRead, core.OpWrite:
		c := (*C.struct_fi_op_rma)(op)
		a.fillRMA(&c.msg, 0)
		ep, ok := endpointAt(c.ep).(*core.Endpoint)
		refuse(!ok)
		w.RMA = &core.OpRMA{EP: ep, Msg: a.rmaArgs, Flags: core.OpFlags(c.flags)}
	case core.OpCntrSet, core.OpCntrAdd:
		c := (*C.struct_fi_op_cntr)(op)
		w.Cntr = &core.OpCntr{Cntr: counterAt(c.cntr), Value: uint64(c.value)}
		refuse(w.Cntr.Cntr == nil)
	case core.OpAtomic, core.OpFetchAtomic, core.OpCompareAtomic:
		atomicOperation(w, op, a)
	default:
		fail(core.ErrInval)
	}
}

func atomicOperation(w *core.DeferredWork, op unsafe.Pointer, a *args) {
	c := (*C.struct_fi_op_atomic)(op) // the common beginning of the three structures
	a.fillAtomic(&c.msg, 0)
	ep, ok := endpointAt(c.ep).(*core.Endpoint)
	refuse(!ok)
	flags := c.flags
	switch w.OpType {
	case core.OpFetchAtomic:
		f := (*C.struct_fi_op_fetch_atomic)(op)
		a.fillFetch(&f.fetch)
		flags = f.flags
	case core.OpCompareAtomic:
		f := (*C.struct_fi_op_compare_atomic)(op)
		a.fillFetch(&f.fetch)
		a.fillCompare(&f.compare)
		flags = f.flags
	}
	w.Atomic = &core.OpAtomicArgs{EP: ep, Msg: a.atomic, Result: a.result, ResultDesc: a.resultDesc, Compare: a.compare, CompareDesc: a.compareDesc,
		Flags: core.OpFlags(flags)}
}
