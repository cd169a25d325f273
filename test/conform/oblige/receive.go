package oblige

import "gofabric/core"

// receiver is what receives are posted to.
type receiver interface {
	core.Receiver
	core.TaggedReceiver
}

// one makes an iov and descriptors of one buffer.
func one(buf []byte, desc core.Desc) ([][]byte, []core.Desc) { return [][]byte{buf}, []core.Desc{desc} }

// desc1 is the only descriptor of an operation with one buffer.
func (p *op) desc1() core.Desc {
	if len(p.desc) == 0 {
		return 0
	}
	return p.desc[0]
}

func (s *poster) recv(r receiver, buf []byte, desc core.Desc, src core.FIAddr, ctx core.Context) error {
	p := &op{name: "fi_recv", rx: true, message: true, access: core.Recv, ctx: ctx, multi: s.multi()}
	p.iov, p.desc = one(buf, desc)
	return s.post(p, func(p *op) error { return r.Recv(p.iov[0], p.desc1(), src, p.below) })
}

func (s *poster) recvV(r receiver, iov [][]byte, desc []core.Desc, src core.FIAddr, ctx core.Context) error {
	p := &op{name: "fi_recvv", rx: true, message: true, access: core.Recv, ctx: ctx, iov: iov, desc: desc, multi: s.multi() && len(iov) == 1}
	return s.post(p, func(p *op) error { return r.RecvV(p.iov, p.desc, src, p.below) })
}

func (s *poster) recvMsg(r receiver, m *core.MsgArgs, flags core.Flags) error {
	p := &op{name: "fi_recvmsg", rx: true, message: true, access: core.Recv, ctx: m.Ctx, iov: m.IOV, desc: m.Desc, flags: flags, multi: flags&core.MultiRecv != 0}
	return s.post(p, func(p *op) error {
		b := *m
		b.IOV, b.Desc, b.Ctx, b.Trigger = p.iov, p.desc, p.below, trigger(m.Trigger)
		return r.RecvMsg(&b, flags)
	})
}

func (s *poster) tRecv(r receiver, buf []byte, desc core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	p := &op{name: "fi_trecv", rx: true, message: true, tagged: true, tag: tag, ignore: ignore, access: core.Recv, ctx: ctx, multi: s.taggedMulti()}
	p.iov, p.desc = one(buf, desc)
	return s.post(p, func(p *op) error { return r.TRecv(p.iov[0], p.desc1(), src, tag, ignore, p.below) })
}

func (s *poster) tRecvV(r receiver, iov [][]byte, desc []core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	p := &op{name: "fi_trecvv", rx: true, message: true, tagged: true, tag: tag, ignore: ignore, access: core.Recv, ctx: ctx, iov: iov, desc: desc,
		multi: s.taggedMulti() && len(iov) == 1}
	return s.post(p, func(p *op) error { return r.TRecvV(p.iov, p.desc, src, tag, ignore, p.below) })
}

func (s *poster) tRecvMsg(r receiver, m *core.TaggedArgs, flags core.Flags) error {
	p := &op{name: "fi_trecvmsg", rx: true, message: true, tagged: true, tag: m.Tag, ignore: m.Ignore, access: core.Recv, ctx: m.Ctx, iov: m.IOV, desc: m.Desc,
		flags: flags, multi: flags&core.MultiRecv != 0}
	return s.post(p, func(p *op) error {
		b := *m
		b.IOV, b.Desc, b.Ctx, b.Trigger = p.iov, p.desc, p.below, trigger(m.Trigger)
		return r.TRecvMsg(&b, flags)
	})
}

// multi says whether plain receives take many messages.
func (s *poster) multi() bool { return s.rx&core.MultiRecv != 0 }

func (s *poster) taggedMulti() bool { return s.multi() && s.info.Caps&core.CapTaggedMultiRecv != 0 }

func (e *endpoint) Recv(buf []byte, desc core.Desc, src core.FIAddr, ctx core.Context) error {
	return e.recv(e.Endpoint, buf, desc, src, ctx)
}

func (e *endpoint) RecvV(iov [][]byte, desc []core.Desc, src core.FIAddr, ctx core.Context) error {
	return e.recvV(e.Endpoint, iov, desc, src, ctx)
}

func (e *endpoint) RecvMsg(m *core.MsgArgs, flags core.Flags) error {
	return e.recvMsg(e.Endpoint, m, flags)
}

func (e *endpoint) TRecv(buf []byte, desc core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	return e.tRecv(e.Endpoint, buf, desc, src, tag, ignore, ctx)
}

func (e *endpoint) TRecvV(iov [][]byte, desc []core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	return e.tRecvV(e.Endpoint, iov, desc, src, tag, ignore, ctx)
}

func (e *endpoint) TRecvMsg(m *core.TaggedArgs, flags core.Flags) error {
	return e.tRecvMsg(e.Endpoint, m, flags)
}

func (x *sharedRx) Recv(buf []byte, desc core.Desc, src core.FIAddr, ctx core.Context) error {
	return x.recv(x.SharedRx, buf, desc, src, ctx)
}

func (x *sharedRx) RecvV(iov [][]byte, desc []core.Desc, src core.FIAddr, ctx core.Context) error {
	return x.recvV(x.SharedRx, iov, desc, src, ctx)
}

func (x *sharedRx) RecvMsg(m *core.MsgArgs, flags core.Flags) error {
	return x.recvMsg(x.SharedRx, m, flags)
}

func (x *sharedRx) TRecv(buf []byte, desc core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	return x.tRecv(x.SharedRx, buf, desc, src, tag, ignore, ctx)
}

func (x *sharedRx) TRecvV(iov [][]byte, desc []core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	return x.tRecvV(x.SharedRx, iov, desc, src, tag, ignore, ctx)
}

func (x *sharedRx) TRecvMsg(m *core.TaggedArgs, flags core.Flags) error {
	return x.tRecvMsg(x.SharedRx, m, flags)
}
