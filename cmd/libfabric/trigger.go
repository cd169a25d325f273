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
	if arg == nil {
		return core.ErrInval
	}
	if command == C.FI_CANCEL_WORK {
		return d.CancelWork(fromContext(arg))
	}
	c := (*C.struct_fi_deferred_work)(arg)
	w := &core.DeferredWork{Ctx: fromContext(arg), Threshold: uint64(c.threshold), OpType: core.OpType(c.op_type),
		TriggeringCntr: counterAt(c.triggering_cntr), CompletionCntr: counterAt(c.completion_cntr)}
	if c.op == nil || w.TriggeringCntr == nil || (c.completion_cntr != nil && w.CompletionCntr == nil) {
		return core.ErrInval
	}
	if err := operation(w, c.op); err != nil {
		return err
	}
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
func operation(w *core.DeferredWork, op unsafe.Pointer) error {
	a := new(args)
	switch w.OpType {
	case core.OpRecv, core.OpSend:
		c := (*C.struct_fi_op_msg)(op)
		err := a.fillMsg(&c.msg, 0)
		w.Msg = &core.OpMsg{EP: endpointAt(c.ep), Msg: a.msg, Flags: core.OpFlags(c.flags)}
		return err
	case core.OpTRecv, core.OpTSend:
		c := (*C.struct_fi_op_tagged)(op)
		err := a.fillTagged(&c.msg, 0)
		w.Tagged = &core.OpTagged{EP: endpointAt(c.ep), Msg: a.tagged, Flags: core.OpFlags(c.flags)}
		return err
	case core.OpRead, core.OpWrite:
		c := (*C.struct_fi_op_rma)(op)
		err := a.fillRMA(&c.msg, 0)
		ep, ok := endpointAt(c.ep).(*core.Endpoint)
		if !ok {
			return core.ErrInval
		}
		w.RMA = &core.OpRMA{EP: ep, Msg: a.rmaArgs, Flags: core.OpFlags(c.flags)}
		return err
	case core.OpCntrSet, core.OpCntrAdd:
		c := (*C.struct_fi_op_cntr)(op)
		w.Cntr = &core.OpCntr{Cntr: counterAt(c.cntr), Value: uint64(c.value)}
		if w.Cntr.Cntr == nil {
			return core.ErrInval
		}
		return nil
	case core.OpAtomic, core.OpFetchAtomic, core.OpCompareAtomic:
		return atomicOperation(w, op, a)
	}
	return core.ErrInval
}

func atomicOperation(w *core.DeferredWork, op unsafe.Pointer, a *args) error {
	c := (*C.struct_fi_op_atomic)(op) // the common beginning of the three structures
	if err := a.fillAtomic(&c.msg, 0); err != nil {
		return err
	}
	ep, ok := endpointAt(c.ep).(*core.Endpoint)
	if !ok {
		return core.ErrInval
	}
	flags := c.flags
	switch w.OpType {
	case core.OpFetchAtomic:
		f := (*C.struct_fi_op_fetch_atomic)(op)
		if err := a.fillFetch(&f.fetch); err != nil {
			return err
		}
		flags = f.flags
	case core.OpCompareAtomic:
		f := (*C.struct_fi_op_compare_atomic)(op)
		if err := a.fillFetch(&f.fetch); err != nil {
			return err
		}
		if err := a.fillCompare(&f.compare); err != nil {
			return err
		}
		flags = f.flags
	}
	w.Atomic = &core.OpAtomicArgs{EP: ep, Msg: a.atomic, Result: a.result, ResultDesc: a.resultDesc, Compare: a.compare, CompareDesc: a.compareDesc,
		Flags: core.OpFlags(flags)}
	return nil
}
