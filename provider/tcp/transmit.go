package tcp

import (
	"gofabric/core"
	"gofabric/provider/tcp/engine"
	"gofabric/provider/tcp/wire"
)

// router finds the connection for a destination. Locked.
type router interface {
	route(dest core.FIAddr) (*stream, error)
}

// transmitter is the transmit side of an endpoint, or of an alias of it with flags of its own.
type transmitter struct {
	e     *endpoint
	r     router
	flags core.Flags // of the plain calls; nil of an alias' own: follow the endpoint
	own   bool

	noTagged bool // tagged messages were not asked for
}

func (t *transmitter) opFlags() core.Flags {
	if t.own {
		return t.flags
	}
	return t.e.txFlags
}

const (
	ackFlags  = core.TransmitComplete | core.DeliveryComplete
	msgTx     = uint64(core.CapMsg | core.Send)
	tagTx     = uint64(core.CapTagged | core.Send)
	rmaRead   = uint64(core.CapRMA | core.Read)
	rmaWrite  = uint64(core.CapRMA | core.Write)
	sendMsgOK = txOpFlags | core.RemoteCQData | core.More | core.Fence
)

// begin locks and prepares the scratch operation; end submits and unlocks.
func (t *transmitter) begin(kind engine.Kind, report uint64, flags core.Flags) *engine.Send {
	t.e.prog.Lock()
	s := &t.e.d.send
	s.Kind, s.Flags = kind, report
	s.Tagged, s.HasData, s.Inject = false, false, false
	s.Copy = flags&core.Inject != 0
	s.Ack = flags&ackFlags != 0
	s.Commit = flags&core.CommitComplete != 0
	s.Silent = t.e.txQuiet && flags&core.Completion == 0
	s.NRMA = 0
	return s
}

func (t *transmitter) end(s *engine.Send, dest core.FIAddr, more bool) error {
	e := t.e
	if !e.enabled || s.Tagged && t.noTagged {
		bad := core.ErrOpBadState
		if e.enabled {
			bad = core.ErrNoSys
		}
		e.prog.Unlock()
		return bad
	}
	st, err := t.r.route(dest)
	if err != nil {
		e.prog.Unlock()
		return err
	}
	if err := st.conn.Submit(s); err != nil {
		if err == engine.ErrAgain {
			e.prog.Pass() // an application that only retries must get somewhere
		}
		e.prog.Unlock()
		return submitErr(err)
	}
	st.posted(more)
	e.prog.Unlock()
	return nil
}

// submitErr maps the engine's refusals to sentinels, which cost nothing.
func submitErr(err error) error {
	switch err {
	case engine.ErrAgain:
		return core.ErrAgain
	case engine.ErrState:
		return core.ErrNotConn
	}
	return errnoOf(err)
}

func (t *transmitter) tooLong(n int, flags core.Flags) bool {
	return flags&core.Inject != 0 && n > t.e.info.Tx.InjectSize
}

func iovLen(iov [][]byte) int {
	n := 0
	for _, b := range iov {
		n += len(b)
	}
	return n
}

func (t *transmitter) Send(buf []byte, _ core.Desc, dest core.FIAddr, ctx core.Context) error {
	s := t.begin(engine.KindSend, msgTx, t.opFlags())
	s.IOV[0], s.NIOV, s.Ctx = buf, 1, uint64(ctx)
	return t.end(s, dest, false)
}

func (t *transmitter) SendV(iov [][]byte, _ []core.Desc, dest core.FIAddr, ctx core.Context) error {
	if len(iov) > iovLimit {
		return core.ErrInval
	}
	s := t.begin(engine.KindSend, msgTx, t.opFlags())
	s.NIOV, s.Ctx = copy(s.IOV[:], iov), uint64(ctx)
	return t.end(s, dest, false)
}

func (t *transmitter) SendMsg(m *core.MsgArgs, flags core.Flags) error {
	if err := t.check(m.IOV, flags); err != nil {
		return err
	}
	s := t.begin(engine.KindSend, msgTx, flags)
	s.NIOV, s.Ctx = copy(s.IOV[:], m.IOV), uint64(m.Ctx)
	s.HasData, s.Data = flags&core.RemoteCQData != 0, m.Data
	return t.end(s, m.Addr, flags&core.More != 0)
}

// check refuses arguments of the msg variants that cannot be served.
func (t *transmitter) check(iov [][]byte, flags core.Flags) error {
	switch {
	case len(iov) > iovLimit:
		return core.ErrInval
	case flags&^sendMsgOK != 0:
		return core.ErrBadFlags
	case flags&core.Fence != 0:
		return core.ErrOpNotSupp // not among this provider's capabilities (fi_getinfo(3), FI_FENCE)
	case t.tooLong(iovLen(iov), flags):
		return core.ErrInval
	}
	return nil
}

