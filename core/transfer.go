package core

// OpContext identifies an operation: an integer that the caller chooses and that its completion reports in
// CQEntry.Ctx (op_context, fi_cq(3)). C callers store a pointer in it.
type OpContext uint64

// MsgArgs are the arguments of SendMsg and RecvMsg (struct fi_msg, fi_msg(3)).
type MsgArgs struct {
	IOV  [][]byte
	Desc []Desc
	Addr FIAddr
	Ctx  OpContext
	Data uint64 // remote CQ data, with OpRemoteCQData

	Trigger *TriggeredContext // with OpTrigger, on endpoints with CapTrigger; likewise in the other structures
}

// TaggedArgs are the arguments of TSendMsg and TRecvMsg (struct fi_msg_tagged, fi_tagged(3)).
type TaggedArgs struct {
	IOV    [][]byte
	Desc   []Desc
	Addr   FIAddr
	Tag    uint64
	Ignore uint64
	Ctx    OpContext
	Data   uint64

	Trigger *TriggeredContext
}

// RMAIov is a range of remote memory (struct fi_rma_iov, fi_rma(3)). Len is in bytes.
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
	Ctx    OpContext
	Data   uint64

	Trigger *TriggeredContext
}

// poster has the plain calls for drivers that only implement Post.
type poster struct{ d interface{ Post(Op) error } }

func (p poster) Send(buf []byte, desc Desc, dest FIAddr, ctx OpContext) error {
	return p.d.Post(Op{Call: CallSend, Buf: buf, Desc: desc, Addr: dest, Ctx: ctx})
}

func (p poster) TSend(buf []byte, desc Desc, dest FIAddr, tag uint64, ctx OpContext) error {
	return p.d.Post(Op{Call: CallTSend, Buf: buf, Desc: desc, Addr: dest, Tag: tag, Ctx: ctx})
}

func (p poster) Inject(buf []byte, dest FIAddr) error {
	return p.d.Post(Op{Call: CallInject, Buf: buf, Addr: dest})
}

func (p poster) TInject(buf []byte, dest FIAddr, tag uint64) error {
	return p.d.Post(Op{Call: CallTInject, Buf: buf, Addr: dest, Tag: tag})
}

func (p poster) Recv(buf []byte, desc Desc, src FIAddr, ctx OpContext) error {
	return p.d.Post(Op{Call: CallRecv, Buf: buf, Desc: desc, Addr: src, Ctx: ctx})
}

func (p poster) TRecv(buf []byte, desc Desc, src FIAddr, tag, ignore uint64, ctx OpContext) error {
	return p.d.Post(Op{Call: CallTRecv, Buf: buf, Desc: desc, Addr: src, Tag: tag, Ignore: ignore, Ctx: ctx})
}

// Receiver has the receive calls that Endpoint and SharedRx share.
type Receiver interface {
	PlainReceiver
	RecvV(iov [][]byte, desc []Desc, src FIAddr, ctx OpContext) error
	RecvMsg(m *MsgArgs, flags OpFlags) error
	TRecvV(iov [][]byte, desc []Desc, src FIAddr, tag, ignore uint64, ctx OpContext) error
	TRecvMsg(m *TaggedArgs, flags OpFlags) error
	Cancel(ctx OpContext) error
	GetOpt(opt EPOpt) (int, error)
	SetOpt(opt EPOpt, value int) error
}

var _, _ Receiver = (*Endpoint)(nil), (*SharedRx)(nil)

// receives implements the receive calls of an endpoint or a shared receive context.
type receives struct {
	post interface{ Post(Op) error }
	rx   PlainReceiver // the driver if it is a PlainReceiver, else a poster
}

func receivesOf(d interface{ Post(Op) error }) receives {
	if rx, ok := d.(PlainReceiver); ok {
		return receives{d, rx}
	}
	return receives{d, poster{d}}
}

// Recv posts a buffer for one message (fi_recv, fi_msg(3)). src selects a sender if CapDirectedRecv is enabled;
// else it is ignored. ErrAgain means that the receive queue is full: read completions and try again.
func (r *receives) Recv(buf []byte, desc Desc, src FIAddr, ctx OpContext) error {
	return r.rx.Recv(buf, desc, src, ctx)
}

// RecvV is Recv into several buffers (fi_recvv, fi_msg(3)).
func (r *receives) RecvV(iov [][]byte, desc []Desc, src FIAddr, ctx OpContext) error {
	return r.post.Post(Op{Call: CallRecvV, IOV: iov, Descs: desc, Addr: src, Ctx: ctx})
}

