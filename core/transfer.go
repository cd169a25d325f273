package core

// Context identifies an operation: an integer of the caller's choosing that comes back in the completion. C callers store a pointer in it.
type Context uint64

// MsgArgs are the arguments of SendMsg and RecvMsg (struct fi_msg, fi_msg(3)).
type MsgArgs struct {
	IOV  [][]byte
	Desc []Desc
	Addr FIAddr
	Ctx  Context
	Data uint64 // remote CQ data, with RemoteCQData

	Trigger *TriggeredContext // with the flag Trigger, of operations on endpoints with CapTrigger; so below
}

// TaggedArgs are the arguments of TSendMsg and TRecvMsg (struct fi_msg_tagged, fi_tagged(3)).
type TaggedArgs struct {
	IOV    [][]byte
	Desc   []Desc
	Addr   FIAddr
	Tag    uint64
	Ignore uint64
	Ctx    Context
	Data   uint64

	Trigger *TriggeredContext
}

// RMAIov is a range of remote memory (struct fi_rma_iov, fi_rma(3)). Len is bytes.
type RMAIov struct {
	Addr uint64
	Len  uint64
	Key  uint64
}

// RMAArgs are the arguments of ReadMsg and WriteMsg (struct fi_msg_rma, fi_rma(3)).
type RMAArgs struct {
	IOV    [][]byte
	Desc   []Desc
	Addr   FIAddr
	RMAIOV []RMAIov
	Ctx    Context
	Data   uint64

	Trigger *TriggeredContext
}

// Receiver posts receive buffers for untagged messages (fi_msg(3)).
//
// A buffer belongs to the provider until its operation completes. src selects a sender where CapDirectedRecv is enabled, else it is ignored.
// ErrAgain means that the receive queue is full: read completions and try again.
type Receiver interface {
	Recv(buf []byte, desc Desc, src FIAddr, ctx Context) error
	RecvV(iov [][]byte, desc []Desc, src FIAddr, ctx Context) error
	RecvMsg(m *MsgArgs, flags Flags) error
}

// Msg is message transfer (fi_msg(3)). Buffers of the plain calls belong to the provider until the operation completes, those of Inject calls
// return to the caller at once. The slices of an iov (not the memory they refer to) may be reused when the call returns. ErrAgain means "not
// now": make progress by reading a queue, and try again.
type Msg interface {
	Receiver
	Send(buf []byte, desc Desc, dest FIAddr, ctx Context) error
	SendV(iov [][]byte, desc []Desc, dest FIAddr, ctx Context) error
	SendMsg(m *MsgArgs, flags Flags) error
	SendData(buf []byte, desc Desc, data uint64, dest FIAddr, ctx Context) error
	Inject(buf []byte, dest FIAddr) error
	InjectData(buf []byte, data uint64, dest FIAddr) error
}

// TaggedReceiver posts receive buffers for tagged messages (fi_tagged(3)): a message matches when (tag^t)&^ignore == 0.
type TaggedReceiver interface {
	TRecv(buf []byte, desc Desc, src FIAddr, tag, ignore uint64, ctx Context) error
	TRecvV(iov [][]byte, desc []Desc, src FIAddr, tag, ignore uint64, ctx Context) error
	TRecvMsg(m *TaggedArgs, flags Flags) error
}

// Tagged is tagged message transfer (fi_tagged(3)).
type Tagged interface {
	TaggedReceiver
	TSend(buf []byte, desc Desc, dest FIAddr, tag uint64, ctx Context) error
	TSendV(iov [][]byte, desc []Desc, dest FIAddr, tag uint64, ctx Context) error
	TSendMsg(m *TaggedArgs, flags Flags) error
	TSendData(buf []byte, desc Desc, data uint64, dest FIAddr, tag uint64, ctx Context) error
	TInject(buf []byte, dest FIAddr, tag uint64) error
	TInjectData(buf []byte, data uint64, dest FIAddr, tag uint64) error
}

// RMA is remote memory access (fi_rma(3)).
type RMA interface {
	Read(buf []byte, desc Desc, src FIAddr, addr, key uint64, ctx Context) error
	ReadV(iov [][]byte, desc []Desc, src FIAddr, addr, key uint64, ctx Context) error
	ReadMsg(m *RMAArgs, flags Flags) error
	Write(buf []byte, desc Desc, dest FIAddr, addr, key uint64, ctx Context) error
	WriteV(iov [][]byte, desc []Desc, dest FIAddr, addr, key uint64, ctx Context) error
	WriteMsg(m *RMAArgs, flags Flags) error
	WriteData(buf []byte, desc Desc, data uint64, dest FIAddr, addr, key uint64, ctx Context) error
	InjectWrite(buf []byte, dest FIAddr, addr, key uint64) error
	InjectWriteData(buf []byte, data uint64, dest FIAddr, addr, key uint64) error
}
