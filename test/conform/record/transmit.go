package record

import "gofabric/core"

// trigger is t with the counter below.
func trigger(t *core.TriggeredContext) *core.TriggeredContext {
	b := *t
	b.Cntr = bare(t.Cntr)
	return &b
}

func (e *endpoint) Send(buf []byte, desc core.Desc, dest core.FIAddr, ctx core.Context) error {
	return e.r.do("fi_send", func() error { return e.Endpoint.Send(buf, desc, dest, ctx) })
}

func (e *endpoint) SendV(iov [][]byte, desc []core.Desc, dest core.FIAddr, ctx core.Context) error {
	return e.r.do("fi_sendv", func() error { return e.Endpoint.SendV(iov, desc, dest, ctx) })
}

func (e *endpoint) SendMsg(m *core.MsgArgs, flags core.Flags) error {
	if m != nil && m.Trigger != nil {
		b := *m
		b.Trigger = trigger(m.Trigger)
		m = &b
	}
	return e.r.with("fi_sendmsg", flags, func(flags core.Flags) error { return e.Endpoint.SendMsg(m, flags) })
}

func (e *endpoint) SendData(buf []byte, desc core.Desc, data uint64, dest core.FIAddr, ctx core.Context) error {
	return e.r.do("fi_senddata", func() error { return e.Endpoint.SendData(buf, desc, data, dest, ctx) })
}

func (e *endpoint) Inject(buf []byte, dest core.FIAddr) error {
	return e.r.do("fi_inject", func() error { return e.Endpoint.Inject(buf, dest) })
}

func (e *endpoint) InjectData(buf []byte, data uint64, dest core.FIAddr) error {
	return e.r.do("fi_injectdata", func() error { return e.Endpoint.InjectData(buf, data, dest) })
}

func (e *endpoint) TSend(buf []byte, desc core.Desc, dest core.FIAddr, tag uint64, ctx core.Context) error {
	return e.r.do("fi_tsend", func() error { return e.Endpoint.TSend(buf, desc, dest, tag, ctx) })
}

func (e *endpoint) TSendV(iov [][]byte, desc []core.Desc, dest core.FIAddr, tag uint64, ctx core.Context) error {
	return e.r.do("fi_tsendv", func() error { return e.Endpoint.TSendV(iov, desc, dest, tag, ctx) })
}

func (e *endpoint) TSendMsg(m *core.TaggedArgs, flags core.Flags) error {
	if m != nil && m.Trigger != nil {
		b := *m
		b.Trigger = trigger(m.Trigger)
		m = &b
	}
	return e.r.with("fi_tsendmsg", flags, func(flags core.Flags) error { return e.Endpoint.TSendMsg(m, flags) })
}

func (e *endpoint) TSendData(buf []byte, desc core.Desc, data uint64, dest core.FIAddr, tag uint64, ctx core.Context) error {
	return e.r.do("fi_tsenddata", func() error { return e.Endpoint.TSendData(buf, desc, data, dest, tag, ctx) })
}

func (e *endpoint) TInject(buf []byte, dest core.FIAddr, tag uint64) error {
	return e.r.do("fi_tinject", func() error { return e.Endpoint.TInject(buf, dest, tag) })
}

func (e *endpoint) TInjectData(buf []byte, data uint64, dest core.FIAddr, tag uint64) error {
	return e.r.do("fi_tinjectdata", func() error { return e.Endpoint.TInjectData(buf, data, dest, tag) })
}

func (e *endpoint) Read(buf []byte, desc core.Desc, src core.FIAddr, addr, key uint64, ctx core.Context) error {
	return e.r.do("fi_read", func() error { return e.Endpoint.Read(buf, desc, src, addr, key, ctx) })
}

func (e *endpoint) ReadV(iov [][]byte, desc []core.Desc, src core.FIAddr, addr, key uint64, ctx core.Context) error {
	return e.r.do("fi_readv", func() error { return e.Endpoint.ReadV(iov, desc, src, addr, key, ctx) })
}

func (e *endpoint) ReadMsg(m *core.RMAArgs, flags core.Flags) error {
	if m != nil && m.Trigger != nil {
		b := *m
		b.Trigger = trigger(m.Trigger)
		m = &b
	}
	return e.r.with("fi_readmsg", flags, func(flags core.Flags) error { return e.Endpoint.ReadMsg(m, flags) })
}

func (e *endpoint) Write(buf []byte, desc core.Desc, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	return e.r.do("fi_write", func() error { return e.Endpoint.Write(buf, desc, dest, addr, key, ctx) })
}

func (e *endpoint) WriteV(iov [][]byte, desc []core.Desc, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	return e.r.do("fi_writev", func() error { return e.Endpoint.WriteV(iov, desc, dest, addr, key, ctx) })
}

func (e *endpoint) WriteMsg(m *core.RMAArgs, flags core.Flags) error {
	if m != nil && m.Trigger != nil {
		b := *m
		b.Trigger = trigger(m.Trigger)
		m = &b
	}
	return e.r.with("fi_writemsg", flags, func(flags core.Flags) error { return e.Endpoint.WriteMsg(m, flags) })
}

func (e *endpoint) WriteData(buf []byte, desc core.Desc, data uint64, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	return e.r.do("fi_writedata", func() error { return e.Endpoint.WriteData(buf, desc, data, dest, addr, key, ctx) })
}

func (e *endpoint) InjectWrite(buf []byte, dest core.FIAddr, addr, key uint64) error {
	return e.r.do("fi_inject_write", func() error { return e.Endpoint.InjectWrite(buf, dest, addr, key) })
}

func (e *endpoint) InjectWriteData(buf []byte, data uint64, dest core.FIAddr, addr, key uint64) error {
	return e.r.do("fi_inject_writedata", func() error { return e.Endpoint.InjectWriteData(buf, data, dest, addr, key) })
}
