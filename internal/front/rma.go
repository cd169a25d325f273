package front

import (
	"gofabric/core"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// Read is fi_read (fi_rma(3)).
func (t *Transmitter) Read(buf []byte, _ core.Desc, src core.FIAddr, addr, key uint64, ctx core.Context) error {
	s := t.plain(engine.KindRead, rmaRead)
	setRange(s, buf, addr, key, ctx)
	return t.end(s, src, false)
}

// ReadV is fi_readv (fi_rma(3)).
func (t *Transmitter) ReadV(iov [][]byte, _ []core.Desc, src core.FIAddr, addr, key uint64, ctx core.Context) error {
	if len(iov) > engine.MaxIOV {
		return core.ErrInval
	}
	s := t.plain(engine.KindRead, rmaRead)
	s.NIOV, s.Ctx = copy(s.IOV[:], iov), uint64(ctx)
	s.RMA[0], s.NRMA = wire.RMAIov{Addr: addr, Len: uint64(iovLen(iov)), Key: key}, 1
	return t.end(s, src, false)
}

// ReadMsg is fi_readmsg (fi_rma(3)).
func (t *Transmitter) ReadMsg(m *core.RMAArgs, flags core.Flags) error {
	if flags&core.Trigger != 0 {
		return t.triggerRead(m, flags)
	}
	flags &^= core.Inject // which is about buffers that are sent from
	if err := t.checkRMA(m, flags); err != nil {
		return err
	}
	s := t.begin(engine.KindRead, rmaRead, flags)
	s.NIOV, s.Ctx = copy(s.IOV[:], m.IOV), uint64(m.Ctx)
	setRMA(s, m.RMAIOV)
	return t.end(s, m.Addr, flags&core.More != 0)
}

func (t *Transmitter) checkRMA(m *core.RMAArgs, flags core.Flags) error {
	if err := t.check(m.IOV, flags); err != nil {
		return err
	}
	if len(m.RMAIOV) > engine.MaxIOV || len(m.RMAIOV) == 0 {
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

// setRange names one local and one remote range.
func setRange(s *engine.Send, buf []byte, addr, key uint64, ctx core.Context) {
	s.IOV[0], s.NIOV, s.Ctx = buf, 1, uint64(ctx)
	s.RMA[0], s.NRMA = wire.RMAIov{Addr: addr, Len: uint64(len(buf)), Key: key}, 1
}

// Write is fi_write (fi_rma(3)).
func (t *Transmitter) Write(buf []byte, _ core.Desc, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	s := t.plain(engine.KindWrite, rmaWrite)
	setRange(s, buf, addr, key, ctx)
	return t.end(s, dest, false)
}

// WriteData is fi_writedata (fi_rma(3)).
func (t *Transmitter) WriteData(buf []byte, _ core.Desc, data uint64, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	s := t.plain(engine.KindWrite, rmaWrite)
	setRange(s, buf, addr, key, ctx)
	s.HasData, s.Data = true, data
	return t.end(s, dest, false)
}

// InjectWrite is fi_inject_write (fi_rma(3)); see Inject.
func (t *Transmitter) InjectWrite(buf []byte, dest core.FIAddr, addr, key uint64) error {
	if len(buf) > t.e.info.Tx.InjectSize {
		return core.ErrInval
	}
	s := t.begin(engine.KindWrite, rmaWrite, 0)
	setRange(s, buf, addr, key, 0)
	s.Inject = true
	return t.end(s, dest, false)
}

// InjectWriteData is fi_inject_writedata (fi_rma(3)); see Inject.
func (t *Transmitter) InjectWriteData(buf []byte, data uint64, dest core.FIAddr, addr, key uint64) error {
	if len(buf) > t.e.info.Tx.InjectSize {
		return core.ErrInval
	}
	s := t.begin(engine.KindWrite, rmaWrite, 0)
	setRange(s, buf, addr, key, 0)
	s.Inject, s.HasData, s.Data = true, true, data
	return t.end(s, dest, false)
}

// WriteV is fi_writev (fi_rma(3)).
func (t *Transmitter) WriteV(iov [][]byte, _ []core.Desc, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	if len(iov) > engine.MaxIOV {
		return core.ErrInval
	}
	s := t.plain(engine.KindWrite, rmaWrite)
	s.NIOV, s.Ctx = copy(s.IOV[:], iov), uint64(ctx)
	s.RMA[0], s.NRMA = wire.RMAIov{Addr: addr, Len: uint64(iovLen(iov)), Key: key}, 1
	return t.end(s, dest, false)
}

// WriteMsg is fi_writemsg (fi_rma(3)).
func (t *Transmitter) WriteMsg(m *core.RMAArgs, flags core.Flags) error {
	if flags&core.Trigger != 0 {
		return t.triggerWrite(m, flags)
	}
	if err := t.checkRMA(m, flags); err != nil {
		return err
	}
	s := t.begin(engine.KindWrite, rmaWrite, flags)
	s.NIOV, s.Ctx = copy(s.IOV[:], m.IOV), uint64(m.Ctx)
	setRMA(s, m.RMAIOV)
	s.HasData, s.Data = flags&core.RemoteCQData != 0, m.Data
	return t.end(s, m.Addr, flags&core.More != 0)
}
