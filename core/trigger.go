package core

// This file has triggered operations and deferred work (fi_trigger(3)): operations that start when a counter
// reaches a value.

// TriggerEvent is the event that starts a triggered operation (enum fi_trigger_event, fi_trigger(3)).
type TriggerEvent uint32

// TriggerThreshold waits for a counter to reach a value. TriggerXPU is for accelerators; no provider here has it.
const (
	TriggerThreshold TriggerEvent = iota // FI_TRIGGER_THRESHOLD
	TriggerXPU                           // FI_TRIGGER_XPU
)

// TriggeredContext says what an operation that is posted with OpTrigger waits for (struct fi_triggered_context,
// fi_trigger(3)): the number of successes of Cntr, a counter of the same domain, reaches Threshold. In C it
// replaces the operation's context. Here the operation also has Ctx, which completions report as usual. The
// structure may be reused when the call returns.
type TriggeredContext struct {
	EventType TriggerEvent
	Cntr      *Counter
	Threshold uint64
}

// driver returns t as drivers receive it.
func (t *TriggeredContext) driver() Condition {
	if t == nil {
		return Condition{}
	}
	return Condition{t.EventType, t.Cntr.counter(), t.Threshold}
}

// OpType is the operation of deferred work (enum fi_op_type, fi_trigger(3)).
type OpType uint32

// The kinds of operations. Behind each is the field of DeferredWork that it uses.
const (
	OpRecv          OpType = iota // Msg
	OpSend                        // Msg
	OpTRecv                       // Tagged
	OpTSend                       // Tagged
	OpRead                        // RMA
	OpWrite                       // RMA
	OpAtomic                      // Atomic
	OpFetchAtomic                 // Atomic
	OpCompareAtomic               // Atomic
	OpCntrSet                     // Cntr
	OpCntrAdd                     // Cntr
)

// OpMsg is an OpRecv or OpSend (struct fi_op_msg). EP is an Endpoint, or a SharedRx for receives. Flags are those
// of RecvMsg and SendMsg. With OpCompletion the endpoint's queue reports the end of the operation, too.
type OpMsg struct {
	EP    Object
	Msg   MsgArgs
	Flags OpFlags
}

// OpTagged is an OpTRecv or OpTSend (struct fi_op_tagged); see OpMsg.
type OpTagged struct {
	EP    Object
	Msg   TaggedArgs
	Flags OpFlags
}

// OpRMA is an OpRead or OpWrite (struct fi_op_rma).
type OpRMA struct {
	EP    *Endpoint
	Msg   RMAArgs
	Flags OpFlags
}

// OpAtomicArgs is an OpAtomic, OpFetchAtomic or OpCompareAtomic (struct fi_op_atomic, fi_op_fetch_atomic,
// fi_op_compare_atomic). The last two use Result, and the last uses Compare.
type OpAtomicArgs struct {
	EP          *Endpoint
	Msg         AtomicArgs
	Result      [][]byte
	ResultDesc  []Desc
	Compare     [][]byte
	CompareDesc []Desc
	Flags       OpFlags
}

// OpCntr is an OpCntrSet or OpCntrAdd (struct fi_op_cntr): a change of the number of successes of Cntr.
type OpCntr struct {
	Cntr  *Counter
	Value uint64
}

// DeferredWork is an operation that the domain starts when a counter reaches a threshold (struct fi_deferred_work,
// fi_trigger(3)).
//
// The structure and what it points to may be reused when Domain.QueueWork returns; in C, only after the work has
// ended. The memory of the operation belongs to the provider until the work has ended. The provider does not read
// it before the operation starts.
type DeferredWork struct {
	Ctx       OpContext // identifies the work for Domain.CancelWork; in C, the address of the structure
	Threshold uint64    // sum of successes and failures of TriggeringCntr

	TriggeringCntr *Counter
	// CompletionCntr counts the end of a transfer, as a success or a failure. nil is no counter. It must be nil for
	// OpCntrSet and OpCntrAdd.
	CompletionCntr *Counter

	OpType OpType
	// The operation: one of these fields is set.
	Msg    *OpMsg
	Tagged *OpTagged
	RMA    *OpRMA
	Atomic *OpAtomicArgs
	Cntr   *OpCntr
}

