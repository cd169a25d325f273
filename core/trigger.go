package core

// Triggered operations and deferred work (fi_trigger(3)): operations that wait for a counter.

// TriggerEvent is what a triggered operation waits for (enum fi_trigger_event, fi_trigger(3)).
type TriggerEvent uint32

// TriggerThreshold waits for a counter to reach a value. TriggerXPU, of other processors than the host's, no provider here offers.
const (
	TriggerThreshold TriggerEvent = iota // FI_TRIGGER_THRESHOLD
	TriggerXPU                           // FI_TRIGGER_XPU
)

// TriggeredContext says what an operation posted with the flag Trigger waits for (struct fi_triggered_context, fi_trigger(3)): the count of successes of Cntr,
// a counter of the same domain, reaches Threshold. In C it takes the place of the context; here it stands beside it, and Ctx of the arguments remains what
// completions bring. It is not kept.
type TriggeredContext struct {
	EventType TriggerEvent
	Cntr      Counter
	Threshold uint64
}

// OpType is the operation of deferred work (enum fi_op_type, fi_trigger(3)).
type OpType uint32

// The eleven kinds. Each uses the field of DeferredWork that is named behind it.
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

// OpMsg is an OpRecv or OpSend (struct fi_op_msg). EP is an Endpoint, or for receives a SharedRx. Flags are those of RecvMsg and SendMsg; with Completion the
// end of the operation is reported at the endpoint, too.
type OpMsg struct {
	EP    Object
	Msg   MsgArgs
	Flags Flags
}

// OpTagged is an OpTRecv or OpTSend (struct fi_op_tagged); see OpMsg.
type OpTagged struct {
	EP    Object
	Msg   TaggedArgs
	Flags Flags
}

// OpRMA is an OpRead or OpWrite (struct fi_op_rma).
type OpRMA struct {
	EP    Endpoint
	Msg   RMAArgs
	Flags Flags
}

// OpAtomicArgs is an OpAtomic, OpFetchAtomic or OpCompareAtomic (struct fi_op_atomic, fi_op_fetch_atomic and fi_op_compare_atomic): Result is for the last
// two, Compare for the last.
type OpAtomicArgs struct {
	EP          Endpoint
	Msg         AtomicArgs
	Result      [][]byte
	ResultDesc  []Desc
	Compare     [][]byte
	CompareDesc []Desc
	Flags       Flags
}

// OpCntr is an OpCntrSet or OpCntrAdd (struct fi_op_cntr): what happens to the count of successes of Cntr.
type OpCntr struct {
	Cntr  Counter
	Value uint64
}

// DeferredWork is an operation that the domain starts by itself when a counter has got so far (struct fi_deferred_work, fi_trigger(3)).
//
// The structure and what it points to may be reused when Domain.QueueWork returns, in C only when the work has ended; the memory that the operation names
// is the provider's until then, and is not looked at before the operation starts.
type DeferredWork struct {
	Ctx       Context // names the work to Domain.CancelWork: in C, the address of the structure
	Threshold uint64  // of successes and failures of TriggeringCntr together

	TriggeringCntr Counter
	// CompletionCntr counts the end of a transfer, as a success or a failure; nil for no counter. It is nil for OpCntrSet and OpCntrAdd.
	CompletionCntr Counter

	OpType OpType
	// The operation: one of these.
	Msg    *OpMsg
	Tagged *OpTagged
	RMA    *OpRMA
	Atomic *OpAtomicArgs
	Cntr   *OpCntr
}

// WorkQueue is a domain's deferred work (fi_trigger(3), "DEFERRED WORK QUEUES").
//
// Work whose condition is met starts in the order of thresholds, and of queueing where those are the same; what cannot start at once, for a queue is full,
// starts when there is room, before later work to the same destination. Nothing is reported at the endpoint but on request (Completion) or for a failure that
// no completion counter counts.
//
// Work that has not started keeps its counters from closing (ErrBusy). Closing its endpoint drops it silently.
type WorkQueue interface {
	// QueueWork queues w (FI_QUEUE_WORK). ErrNoSys: the provider, or the endpoint, cannot defer such an operation. ErrInval: the arguments do not go together.
	QueueWork(w *DeferredWork) error
	// CancelWork ends the work queued with ctx that has not started (FI_CANCEL_WORK), without counting it anywhere; if it asked for Completion, with an error
	// entry, ErrCanceled. ErrNoEnt: there is none. Operations that have started, Endpoint.Cancel cancels.
	CancelWork(ctx Context) error
	// FlushWork cancels all work that has not started, or that which waits for c, if that is not nil (FI_FLUSH_WORK).
	FlushWork(c Counter) error
}
