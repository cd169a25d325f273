// Transmits. A send completes as soon as the port has taken the datagram, since UDP has no acknowledgement. A send
// that the port cannot take now waits in a queue of the transmit size (fi_tx_attr size, fi_endpoint(3)).

package dgramep

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// send is a send that waits until the port takes it.
type send struct {
	iov    [maxIOV][]byte
	n      int // used elements of iov
	dest   netip.AddrPort
	ctx    core.OpContext
	silent bool
}

// transfers are the data calls of an endpoint, or of an alias with flags of its own: messages without tags.
type transfers struct {
	sends
	receives
}

// Post implements core.EndpointDriver.
func (x *transfers) Post(op core.Op) error {
	switch op.Call {
	case core.CallSend:
		return x.Send(op.Buf, op.Desc, op.Addr, op.Ctx)
	case core.CallInject:
		return x.Inject(op.Buf, op.Addr)
	case core.CallRecv:
		return x.Recv(op.Buf, op.Desc, op.Addr, op.Ctx)
	}
	switch op.Call.Op() {
	case core.OpSend:
		return x.sends.transmit(&op)
	case core.OpRecv:
		return x.receives.receive(&op)
	case core.OpAtomic, core.OpFetchAtomic, core.OpCompareAtomic:
		return core.ErrOpNotSupp
	}
	return core.ErrNoSys
}

// AtomicCount implements core.EndpointDriver.
func (*transfers) AtomicCount(core.OpType, core.Datatype, core.AtomicOp) (int, error) {
	return 0, core.ErrOpNotSupp
}

// sends are the transmit calls (fi_msg(3)).
type sends struct {
	e     *dgramEndpoint
	own   bool // flags apply; otherwise the endpoint's do
	flags core.OpFlags
}

// sendMsgOK are the flags of SendMsg. OpDeliveryComplete is not among them, as the sender of a datagram does not
// learn of its delivery.
const sendMsgOK = core.OpCompletion | core.OpInject | core.OpInjectComplete | core.OpTransmitComplete | core.OpMore | core.OpMulticast

func (s *sends) defaults() core.OpFlags {
	if s.own {
		return s.flags
	}
	return s.e.DefaultFlags(core.BindTransmit)
}

// Send is fi_send (fi_msg(3)).
func (s *sends) Send(buf []byte, _ core.Desc, dest core.FIAddr, ctx core.OpContext) error {
	e := s.e
	e.prog.Lock()
	e.parts[0] = buf
	err := e.post(1, dest, ctx, s.defaults(), false)
	e.prog.Unlock()
	return err
}

// Inject is fi_inject (fi_msg(3)). buf is at most the inject size in bytes, and the caller may reuse it at once.
func (s *sends) Inject(buf []byte, dest core.FIAddr) error {
	e := s.e
	e.prog.Lock()
	e.parts[0] = buf
	err := e.post(1, dest, 0, core.OpInject, true)
	e.prog.Unlock()
	return err
}

// TSend and TInject fail: datagrams have no tags.
func (*sends) TSend([]byte, core.Desc, core.FIAddr, uint64, core.OpContext) error {
	return core.ErrNoSys
}
func (*sends) TInject([]byte, core.FIAddr, uint64) error { return core.ErrNoSys }

// transmit sends a message. Datagrams have no remote CQ data, as in native.
func (s *sends) transmit(op *core.Op) error {
	switch {
	case len(op.IOV) > maxIOV:
		return core.ErrInval
	case op.HasData():
		return core.ErrNoSys
	case op.Flags&(core.OpDeliveryComplete|core.OpCommitComplete|core.OpFence) != 0:
		return core.ErrOpNotSupp
	case op.Flags&^sendMsgOK != 0:
		return core.ErrBadFlags
	}
	e, flags := s.e, op.Flags
	e.prog.Lock()
	if op.Call.Default() {
		flags = s.defaults()
	}
	n := copy(e.parts[:], op.IOV)
	err := e.post(n, op.Addr, op.Ctx, flags, false)
	e.prog.Unlock()
	return err
}