// QueueWork queues deferred work (FI_QUEUE_WORK, fi_trigger(3), "DEFERRED WORK QUEUES"). The error is ErrNoSys if
// the provider or the endpoint cannot defer the operation, and ErrInval if arguments contradict each other.
//
// Work starts in the order of thresholds, and at the same threshold in the order of queueing. If it cannot start
// because a queue is full, it starts when there is room, before later work to the same destination. The endpoint
// reports the end of the work only with OpCompletion, or if the operation fails and no completion counter counts
// the failure.
//
// Counters of work that has not started stay open: Close returns ErrBusy. Close of the endpoint drops its work
// without a report.
func (d *Domain) QueueWork(w *DeferredWork) error {
	if w == nil {
		return refuseWork(ErrInval, "pass the work to queue")
	}
	lower := Work{Ctx: w.Ctx, Threshold: w.Threshold, Triggering: w.TriggeringCntr.counter(), Completion: w.CompletionCntr.counter()}
	if err := w.fill(&lower); err != nil {
		return refuseWork(err, "the arguments are not those of this kind of operation")
	}
	return d.d.QueueWork(lower)
}

func refuseWork(err error, hint string) error {
	return &OpError{Op: "fi_control(FI_QUEUE_WORK)", Err: err, Hint: hint}
}

// fill sets the operation of w in lower.
func (w *DeferredWork) fill(lower *Work) error {
	lower.Transfer = true
	switch w.OpType {
	case OpRecv, OpSend:
		if o := w.Msg; o != nil {
			m := &o.Msg
			lower.EP = postingDriver(o.EP)
			lower.Op = Op{Call: CallRecvMsg, IOV: m.IOV, Descs: m.Desc, Addr: m.Addr, Ctx: m.Ctx, Data: m.Data, Flags: o.Flags}
			if w.OpType == OpSend {
				lower.Op.Call = CallSendMsg
			}
			return nil
		}
	case OpTRecv, OpTSend:
		if o := w.Tagged; o != nil {
			m := &o.Msg
			lower.EP = postingDriver(o.EP)
			lower.Op = Op{Call: CallTRecvMsg, IOV: m.IOV, Descs: m.Desc, Addr: m.Addr, Tag: m.Tag, Ignore: m.Ignore, Ctx: m.Ctx, Data: m.Data, Flags: o.Flags}
			if w.OpType == OpTSend {
				lower.Op.Call = CallTSendMsg
			}
			return nil
		}
	case OpRead, OpWrite:
		if o := w.RMA; o != nil {
			m := &o.Msg
			lower.EP = o.EP.driver()
			lower.Op = Op{Call: CallReadMsg, IOV: m.IOV, Descs: m.Desc, Addr: m.Addr, RMAIOV: m.RMAIOV, Ctx: m.Ctx, Data: m.Data, Flags: o.Flags}
			if w.OpType == OpWrite {
				lower.Op.Call = CallWriteMsg
			}
			return nil
		}
	case OpAtomic, OpFetchAtomic, OpCompareAtomic:
		if o := w.Atomic; o != nil {
			lower.EP = o.EP.driver()
			lower.Op = o.Msg.op(CallAtomicMsg+Call(w.OpType-OpAtomic), o.Flags)
			lower.Op.Trigger = Condition{} // the work has the condition
			if w.OpType != OpAtomic {
				lower.Op.Result, lower.Op.ResultDescs = o.Result, o.ResultDesc
			}
			if w.OpType == OpCompareAtomic {
				lower.Op.Compare, lower.Op.CompareDescs = o.Compare, o.CompareDesc
			}
			return nil
		}
	case OpCntrSet, OpCntrAdd:
		if o := w.Cntr; o != nil && w.CompletionCntr == nil {
			lower.Transfer, lower.Cntr, lower.Value, lower.Change = false, o.Cntr.counter(), o.Value, CounterSet
			if w.OpType == OpCntrAdd {
				lower.Change = CounterAdd
			}
			return nil
		}
	default:
		return ErrNoSys
	}
	return ErrInval
}

// postingDriver returns the driver of an endpoint or a shared receive context, and nil for other objects.
func postingDriver(o Object) any {
	switch x := o.(type) {
	case *Endpoint:
		return x.driver()
	case *ScalableEndpoint:
		return x.driver()
	case *SharedRx:
		return x.d
	}
	return nil
}

// CancelWork cancels the work that was queued with ctx and has not started (FI_CANCEL_WORK). No counter counts it.
// With OpCompletion it ends with an error entry, ErrCanceled. The error is ErrNoEnt if there is no such work.
// Endpoint.Cancel cancels operations that have started.
func (d *Domain) CancelWork(ctx OpContext) error { return d.d.CancelWork(ctx) }

// FlushWork cancels all work that has not started (FI_FLUSH_WORK). If c is not nil, it only cancels the work that
// waits for c.
func (d *Domain) FlushWork(c *Counter) error { return d.d.FlushWork(c.counter()) }
