package strict

import "gofabric/core"

// transmitter is the transmit calls of an endpoint (core.Msg, core.Tagged, core.RMA, core.Atomic).
type transmitter struct {
	s     *state
	below core.Endpoint
	flags core.Flags // of the plain calls
}

// Send is fi_send (fi_msg(3)).
func (t *transmitter) Send(buf []byte, desc core.Desc, dest core.FIAddr, ctx core.Context) error {
	c := &call{op: "fi_send", peer: dest, ctx: ctx, flags: t.flags}
	c.iov, c.desc = one(buf, desc)
	c.below = func(c *call, ctx core.Context) error { return t.below.Send(c.iov[0], firstDescOf(c.desc), dest, ctx) }
	return t.s.submit(c)
}

// SendV is fi_sendv (fi_msg(3)).
func (t *transmitter) SendV(iov [][]byte, desc []core.Desc, dest core.FIAddr, ctx core.Context) error {
	c := &call{op: "fi_sendv", iov: iov, desc: desc, peer: dest, ctx: ctx, flags: t.flags}
	c.below = func(c *call, ctx core.Context) error { return t.below.SendV(c.iov, c.desc, dest, ctx) }
	return t.s.submit(c)
}

// SendMsg is fi_sendmsg (fi_msg(3)).
func (t *transmitter) SendMsg(m *core.MsgArgs, flags core.Flags) error {
	c := &call{op: "fi_sendmsg", iov: m.IOV, desc: m.Desc, peer: m.Addr, ctx: m.Ctx, flags: flags, data: flags&core.RemoteCQData != 0, value: m.Data}
	args := *m
	args.Trigger = trigger(m.Trigger)
	c.below = func(c *call, ctx core.Context) error {
		args.IOV, args.Desc, args.Ctx = c.iov, c.desc, ctx
		return t.below.SendMsg(&args, flags)
	}
	return t.s.submit(c)
}

// SendData is fi_senddata (fi_msg(3)).
func (t *transmitter) SendData(buf []byte, desc core.Desc, data uint64, dest core.FIAddr, ctx core.Context) error {
	c := &call{op: "fi_senddata", peer: dest, ctx: ctx, flags: t.flags, data: true, value: data}
	c.iov, c.desc = one(buf, desc)
	c.below = func(c *call, ctx core.Context) error {
		return t.below.SendData(c.iov[0], firstDescOf(c.desc), data, dest, ctx)
	}
	return t.s.submit(c)
}

// Inject is fi_inject (fi_msg(3)).
func (t *transmitter) Inject(buf []byte, dest core.FIAddr) error {
	c := &call{op: "fi_inject", iov: [][]byte{buf}, peer: dest, inject: true}
	c.below = func(c *call, _ core.Context) error { return t.below.Inject(c.iov[0], dest) }
	return t.s.submit(c)
}

// InjectData is fi_injectdata (fi_msg(3)).
func (t *transmitter) InjectData(buf []byte, data uint64, dest core.FIAddr) error {
	c := &call{op: "fi_injectdata", iov: [][]byte{buf}, peer: dest, inject: true, data: true, value: data}
	c.below = func(c *call, _ core.Context) error { return t.below.InjectData(c.iov[0], data, dest) }
	return t.s.submit(c)
}

// TSend is fi_tsend (fi_tagged(3)).
func (t *transmitter) TSend(buf []byte, desc core.Desc, dest core.FIAddr, tag uint64, ctx core.Context) error {
	c := &call{op: "fi_tsend", peer: dest, ctx: ctx, flags: t.flags, tagged: true, tag: tag}
	c.iov, c.desc = one(buf, desc)
	c.below = func(c *call, ctx core.Context) error {
		return t.below.TSend(c.iov[0], firstDescOf(c.desc), dest, tag, ctx)
	}
	return t.s.submit(c)
}

// TSendV is fi_tsendv (fi_tagged(3)).
func (t *transmitter) TSendV(iov [][]byte, desc []core.Desc, dest core.FIAddr, tag uint64, ctx core.Context) error {
	c := &call{op: "fi_tsendv", iov: iov, desc: desc, peer: dest, ctx: ctx, flags: t.flags, tagged: true, tag: tag}
	c.below = func(c *call, ctx core.Context) error { return t.below.TSendV(c.iov, c.desc, dest, tag, ctx) }
	return t.s.submit(c)
}

// TSendMsg is fi_tsendmsg (fi_tagged(3)).
func (t *transmitter) TSendMsg(m *core.TaggedArgs, flags core.Flags) error {
	c := &call{op: "fi_tsendmsg", iov: m.IOV, desc: m.Desc, peer: m.Addr, ctx: m.Ctx, flags: flags, tagged: true, tag: m.Tag,
		data: flags&core.RemoteCQData != 0, value: m.Data}
	args := *m
	args.Trigger = trigger(m.Trigger)
	c.below = func(c *call, ctx core.Context) error {
		args.IOV, args.Desc, args.Ctx = c.iov, c.desc, ctx
		return t.below.TSendMsg(&args, flags)
	}
	return t.s.submit(c)
}

// TSendData is fi_tsenddata (fi_tagged(3)).
func (t *transmitter) TSendData(buf []byte, desc core.Desc, data uint64, dest core.FIAddr, tag uint64, ctx core.Context) error {
	c := &call{op: "fi_tsenddata", peer: dest, ctx: ctx, flags: t.flags, tagged: true, tag: tag, data: true, value: data}
	c.iov, c.desc = one(buf, desc)
	c.below = func(c *call, ctx core.Context) error {
		return t.below.TSendData(c.iov[0], firstDescOf(c.desc), data, dest, tag, ctx)
	}
	return t.s.submit(c)
}

// TInject is fi_tinject (fi_tagged(3)).
func (t *transmitter) TInject(buf []byte, dest core.FIAddr, tag uint64) error {
	c := &call{op: "fi_tinject", iov: [][]byte{buf}, peer: dest, inject: true, tagged: true, tag: tag}
	c.below = func(c *call, _ core.Context) error { return t.below.TInject(c.iov[0], dest, tag) }
	return t.s.submit(c)
}

// TInjectData is fi_tinjectdata (fi_tagged(3)).
func (t *transmitter) TInjectData(buf []byte, data uint64, dest core.FIAddr, tag uint64) error {
	c := &call{op: "fi_tinjectdata", iov: [][]byte{buf}, peer: dest, inject: true, tagged: true, tag: tag, data: true, value: data}
	c.below = func(c *call, _ core.Context) error { return t.below.TInjectData(c.iov[0], data, dest, tag) }
	return t.s.submit(c)
}