// RecvMsg is Recv with flags (fi_recvmsg, fi_msg(3)).
func (r *receives) RecvMsg(m *MsgArgs, flags OpFlags) error {
	return r.post.Post(Op{Call: CallRecvMsg, IOV: m.IOV, Descs: m.Desc, Addr: m.Addr, Ctx: m.Ctx, Flags: flags, Trigger: m.Trigger.driver()})
}

// TRecv posts a buffer for one tagged message (fi_trecv, fi_tagged(3)). A message of tag t matches if
// (tag^t)&^ignore == 0.
func (r *receives) TRecv(buf []byte, desc Desc, src FIAddr, tag, ignore uint64, ctx OpContext) error {
	return r.rx.TRecv(buf, desc, src, tag, ignore, ctx)
}

// TRecvV is TRecv into several buffers (fi_trecvv, fi_tagged(3)).
func (r *receives) TRecvV(iov [][]byte, desc []Desc, src FIAddr, tag, ignore uint64, ctx OpContext) error {
	return r.post.Post(Op{Call: CallTRecvV, IOV: iov, Descs: desc, Addr: src, Tag: tag, Ignore: ignore, Ctx: ctx})
}

// TRecvMsg is TRecv with flags (fi_trecvmsg, fi_tagged(3)).
func (r *receives) TRecvMsg(m *TaggedArgs, flags OpFlags) error {
	return r.post.Post(Op{Call: CallTRecvMsg, IOV: m.IOV, Descs: m.Desc, Addr: m.Addr, Tag: m.Tag, Ignore: m.Ignore, Ctx: m.Ctx, Flags: flags,
		Trigger: m.Trigger.driver()})
}

// Send sends a message (fi_send, fi_msg(3)).
func (e *Endpoint) Send(buf []byte, desc Desc, dest FIAddr, ctx OpContext) error {
	return e.tx.Send(buf, desc, dest, ctx)
}

// SendV sends a message from several buffers (fi_sendv, fi_msg(3)).
func (e *Endpoint) SendV(iov [][]byte, desc []Desc, dest FIAddr, ctx OpContext) error {
	return e.d.Post(Op{Call: CallSendV, IOV: iov, Descs: desc, Addr: dest, Ctx: ctx})
}

// SendMsg is SendV with flags (fi_sendmsg, fi_msg(3)).
func (e *Endpoint) SendMsg(m *MsgArgs, flags OpFlags) error {
	return e.d.Post(Op{Call: CallSendMsg, IOV: m.IOV, Descs: m.Desc, Addr: m.Addr, Ctx: m.Ctx, Data: m.Data, Flags: flags, Trigger: m.Trigger.driver()})
}

// SendData is Send with remote CQ data (fi_senddata, fi_msg(3)).
func (e *Endpoint) SendData(buf []byte, desc Desc, data uint64, dest FIAddr, ctx OpContext) error {
	return e.d.Post(Op{Call: CallSendData, Buf: buf, Desc: desc, Data: data, Addr: dest, Ctx: ctx})
}

// Inject sends a message without a completion (fi_inject, fi_msg(3)). It has at most TxAttr.InjectSize bytes.
func (e *Endpoint) Inject(buf []byte, dest FIAddr) error { return e.tx.Inject(buf, dest) }

// InjectData is Inject with remote CQ data (fi_injectdata, fi_msg(3)).
func (e *Endpoint) InjectData(buf []byte, data uint64, dest FIAddr) error {
	return e.d.Post(Op{Call: CallInjectData, Buf: buf, Data: data, Addr: dest})
}

// TSend sends a tagged message (fi_tsend, fi_tagged(3)).
func (e *Endpoint) TSend(buf []byte, desc Desc, dest FIAddr, tag uint64, ctx OpContext) error {
	return e.tx.TSend(buf, desc, dest, tag, ctx)
}

// TSendV sends a tagged message from several buffers (fi_tsendv, fi_tagged(3)).
func (e *Endpoint) TSendV(iov [][]byte, desc []Desc, dest FIAddr, tag uint64, ctx OpContext) error {
	return e.d.Post(Op{Call: CallTSendV, IOV: iov, Descs: desc, Addr: dest, Tag: tag, Ctx: ctx})
}

// TSendMsg is TSendV with flags (fi_tsendmsg, fi_tagged(3)).
func (e *Endpoint) TSendMsg(m *TaggedArgs, flags OpFlags) error {
	return e.d.Post(Op{Call: CallTSendMsg, IOV: m.IOV, Descs: m.Desc, Addr: m.Addr, Tag: m.Tag, Ctx: m.Ctx, Data: m.Data, Flags: flags,
		Trigger: m.Trigger.driver()})
}

// TSendData is TSend with remote CQ data (fi_tsenddata, fi_tagged(3)).
func (e *Endpoint) TSendData(buf []byte, desc Desc, data uint64, dest FIAddr, tag uint64, ctx OpContext) error {
	return e.d.Post(Op{Call: CallTSendData, Buf: buf, Desc: desc, Data: data, Addr: dest, Tag: tag, Ctx: ctx})
}

