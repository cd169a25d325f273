package core

// Call is a data transfer call, with its name in libfabric.
type Call uint8

// The calls.
const (
	CallSend Call = iota
	CallSendV
	CallSendMsg
	CallSendData
	CallInject
	CallInjectData
	CallTSend
	CallTSendV
	CallTSendMsg
	CallTSendData
	CallTInject
	CallTInjectData
	CallRecv
	CallRecvV
	CallRecvMsg
	CallTRecv
	CallTRecvV
	CallTRecvMsg
	CallRead
	CallReadV
	CallReadMsg
	CallWrite
	CallWriteV
	CallWriteMsg
	CallWriteData
	CallInjectWrite
	CallInjectWriteData
	CallAtomicMsg
	CallFetchAtomicMsg
	CallCompareAtomicMsg
	CallInjectAtomic
)

// shape is the form of a call's arguments.
type shape uint8

const (
	plain  shape = iota // one buffer, the endpoint's default flags
	vector              // an array of buffers, the endpoint's default flags
	msg                 // an array of buffers, and flags
	inject              // one buffer, which may be reused when the call returns; no completion
)

var calls = [...]struct {
	name  string
	op    OpType
	shape shape
	data  bool // with remote CQ data
}{
	CallSend:             {"fi_send", OpSend, plain, false},
	CallSendV:            {"fi_sendv", OpSend, vector, false},
	CallSendMsg:          {"fi_sendmsg", OpSend, msg, false},
	CallSendData:         {"fi_senddata", OpSend, plain, true},
	CallInject:           {"fi_inject", OpSend, inject, false},
	CallInjectData:       {"fi_injectdata", OpSend, inject, true},
	CallTSend:            {"fi_tsend", OpTSend, plain, false},
	CallTSendV:           {"fi_tsendv", OpTSend, vector, false},
	CallTSendMsg:         {"fi_tsendmsg", OpTSend, msg, false},
	CallTSendData:        {"fi_tsenddata", OpTSend, plain, true},
	CallTInject:          {"fi_tinject", OpTSend, inject, false},
	CallTInjectData:      {"fi_tinjectdata", OpTSend, inject, true},
	CallRecv:             {"fi_recv", OpRecv, plain, false},
	CallRecvV:            {"fi_recvv", OpRecv, vector, false},
	CallRecvMsg:          {"fi_recvmsg", OpRecv, msg, false},
	CallTRecv:            {"fi_trecv", OpTRecv, plain, false},
	CallTRecvV:           {"fi_trecvv", OpTRecv, vector, false},
	CallTRecvMsg:         {"fi_trecvmsg", OpTRecv, msg, false},
	CallRead:             {"fi_read", OpRead, plain, false},
	CallReadV:            {"fi_readv", OpRead, vector, false},
	CallReadMsg:          {"fi_readmsg", OpRead, msg, false},
	CallWrite:            {"fi_write", OpWrite, plain, false},
	CallWriteV:           {"fi_writev", OpWrite, vector, false},
	CallWriteMsg:         {"fi_writemsg", OpWrite, msg, false},
	CallWriteData:        {"fi_writedata", OpWrite, plain, true},
	CallInjectWrite:      {"fi_inject_write", OpWrite, inject, false},
	CallInjectWriteData:  {"fi_inject_writedata", OpWrite, inject, true},
	CallAtomicMsg:        {"fi_atomicmsg", OpAtomic, msg, false},
	CallFetchAtomicMsg:   {"fi_fetch_atomicmsg", OpFetchAtomic, msg, false},
	CallCompareAtomicMsg: {"fi_compare_atomicmsg", OpCompareAtomic, msg, false},
	CallInjectAtomic:     {"fi_inject_atomic", OpAtomic, inject, false},
}

// String returns the call's name in C.
func (c Call) String() string { return calls[c].name }

// Op returns the operation of the call.
func (c Call) Op() OpType { return calls[c].op }

// OneBuffer reports whether the call has one buffer, Op.Buf, and one remote range, Op.RMA. The others have arrays,
// Op.IOV and Op.RMAIOV, except that the v variants of reads and writes have Op.RMA.
func (c Call) OneBuffer() bool { return calls[c].shape == plain || calls[c].shape == inject }

// Default reports whether the call uses the endpoint's default flags. The msg variants have flags of their own, and
// the inject variants have none.
func (c Call) Default() bool { return calls[c].shape == plain || calls[c].shape == vector }

// Inject reports whether the call writes no completion and needs the buffer only until it returns.
func (c Call) Inject() bool { return calls[c].shape == inject }

// Receives reports whether the call posts a receive.
func (c Call) Receives() bool { return calls[c].op == OpRecv || calls[c].op == OpTRecv }

// Tagged reports whether the call is for tagged messages.
func (c Call) Tagged() bool { return calls[c].op == OpTSend || calls[c].op == OpTRecv }

// Op is a data transfer as drivers receive it. The call determines which fields are valid.
type Op struct {
	Call  Call
	Type  Datatype // of atomics, as Operator
	Oper  AtomicOp
	Flags OpFlags // of the msg variants
	Addr  FIAddr
	Ctx   OpContext

	Tag, Ignore uint64
	Data        uint64 // see HasData

	Buf   []byte // see Call.OneBuffer
	Desc  Desc   // of Buf
	IOV   [][]byte
	Descs []Desc // of IOV

	RMA    RMAIov // Len is not used for atomics with one buffer
	RMAIOV []RMAIov
	RMAIOC []RMAIoc // of the msg variants of atomics

	Result       [][]byte // of OpFetchAtomic and OpCompareAtomic
	ResultDescs  []Desc
	Compare      [][]byte // of OpCompareAtomic
	CompareDescs []Desc

	Trigger Condition // with the flag OpTrigger
}

// HasData reports whether the operation has remote CQ data, in Data.
func (o *Op) HasData() bool {
	return calls[o.Call].data || o.Flags&OpRemoteCQData != 0 && !o.Call.Receives()
}

// Len returns the number of bytes in the buffers.
func (o *Op) Len() int {
	n := len(o.Buf)
	for _, b := range o.IOV {
		n += len(b)
	}
	return n
}

// Condition is a TriggeredContext as drivers receive it. Cntr is nil if the operation has none.
type Condition struct {
	Event     TriggerEvent
	Cntr      CounterDriver
	Threshold uint64
}

// CollOp is a collective operation as drivers receive it. The methods of Endpoint document the fields.
type CollOp struct {
	Op     CollectiveOp
	Plain  bool // fi_barrier, which has no flags
	Type   Datatype
	Oper   AtomicOp
	Group  FIAddr
	Root   FIAddr
	Buf    []byte
	Desc   Desc
	Result []byte // nil for Broadcast, which uses Buf

	ResultDesc Desc
	Count      int
	Flags      OpFlags
	Ctx        OpContext
}

// Work is deferred work as drivers receive it (DeferredWork).
type Work struct {
	Ctx        OpContext
	Threshold  uint64
	Triggering CounterDriver
	Completion CounterDriver // nil for none

	// Either a transfer: EP is an EndpointDriver, or an SRXDriver for receives. Op is a msg variant.
	Transfer bool
	EP       any
	Op       Op

	// Or the change of a counter: CounterAdd or CounterSet.
	Cntr   CounterDriver
	Change CounterChange
	Value  uint64
}
