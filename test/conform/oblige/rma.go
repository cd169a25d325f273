package oblige

import "gofabric/core"

func (e *endpoint) Read(buf []byte, desc core.Desc, src core.FIAddr, addr, key uint64, ctx core.Context) error {
	p := &op{name: "fi_read", access: core.Read, rma: 1, ctx: ctx}
	p.iov, p.desc = one(buf, desc)
	return e.post(p, func(p *op) error { return e.Endpoint.Read(p.iov[0], p.desc1(), src, addr, key, p.below) })
}

func (e *endpoint) ReadV(iov [][]byte, desc []core.Desc, src core.FIAddr, addr, key uint64, ctx core.Context) error {
	p := &op{name: "fi_readv", access: core.Read, rma: 1, ctx: ctx, iov: iov, desc: desc}
	return e.post(p, func(p *op) error { return e.Endpoint.ReadV(p.iov, p.desc, src, addr, key, p.below) })
}

func (e *endpoint) ReadMsg(m *core.RMAArgs, flags core.Flags) error {
	p := &op{name: "fi_readmsg", access: core.Read, rma: len(m.RMAIOV), ctx: m.Ctx, iov: m.IOV, desc: m.Desc, flags: flags, inject: flags&core.Inject != 0,
		data: m.Data, hasData: flags&core.RemoteCQData != 0}
	return e.post(p, func(p *op) error {
		b := *m
		b.IOV, b.Desc, b.Ctx, b.Trigger = p.iov, p.desc, p.below, trigger(m.Trigger)
		return e.Endpoint.ReadMsg(&b, flags)
	})
}

func (e *endpoint) Write(buf []byte, desc core.Desc, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	p := &op{name: "fi_write", access: core.Write, rma: 1, ctx: ctx}
	p.iov, p.desc = one(buf, desc)
	return e.post(p, func(p *op) error { return e.Endpoint.Write(p.iov[0], p.desc1(), dest, addr, key, p.below) })
}

func (e *endpoint) WriteV(iov [][]byte, desc []core.Desc, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	p := &op{name: "fi_writev", access: core.Write, rma: 1, ctx: ctx, iov: iov, desc: desc}
	return e.post(p, func(p *op) error { return e.Endpoint.WriteV(p.iov, p.desc, dest, addr, key, p.below) })
}

func (e *endpoint) WriteMsg(m *core.RMAArgs, flags core.Flags) error {
	p := &op{name: "fi_writemsg", access: core.Write, rma: len(m.RMAIOV), ctx: m.Ctx, iov: m.IOV, desc: m.Desc, flags: flags, inject: flags&core.Inject != 0,
		data: m.Data, hasData: flags&core.RemoteCQData != 0}
	return e.post(p, func(p *op) error {
		b := *m
		b.IOV, b.Desc, b.Ctx, b.Trigger = p.iov, p.desc, p.below, trigger(m.Trigger)
		return e.Endpoint.WriteMsg(&b, flags)
	})
}

func (e *endpoint) WriteData(buf []byte, desc core.Desc, data uint64, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	p := &op{name: "fi_writedata", access: core.Write, rma: 1, ctx: ctx, data: data, hasData: true}
	p.iov, p.desc = one(buf, desc)
	return e.post(p, func(p *op) error { return e.Endpoint.WriteData(p.iov[0], p.desc1(), data, dest, addr, key, p.below) })
}

func (e *endpoint) InjectWrite(buf []byte, dest core.FIAddr, addr, key uint64) error {
	p := &op{name: "fi_inject_write", access: core.Write, rma: 1, inject: true}
	p.iov = [][]byte{buf}
	return e.post(p, func(p *op) error { return e.Endpoint.InjectWrite(p.iov[0], dest, addr, key) })
}

func (e *endpoint) InjectWriteData(buf []byte, data uint64, dest core.FIAddr, addr, key uint64) error {
	p := &op{name: "fi_inject_writedata", access: core.Write, rma: 1, inject: true, data: data, hasData: true}
	p.iov = [][]byte{buf}
	return e.post(p, func(p *op) error { return e.Endpoint.InjectWriteData(p.iov[0], data, dest, addr, key) })
}

// atomic is what the atomic calls have in common.
func (e *endpoint) atomic(name string, m *core.AtomicArgs, flags core.Flags) (*op, func(*op) *core.AtomicArgs) {
	p := &op{name: name, access: core.Write, rma: len(m.RMAIOC), ctx: m.Ctx, iov: m.IOV, desc: m.Desc, flags: flags, inject: flags&core.Inject != 0,
		data: m.Data, hasData: flags&core.RemoteCQData != 0}
	if m.Op == core.AtomicRead {
		p.iov, p.desc = nil, nil // there are no operands
	}
	return p, func(p *op) *core.AtomicArgs {
		b := *m
		b.Ctx, b.Trigger = p.below, trigger(m.Trigger)
		if p.iov != nil {
			b.Desc = p.desc
		}
		return &b
	}
}

func (e *endpoint) Atomic(m *core.AtomicArgs, flags core.Flags) error {
	p, args := e.atomic("fi_atomicmsg", m, flags)
	return e.post(p, func(p *op) error { return e.Endpoint.Atomic(args(p), flags) })
}

func (e *endpoint) FetchAtomic(m *core.AtomicArgs, result [][]byte, desc []core.Desc, flags core.Flags) error {
	p, args := e.atomic("fi_fetch_atomicmsg", m, flags)
	p.result, p.rdesc = result, desc
	return e.post(p, func(p *op) error { return e.Endpoint.FetchAtomic(args(p), result, p.rdesc, flags) })
}

func (e *endpoint) CompareAtomic(m *core.AtomicArgs, compare [][]byte, cdesc []core.Desc, result [][]byte, rdesc []core.Desc, flags core.Flags) error {
	p, args := e.atomic("fi_compare_atomicmsg", m, flags)
	p.result, p.rdesc, p.compare, p.cdesc = result, rdesc, compare, cdesc
	return e.post(p, func(p *op) error { return e.Endpoint.CompareAtomic(args(p), compare, p.cdesc, result, p.rdesc, flags) })
}

func (e *endpoint) InjectAtomic(buf []byte, dest core.FIAddr, addr, key uint64, dt core.Datatype, what core.AtomicOp) error {
	p := &op{name: "fi_inject_atomic", access: core.Write, rma: 1, inject: true}
	p.iov = [][]byte{buf}
	return e.post(p, func(p *op) error { return e.Endpoint.InjectAtomic(p.iov[0], dest, addr, key, dt, what) })
}
