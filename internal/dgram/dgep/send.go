package dgep

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// send is one that waits for the port to take it.
type send struct {
	iov    [maxIOV][]byte
	n      int // of iov
	dest   netip.AddrPort
	ctx    core.Context
	silent bool
}

// sends is the transmit calls (core.Msg, fi_msg(3)) of an endpoint, or of an alias with flags of its own.
type sends struct {
	e     *endpoint
	own   bool // flags count; else the endpoint's
	flags core.Flags
}

// sendMsgOK are the flags of SendMsg. A datagram has no delivery to wait for.
const sendMsgOK = core.Completion | core.Inject | core.InjectComplete | core.TransmitComplete | core.More | core.CapMulticast

func (s *sends) defaults() core.Flags {
	if s.own {
		return s.flags
	}
	return s.e.DefaultFlags(core.Transmit)
}

// Send is fi_send (fi_msg(3)).
func (s *sends) Send(buf []byte, _ core.Desc, dest core.FIAddr, ctx core.Context) error {
	e := s.e
	e.prog.Lock()
	e.parts[0] = buf
	err := e.post(1, dest, ctx, s.defaults(), false)
	e.prog.Unlock()
	return err
}

// SendV is fi_sendv (fi_msg(3)).
func (s *sends) SendV(iov [][]byte, _ []core.Desc, dest core.FIAddr, ctx core.Context) error {
	if len(iov) > maxIOV {
		return core.ErrInval
	}
	e := s.e
	e.prog.Lock()
	err := e.post(copy(e.parts[:], iov), dest, ctx, s.defaults(), false)
	e.prog.Unlock()
	return err
}

// SendMsg is fi_sendmsg (fi_msg(3)).
func (s *sends) SendMsg(m *core.MsgArgs, flags core.Flags) error {
	switch {
	case len(m.IOV) > maxIOV:
		return core.ErrInval
	case flags&core.RemoteCQData != 0:
		return core.ErrNoSys
	case flags&(core.DeliveryComplete|core.CommitComplete|core.Fence) != 0:
		return core.ErrOpNotSupp
	case flags&^sendMsgOK != 0:
		return core.ErrBadFlags
	}
	e := s.e
	e.prog.Lock()
	err := e.post(copy(e.parts[:], m.IOV), m.Addr, m.Ctx, flags, false)
	e.prog.Unlock()
	return err
}

// Inject is fi_inject (fi_msg(3)); buf is at most the inject size, bytes, and the caller's again at once.
func (s *sends) Inject(buf []byte, dest core.FIAddr) error {
	e := s.e
	e.prog.Lock()
	e.parts[0] = buf
	err := e.post(1, dest, 0, core.Inject, true)
	e.prog.Unlock()
	return err
}

// SendData is fi_senddata, which datagrams do not have, as native's.
func (s *sends) SendData([]byte, core.Desc, uint64, core.FIAddr, core.Context) error {
	return core.ErrNoSys
}

// InjectData is fi_injectdata; see SendData.
func (s *sends) InjectData([]byte, uint64, core.FIAddr) error { return core.ErrNoSys }

// post sends the first n of e.parts, or has them wait. quiet ones get no entry in any queue (fi_inject).
func (e *endpoint) post(n int, to core.FIAddr, ctx core.Context, flags core.Flags, quiet bool) error {
	err := e.transmit(n, to, ctx, flags, quiet)
	clear(e.parts[:n])
	if err == core.ErrAgain {
		e.TransmitRefused()
		e.prog.Pass() // an application that only retries must get somewhere
	}
	return err
}

func (e *endpoint) transmit(n int, to core.FIAddr, ctx core.Context, flags core.Flags, quiet bool) error {
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
	if flags&core.Inject != 0 && total > e.maxInject {
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
	if e.waiting.Len() >= e.txSize || flags&core.Inject != 0 {
		return core.ErrAgain
	}
	e.CountTransmits(1)
	w := e.waiting.Add()
	w.iov, w.n, w.dest, w.ctx, w.silent = e.parts, n, dest, ctx, e.SilentTx(flags)
	return nil
}

// destination is where the last send went: the next one often goes there, too, and asking the address vector costs more than remembering.
type destination struct {
	to      core.FIAddr
	at      netip.AddrPort
	vacated uint64 // what the vector had counted
	known   bool
}

// dest finds the address of a peer or of a joined group.
func (e *endpoint) dest(to core.FIAddr) (netip.AddrPort, bool) {
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

// sent reports a send that the port took; n is its length, bytes.
func (e *endpoint) sent(ctx core.Context, silent, quiet bool, n int) {
	e.SentOne(ctx, core.Flags(msgTx), n, silent || quiet)
}

// flush sends what waits, as far as the port takes it.
func (e *endpoint) flush() {
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

// unwait takes a send out of those that wait.
func (e *endpoint) unwait(i int) send {
	e.CountTransmits(-1)
	return e.waiting.Remove(i)
}

func (e *endpoint) failSend(op *send, err error) {
	src := engine.AnySource
	if e.AV() != nil {
		src = uint64(e.AV().ReverseAddrPort(op.dest))
	}
	e.done = engine.Completion{Kind: engine.KindSend, Flags: msgTx, Ctx: uint64(op.ctx), Src: src, Err: err}
	e.Completed(&e.done)
}
