package front

import (
	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// TSend is fi_tsend (fi_tagged(3)).
func (t *Transmitter) TSend(buf []byte, _ core.Desc, dest core.FIAddr, tag uint64, ctx core.Context) error {
	t.e.prog.Lock()
	if t.joinSend(buf, dest, true, tag, ctx, core.Flags(tagTx)) {
		t.e.prog.Unlock()
		return nil
	}
	s := t.defaults(engine.KindSend, tagTx)
	s.IOV[0], s.NIOV, s.Ctx = buf, 1, uint64(ctx)
	s.Tagged, s.Tag = true, tag
	return t.end(s, dest, false)
}

// TSendV is fi_tsendv (fi_tagged(3)).
func (t *Transmitter) TSendV(iov [][]byte, _ []core.Desc, dest core.FIAddr, tag uint64, ctx core.Context) error {
	if len(iov) > engine.MaxIOV {
		return core.ErrInval
	}
	s := t.plain(engine.KindSend, tagTx)
	s.NIOV, s.Ctx = copy(s.IOV[:], iov), uint64(ctx)
	s.Tagged, s.Tag = true, tag
	return t.end(s, dest, false)
}

// TSendMsg is fi_tsendmsg (fi_tagged(3)).
func (t *Transmitter) TSendMsg(m *core.TaggedArgs, flags core.Flags) error {
	if flags&core.Trigger != 0 {
		return t.triggerTagged(m, flags)
	}
	if err := t.check(m.IOV, flags); err != nil {
		return err
	}
	s := t.begin(engine.KindSend, tagTx, flags)
	s.NIOV, s.Ctx = copy(s.IOV[:], m.IOV), uint64(m.Ctx)
	s.Tagged, s.Tag = true, m.Tag
	s.HasData, s.Data = flags&core.RemoteCQData != 0, m.Data
	return t.end(s, m.Addr, flags&core.More != 0)
}

// TSendData is fi_tsenddata (fi_tagged(3)).
func (t *Transmitter) TSendData(buf []byte, _ core.Desc, data uint64, dest core.FIAddr, tag uint64, ctx core.Context) error {
	s := t.plain(engine.KindSend, tagTx)
	s.IOV[0], s.NIOV, s.Ctx = buf, 1, uint64(ctx)
	s.Tagged, s.Tag, s.HasData, s.Data = true, tag, true, data
	return t.end(s, dest, false)
}

// TInject is fi_tinject (fi_tagged(3)); see Inject.
func (t *Transmitter) TInject(buf []byte, dest core.FIAddr, tag uint64) error {
	if len(buf) > t.e.info.Tx.InjectSize {
		return core.ErrInval
	}
	t.e.prog.Lock()
	if t.joinInject(buf, dest, true, tag) {
		t.e.prog.Unlock()
		return nil
	}
	s := t.prepare(engine.KindSend, tagTx, 0)
	s.IOV[0], s.NIOV, s.Ctx, s.Inject = buf, 1, 0, true
	s.Tagged, s.Tag = true, tag
	return t.end(s, dest, false)
}

// TInjectData is fi_tinjectdata (fi_tagged(3)); see Inject.
func (t *Transmitter) TInjectData(buf []byte, data uint64, dest core.FIAddr, tag uint64) error {
	if len(buf) > t.e.info.Tx.InjectSize {
		return core.ErrInval
	}
	s := t.begin(engine.KindSend, tagTx, 0)
	s.IOV[0], s.NIOV, s.Ctx, s.Inject = buf, 1, 0, true
	s.Tagged, s.Tag, s.HasData, s.Data = true, tag, true, data
	return t.end(s, dest, false)
}