// post sends the first n of e.parts, or queues them. quiet sends get no entry in any queue (fi_inject).
func (e *dgramEndpoint) post(n int, to core.FIAddr, ctx core.OpContext, flags core.OpFlags, quiet bool) error {
	err := e.transmit(n, to, ctx, flags, quiet)
	clear(e.parts[:n])
	if err == core.ErrAgain {
		e.TransmitRefused()
		e.prog.Pass() // makes progress for an application that only retries
	}
	return err
}

func (e *dgramEndpoint) transmit(n int, to core.FIAddr, ctx core.OpContext, flags core.OpFlags, quiet bool) error {
	if !e.Enabled() {
		return core.ErrOpBadState
	}
	total := 0
	for _, b := range e.parts[:n] {
		total += len(b)
	}
	if total > e.maxMsg {
		return core.ErrMsgSize
	}
	if flags&core.OpInject != 0 && total > e.maxInject {
		return core.ErrInval
	}
	dest, ok := e.dest(to)
	if !ok {
		return core.ErrInval
	}
	if !e.TransmitRoom() {
		return core.ErrAgain
	}
	if e.waiting.Len() == 0 {
		err := e.port.Send(dest, e.parts[:n], 0)
		if err == nil {
			e.sent(ctx, e.SilentTx(flags), quiet, total)
			return nil
		}
		if err != core.ErrAgain {
			return err
		}
	}
	if e.waiting.Len() >= e.txSize || flags&core.OpInject != 0 {
		return core.ErrAgain
	}
	e.CountTransmits(1)
	w := e.waiting.Add()
	w.iov, w.n, w.dest, w.ctx, w.silent = e.parts, n, dest, ctx, e.SilentTx(flags)
	return nil
}

// destination caches the address of the last send. The next send often has the same one, and the address vector
// costs more than the cache.
type destination struct {
	to      core.FIAddr
	at      netip.AddrPort
	vacated uint64 // the vector's count of removals at that time
	known   bool
}

// dest returns the address of a peer or of a joined group.
func (e *dgramEndpoint) dest(to core.FIAddr) (netip.AddrPort, bool) {
	if to&groupBit != 0 {
		return e.groupAt(to)
	}
	t, d := e.AV().Table, &e.last
	vacated := t.Vacated()
	if d.known && d.to == to && d.vacated == vacated {
		return d.at, true
	}
	at, ok := t.AddrPort(to)
	*d = destination{to, at, vacated, ok && t.Lasting()}
	return at, ok
}

// sent reports a send that the port took. n is its length in bytes.
func (e *dgramEndpoint) sent(ctx core.OpContext, silent, quiet bool, n int) {
	e.SentOne(ctx, core.CompFlags(msgTx), n, silent || quiet)
}

// flush sends queued sends, until the port takes no more.
func (e *dgramEndpoint) flush() {
	for e.waiting.Len() > 0 {
		w := e.waiting.At(0)
		err := e.port.Send(w.dest, w.iov[:w.n], 0)
		if err == core.ErrAgain {
			return
		}
		op := e.unwait(0)
		if err != nil {
			e.failSend(&op, err)
			continue
		}
		total := 0
		for _, b := range op.iov[:op.n] {
			total += len(b)
		}
		e.sent(op.ctx, op.silent, false, total)
	}
}

// unwait removes a send from the queue.
func (e *dgramEndpoint) unwait(i int) send {
	e.CountTransmits(-1)
	return e.waiting.Remove(i)
}

func (e *dgramEndpoint) failSend(op *send, err error) {
	src := engine.AnySource
	if e.AV() != nil {
		src = uint64(e.AV().ReverseAddrPort(op.dest))
	}
	e.done = engine.Completion{Kind: engine.KindSend, Flags: msgTx, Ctx: uint64(op.ctx), Src: src, Err: err}
	e.Completed(&e.done)
}