func (t *transmitter) SendData(buf []byte, _ core.Desc, data uint64, dest core.FIAddr, ctx core.Context) error {
	s := t.begin(engine.KindSend, msgTx, t.opFlags())
	s.IOV[0], s.NIOV, s.Ctx = buf, 1, uint64(ctx)
	s.HasData, s.Data = true, data
	return t.end(s, dest, false)
}

func (t *transmitter) Inject(buf []byte, dest core.FIAddr) error {
	if len(buf) > t.e.info.Tx.InjectSize {
		return core.ErrInval
	}
	s := t.begin(engine.KindSend, msgTx, 0)
	s.IOV[0], s.NIOV, s.Ctx, s.Inject = buf, 1, 0, true
	return t.end(s, dest, false)
}

func (t *transmitter) InjectData(buf []byte, data uint64, dest core.FIAddr) error {
	if len(buf) > t.e.info.Tx.InjectSize {
		return core.ErrInval
	}
	s := t.begin(engine.KindSend, msgTx, 0)
	s.IOV[0], s.NIOV, s.Ctx, s.Inject = buf, 1, 0, true
	s.HasData, s.Data = true, data
	return t.end(s, dest, false)
}

func (t *transmitter) TSend(buf []byte, _ core.Desc, dest core.FIAddr, tag uint64, ctx core.Context) error {
	s := t.begin(engine.KindSend, tagTx, t.opFlags())
	s.IOV[0], s.NIOV, s.Ctx = buf, 1, uint64(ctx)
	s.Tagged, s.Tag = true, tag
	return t.end(s, dest, false)
}

func (t *transmitter) TSendV(iov [][]byte, _ []core.Desc, dest core.FIAddr, tag uint64, ctx core.Context) error {
	if len(iov) > iovLimit {
		return core.ErrInval
	}
	s := t.begin(engine.KindSend, tagTx, t.opFlags())
	s.NIOV, s.Ctx = copy(s.IOV[:], iov), uint64(ctx)
	s.Tagged, s.Tag = true, tag
	return t.end(s, dest, false)
}

func (t *transmitter) TSendMsg(m *core.TaggedArgs, flags core.Flags) error {
	if err := t.check(m.IOV, flags); err != nil {
		return err
	}
	s := t.begin(engine.KindSend, tagTx, flags)
	s.NIOV, s.Ctx = copy(s.IOV[:], m.IOV), uint64(m.Ctx)
	s.Tagged, s.Tag = true, m.Tag
	s.HasData, s.Data = flags&core.RemoteCQData != 0, m.Data
	return t.end(s, m.Addr, flags&core.More != 0)
}

func (t *transmitter) TSendData(buf []byte, _ core.Desc, data uint64, dest core.FIAddr, tag uint64, ctx core.Context) error {
	s := t.begin(engine.KindSend, tagTx, t.opFlags())
	s.IOV[0], s.NIOV, s.Ctx = buf, 1, uint64(ctx)
	s.Tagged, s.Tag, s.HasData, s.Data = true, tag, true, data
	return t.end(s, dest, false)
}

func (t *transmitter) TInject(buf []byte, dest core.FIAddr, tag uint64) error {
	if len(buf) > t.e.info.Tx.InjectSize {
		return core.ErrInval
	}
	s := t.begin(engine.KindSend, tagTx, 0)
	s.IOV[0], s.NIOV, s.Ctx, s.Inject = buf, 1, 0, true
	s.Tagged, s.Tag = true, tag
	return t.end(s, dest, false)
}

func (t *transmitter) TInjectData(buf []byte, data uint64, dest core.FIAddr, tag uint64) error {
	if len(buf) > t.e.info.Tx.InjectSize {
		return core.ErrInval
	}
	s := t.begin(engine.KindSend, tagTx, 0)
	s.IOV[0], s.NIOV, s.Ctx, s.Inject = buf, 1, 0, true
	s.Tagged, s.Tag, s.HasData, s.Data = true, tag, true, data
	return t.end(s, dest, false)
}

func (t *transmitter) Read(buf []byte, _ core.Desc, src core.FIAddr, addr, key uint64, ctx core.Context) error {
	s := t.begin(engine.KindRead, rmaRead, t.opFlags())
	s.IOV[0], s.NIOV, s.Ctx = buf, 1, uint64(ctx)
	s.RMA[0], s.NRMA = wire.RMAIov{Addr: addr, Len: uint64(len(buf)), Key: key}, 1
	return t.end(s, src, false)
}

