package oblige

import "gofabric/core"

func (e *endpoint) Send(buf []byte, desc core.Desc, dest core.FIAddr, ctx core.Context) error {
	p := &op{name: "fi_send", access: core.Send, message: true, ctx: ctx}
	p.iov, p.desc = one(buf, desc)
	return e.post(p, func(p *op) error { return e.Endpoint.Send(p.iov[0], p.desc1(), dest, p.below) })
}

func (e *endpoint) SendV(iov [][]byte, desc []core.Desc, dest core.FIAddr, ctx core.Context) error {
	p := &op{name: "fi_sendv", access: core.Send, message: true, ctx: ctx, iov: iov, desc: desc}
	return e.post(p, func(p *op) error { return e.Endpoint.SendV(p.iov, p.desc, dest, p.below) })
}

func (e *endpoint) SendMsg(m *core.MsgArgs, flags core.Flags) error {
	p := &op{name: "fi_sendmsg", access: core.Send, message: true, ctx: m.Ctx, iov: m.IOV, desc: m.Desc, flags: flags, inject: flags&core.Inject != 0,
		data: m.Data, hasData: flags&core.RemoteCQData != 0}
	return e.post(p, func(p *op) error {
		b := *m
		b.IOV, b.Desc, b.Ctx, b.Trigger = p.iov, p.desc, p.below, trigger(m.Trigger)
		return e.Endpoint.SendMsg(&b, flags)
	})
}

func (e *endpoint) SendData(buf []byte, desc core.Desc, data uint64, dest core.FIAddr, ctx core.Context) error {
	p := &op{name: "fi_senddata", access: core.Send, message: true, ctx: ctx, data: data, hasData: true}
	p.iov, p.desc = one(buf, desc)
	return e.post(p, func(p *op) error { return e.Endpoint.SendData(p.iov[0], p.desc1(), data, dest, p.below) })
}

func (e *endpoint) Inject(buf []byte, dest core.FIAddr) error {
	p := &op{name: "fi_inject", access: core.Send, message: true, inject: true}
	p.iov = [][]byte{buf}
	return e.post(p, func(p *op) error { return e.Endpoint.Inject(p.iov[0], dest) })
}

func (e *endpoint) InjectData(buf []byte, data uint64, dest core.FIAddr) error {
	p := &op{name: "fi_injectdata", access: core.Send, message: true, inject: true, data: data, hasData: true}
	p.iov = [][]byte{buf}
	return e.post(p, func(p *op) error { return e.Endpoint.InjectData(p.iov[0], data, dest) })
}

func (e *endpoint) TSend(buf []byte, desc core.Desc, dest core.FIAddr, tag uint64, ctx core.Context) error {
	p := &op{name: "fi_tsend", access: core.Send, message: true, tagged: true, tag: tag, ctx: ctx}
	p.iov, p.desc = one(buf, desc)
	return e.post(p, func(p *op) error { return e.Endpoint.TSend(p.iov[0], p.desc1(), dest, tag, p.below) })
}

func (e *endpoint) TSendV(iov [][]byte, desc []core.Desc, dest core.FIAddr, tag uint64, ctx core.Context) error {
	p := &op{name: "fi_tsendv", access: core.Send, message: true, tagged: true, tag: tag, ctx: ctx, iov: iov, desc: desc}
	return e.post(p, func(p *op) error { return e.Endpoint.TSendV(p.iov, p.desc, dest, tag, p.below) })
}

func (e *endpoint) TSendMsg(m *core.TaggedArgs, flags core.Flags) error {
	p := &op{name: "fi_tsendmsg", access: core.Send, message: true, tagged: true, tag: m.Tag, ctx: m.Ctx, iov: m.IOV, desc: m.Desc, flags: flags, inject: flags&core.Inject != 0,
		data: m.Data, hasData: flags&core.RemoteCQData != 0}
	return e.post(p, func(p *op) error {
		b := *m
		b.IOV, b.Desc, b.Ctx, b.Trigger = p.iov, p.desc, p.below, trigger(m.Trigger)
		return e.Endpoint.TSendMsg(&b, flags)
	})
}

func (e *endpoint) TSendData(buf []byte, desc core.Desc, data uint64, dest core.FIAddr, tag uint64, ctx core.Context) error {
	p := &op{name: "fi_tsenddata", access: core.Send, message: true, tagged: true, tag: tag, ctx: ctx, data: data, hasData: true}
	p.iov, p.desc = one(buf, desc)
	return e.post(p, func(p *op) error { return e.Endpoint.TSendData(p.iov[0], p.desc1(), data, dest, tag, p.below) })
}

func (e *endpoint) TInject(buf []byte, dest core.FIAddr, tag uint64) error {
	p := &op{name: "fi_tinject", access: core.Send, message: true, tagged: true, tag: tag, inject: true}
	p.iov = [][]byte{buf}
	return e.post(p, func(p *op) error { return e.Endpoint.TInject(p.iov[0], dest, tag) })
}

func (e *endpoint) TInjectData(buf []byte, data uint64, dest core.FIAddr, tag uint64) error {
	p := &op{name: "fi_tinjectdata", access: core.Send, message: true, tagged: true, tag: tag, inject: true, data: data, hasData: true}
	p.iov = [][]byte{buf}
	return e.post(p, func(p *op) error { return e.Endpoint.TInjectData(p.iov[0], data, dest, tag) })
}