// TInject is Inject of a tagged message (fi_tinject, fi_tagged(3)).
func (e *Endpoint) TInject(buf []byte, dest FIAddr, tag uint64) error {
	return e.tx.TInject(buf, dest, tag)
}

// TInjectData is TInject with remote CQ data (fi_tinjectdata, fi_tagged(3)).
func (e *Endpoint) TInjectData(buf []byte, data uint64, dest FIAddr, tag uint64) error {
	return e.d.Post(Op{Call: CallTInjectData, Buf: buf, Data: data, Addr: dest, Tag: tag})
}

// Read reads remote memory (fi_read, fi_rma(3)).
func (e *Endpoint) Read(buf []byte, desc Desc, src FIAddr, addr, key uint64, ctx OpContext) error {
	return e.d.Post(Op{Call: CallRead, Buf: buf, Desc: desc, Addr: src, RMA: RMAIov{addr, uint64(len(buf)), key}, Ctx: ctx})
}

// ReadV is Read into several buffers (fi_readv, fi_rma(3)).
func (e *Endpoint) ReadV(iov [][]byte, desc []Desc, src FIAddr, addr, key uint64, ctx OpContext) error {
	return e.d.Post(Op{Call: CallReadV, IOV: iov, Descs: desc, Addr: src, RMA: RMAIov{addr, iovLen(iov), key}, Ctx: ctx})
}

// ReadMsg is Read of several ranges, with flags (fi_readmsg, fi_rma(3)).
func (e *Endpoint) ReadMsg(m *RMAArgs, flags OpFlags) error {
	return e.d.Post(Op{Call: CallReadMsg, IOV: m.IOV, Descs: m.Desc, Addr: m.Addr, RMAIOV: m.RMAIOV, Ctx: m.Ctx, Data: m.Data, Flags: flags,
		Trigger: m.Trigger.driver()})
}

// Write writes remote memory (fi_write, fi_rma(3)).
func (e *Endpoint) Write(buf []byte, desc Desc, dest FIAddr, addr, key uint64, ctx OpContext) error {
	return e.d.Post(Op{Call: CallWrite, Buf: buf, Desc: desc, Addr: dest, RMA: RMAIov{addr, uint64(len(buf)), key}, Ctx: ctx})
}

// WriteV is Write from several buffers (fi_writev, fi_rma(3)).
func (e *Endpoint) WriteV(iov [][]byte, desc []Desc, dest FIAddr, addr, key uint64, ctx OpContext) error {
	return e.d.Post(Op{Call: CallWriteV, IOV: iov, Descs: desc, Addr: dest, RMA: RMAIov{addr, iovLen(iov), key}, Ctx: ctx})
}

// WriteMsg is Write to several ranges, with flags (fi_writemsg, fi_rma(3)).
func (e *Endpoint) WriteMsg(m *RMAArgs, flags OpFlags) error {
	return e.d.Post(Op{Call: CallWriteMsg, IOV: m.IOV, Descs: m.Desc, Addr: m.Addr, RMAIOV: m.RMAIOV, Ctx: m.Ctx, Data: m.Data, Flags: flags,
		Trigger: m.Trigger.driver()})
}

// WriteData is Write with remote CQ data (fi_writedata, fi_rma(3)).
func (e *Endpoint) WriteData(buf []byte, desc Desc, data uint64, dest FIAddr, addr, key uint64, ctx OpContext) error {
	return e.d.Post(Op{Call: CallWriteData, Buf: buf, Desc: desc, Data: data, Addr: dest, RMA: RMAIov{addr, uint64(len(buf)), key}, Ctx: ctx})
}

// InjectWrite is Write of at most TxAttr.InjectSize bytes, without a completion (fi_inject_write, fi_rma(3)).
func (e *Endpoint) InjectWrite(buf []byte, dest FIAddr, addr, key uint64) error {
	return e.d.Post(Op{Call: CallInjectWrite, Buf: buf, Addr: dest, RMA: RMAIov{addr, uint64(len(buf)), key}})
}

// InjectWriteData is InjectWrite with remote CQ data (fi_inject_writedata, fi_rma(3)).
func (e *Endpoint) InjectWriteData(buf []byte, data uint64, dest FIAddr, addr, key uint64) error {
	return e.d.Post(Op{Call: CallInjectWriteData, Buf: buf, Data: data, Addr: dest, RMA: RMAIov{addr, uint64(len(buf)), key}})
}

func iovLen(iov [][]byte) uint64 {
	n := 0
	for _, b := range iov {
		n += len(b)
	}
	return uint64(n)
}