func (t *transmitter) ReadV(iov [][]byte, _ []core.Desc, src core.FIAddr, addr, key uint64, ctx core.Context) error {
	if len(iov) > iovLimit {
		return core.ErrInval
	}
	s := t.begin(engine.KindRead, rmaRead, t.opFlags())
	s.NIOV, s.Ctx = copy(s.IOV[:], iov), uint64(ctx)
	s.RMA[0], s.NRMA = wire.RMAIov{Addr: addr, Len: uint64(iovLen(iov)), Key: key}, 1
	return t.end(s, src, false)
}

func (t *transmitter) ReadMsg(m *core.RMAArgs, flags core.Flags) error {
	if err := t.checkRMA(m, flags); err != nil {
		return err
	}
	s := t.begin(engine.KindRead, rmaRead, flags&^core.Inject)
	s.NIOV, s.Ctx = copy(s.IOV[:], m.IOV), uint64(m.Ctx)
	setRMA(s, m.RMAIOV)
	return t.end(s, m.Addr, flags&core.More != 0)
}

func (t *transmitter) checkRMA(m *core.RMAArgs, flags core.Flags) error {
	if err := t.check(m.IOV, flags); err != nil {
		return err
	}
	if len(m.RMAIOV) > iovLimit || len(m.RMAIOV) == 0 {
		return core.ErrInval
	}
	total := uint64(0)
	for _, r := range m.RMAIOV {
		if total+r.Len < total {
			return core.ErrInval
		}
		total += r.Len
	}
	if total != uint64(iovLen(m.IOV)) {
		return core.ErrInval // both sides of a transfer are equally long (fi_rma(3))
	}
	return nil
}

func setRMA(s *engine.Send, iov []core.RMAIov) {
	for i, r := range iov {
		s.RMA[i] = wire.RMAIov{Addr: r.Addr, Len: r.Len, Key: r.Key}
	}
	s.NRMA = len(iov)
}

func (t *transmitter) write(buf []byte, dest core.FIAddr, addr, key, data uint64, hasData bool, flags core.Flags, ctx core.Context, inject bool) error {
	s := t.begin(engine.KindWrite, rmaWrite, flags)
	s.IOV[0], s.NIOV, s.Ctx, s.Inject = buf, 1, uint64(ctx), inject
	s.RMA[0], s.NRMA = wire.RMAIov{Addr: addr, Len: uint64(len(buf)), Key: key}, 1
	s.HasData, s.Data = hasData, data
	return t.end(s, dest, false)
}

func (t *transmitter) Write(buf []byte, _ core.Desc, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	return t.write(buf, dest, addr, key, 0, false, t.opFlags(), ctx, false)
}

func (t *transmitter) WriteData(buf []byte, _ core.Desc, data uint64, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	return t.write(buf, dest, addr, key, data, true, t.opFlags(), ctx, false)
}

func (t *transmitter) InjectWrite(buf []byte, dest core.FIAddr, addr, key uint64) error {
	if len(buf) > t.e.info.Tx.InjectSize {
		return core.ErrInval
	}
	return t.write(buf, dest, addr, key, 0, false, 0, 0, true)
}

func (t *transmitter) InjectWriteData(buf []byte, data uint64, dest core.FIAddr, addr, key uint64) error {
	if len(buf) > t.e.info.Tx.InjectSize {
		return core.ErrInval
	}
	return t.write(buf, dest, addr, key, data, true, 0, 0, true)
}

func (t *transmitter) WriteV(iov [][]byte, _ []core.Desc, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	if len(iov) > iovLimit {
		return core.ErrInval
	}
	s := t.begin(engine.KindWrite, rmaWrite, t.opFlags())
	s.NIOV, s.Ctx = copy(s.IOV[:], iov), uint64(ctx)
	s.RMA[0], s.NRMA = wire.RMAIov{Addr: addr, Len: uint64(iovLen(iov)), Key: key}, 1
	return t.end(s, dest, false)
}

func (t *transmitter) WriteMsg(m *core.RMAArgs, flags core.Flags) error {
	if err := t.checkRMA(m, flags); err != nil {
		return err
	}
	s := t.begin(engine.KindWrite, rmaWrite, flags)
	s.NIOV, s.Ctx = copy(s.IOV[:], m.IOV), uint64(m.Ctx)
	setRMA(s, m.RMAIOV)
	s.HasData, s.Data = flags&core.RemoteCQData != 0, m.Data
	return t.end(s, m.Addr, flags&core.More != 0)
}
