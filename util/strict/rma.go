package strict

import "gofabric/core"

// Read is fi_read (fi_rma(3)).
func (t *transmitter) Read(buf []byte, desc core.Desc, src core.FIAddr, addr, key uint64, ctx core.Context) error {
	c := &call{op: "fi_read", kind: read, remote: remoteOf([][]byte{buf}, addr, key), peer: src, ctx: ctx, flags: t.flags}
	c.iov, c.desc = one(buf, desc)
	c.below = func(c *call, ctx core.Context) error {
		return t.below.Read(c.iov[0], firstDescOf(c.desc), src, addr, key, ctx)
	}
	return t.s.submit(c)
}

// ReadV is fi_readv (fi_rma(3)).
func (t *transmitter) ReadV(iov [][]byte, desc []core.Desc, src core.FIAddr, addr, key uint64, ctx core.Context) error {
	c := &call{op: "fi_readv", kind: read, remote: remoteOf(iov, addr, key), iov: iov, desc: desc, peer: src, ctx: ctx, flags: t.flags}
	c.below = func(c *call, ctx core.Context) error { return t.below.ReadV(c.iov, c.desc, src, addr, key, ctx) }
	return t.s.submit(c)
}

// ReadMsg is fi_readmsg (fi_rma(3)).
func (t *transmitter) ReadMsg(m *core.RMAArgs, flags core.Flags) error {
	c := &call{op: "fi_readmsg", kind: read, remote: m.RMAIOV, iov: m.IOV, desc: m.Desc, peer: m.Addr, ctx: m.Ctx, flags: flags}
	c.below = func(c *call, ctx core.Context) error {
		b := *m
		b.Desc, b.Ctx, b.Trigger = c.desc, ctx, trigger(m.Trigger)
		return t.below.ReadMsg(&b, flags)
	}
	return t.s.submit(c)
}

// Write is fi_write (fi_rma(3)).
func (t *transmitter) Write(buf []byte, desc core.Desc, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	c := &call{op: "fi_write", kind: write, remote: remoteOf([][]byte{buf}, addr, key), peer: dest, ctx: ctx, flags: t.flags}
	c.iov, c.desc = one(buf, desc)
	c.below = func(c *call, ctx core.Context) error {
		return t.below.Write(c.iov[0], firstDescOf(c.desc), dest, addr, key, ctx)
	}
	return t.s.submit(c)
}

// WriteV is fi_writev (fi_rma(3)).
func (t *transmitter) WriteV(iov [][]byte, desc []core.Desc, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	c := &call{op: "fi_writev", kind: write, remote: remoteOf(iov, addr, key), iov: iov, desc: desc, peer: dest, ctx: ctx, flags: t.flags}
	c.below = func(c *call, ctx core.Context) error { return t.below.WriteV(c.iov, c.desc, dest, addr, key, ctx) }
	return t.s.submit(c)
}

// WriteMsg is fi_writemsg (fi_rma(3)).
func (t *transmitter) WriteMsg(m *core.RMAArgs, flags core.Flags) error {
	c := &call{op: "fi_writemsg", kind: write, remote: m.RMAIOV, iov: m.IOV, desc: m.Desc, peer: m.Addr, ctx: m.Ctx, flags: flags,
		data: flags&core.RemoteCQData != 0, value: m.Data}
	c.below = func(c *call, ctx core.Context) error {
		b := *m
		b.Desc, b.Ctx, b.Trigger = c.desc, ctx, trigger(m.Trigger)
		return t.below.WriteMsg(&b, flags)
	}
	return t.s.submit(c)
}

// WriteData is fi_writedata (fi_rma(3)).
func (t *transmitter) WriteData(buf []byte, desc core.Desc, data uint64, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	c := &call{op: "fi_writedata", kind: write, remote: remoteOf([][]byte{buf}, addr, key), peer: dest, ctx: ctx, flags: t.flags, data: true, value: data}
	c.iov, c.desc = one(buf, desc)
	c.below = func(c *call, ctx core.Context) error {
		return t.below.WriteData(c.iov[0], firstDescOf(c.desc), data, dest, addr, key, ctx)
	}
	return t.s.submit(c)
}

// InjectWrite is fi_inject_write (fi_rma(3)).
func (t *transmitter) InjectWrite(buf []byte, dest core.FIAddr, addr, key uint64) error {
	c := &call{op: "fi_inject_write", kind: write, remote: remoteOf([][]byte{buf}, addr, key), iov: [][]byte{buf}, peer: dest, inject: true}
	c.below = func(c *call, _ core.Context) error { return t.below.InjectWrite(c.iov[0], dest, addr, key) }
	return t.s.submit(c)
}

// InjectWriteData is fi_inject_writedata (fi_rma(3)).
func (t *transmitter) InjectWriteData(buf []byte, data uint64, dest core.FIAddr, addr, key uint64) error {
	c := &call{op: "fi_inject_writedata", kind: write, remote: remoteOf([][]byte{buf}, addr, key), iov: [][]byte{buf}, peer: dest, inject: true, data: true, value: data}
	c.below = func(c *call, _ core.Context) error { return t.below.InjectWriteData(c.iov[0], data, dest, addr, key) }
	return t.s.submit(c)
}
