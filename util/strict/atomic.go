package strict

import "gofabric/core"

func (t *transmitter) atomic(op string, k kind, m *core.AtomicArgs, flags core.Flags) *call {
	c := &call{op: op, kind: k, remote: elements(m.RMAIOC, m.Type), get: m.Op == core.AtomicRead, iov: m.IOV, desc: m.Desc, peer: m.Addr, ctx: m.Ctx, flags: flags,
		data: flags&core.RemoteCQData != 0, value: m.Data}
	if m.Op == core.AtomicRead {
		c.iov, c.desc = nil, nil // there are no operands
	}
	return c
}

// args are m with what the stack below is to see.
func args(m *core.AtomicArgs, c *call, ctx core.Context) *core.AtomicArgs {
	b := *m
	b.Ctx, b.Trigger = ctx, trigger(m.Trigger)
	if c.iov != nil {
		b.Desc = c.desc
	}
	return &b
}

// Atomic is fi_atomicmsg (fi_atomic(3)).
func (t *transmitter) Atomic(m *core.AtomicArgs, flags core.Flags) error {
	c := t.atomic("fi_atomicmsg", atomicWrite, m, flags)
	c.below = func(c *call, ctx core.Context) error { return t.below.Atomic(args(m, c, ctx), flags) }
	return t.s.submit(c)
}

// FetchAtomic is fi_fetch_atomicmsg (fi_atomic(3)).
func (t *transmitter) FetchAtomic(m *core.AtomicArgs, result [][]byte, resultDesc []core.Desc, flags core.Flags) error {
	c := t.atomic("fi_fetch_atomicmsg", atomicRead, m, flags)
	c.result, c.rdesc = result, resultDesc
	c.below = func(c *call, ctx core.Context) error {
		return t.below.FetchAtomic(args(m, c, ctx), result, c.rdesc, flags)
	}
	return t.s.submit(c)
}

// CompareAtomic is fi_compare_atomicmsg (fi_atomic(3)).
func (t *transmitter) CompareAtomic(m *core.AtomicArgs, compare [][]byte, compareDesc []core.Desc, result [][]byte, resultDesc []core.Desc, flags core.Flags) error {
	c := t.atomic("fi_compare_atomicmsg", atomicRead, m, flags)
	c.result, c.rdesc, c.compare, c.cdesc = result, resultDesc, compare, compareDesc
	c.below = func(c *call, ctx core.Context) error {
		return t.below.CompareAtomic(args(m, c, ctx), compare, c.cdesc, result, c.rdesc, flags)
	}
	return t.s.submit(c)
}

// InjectAtomic is fi_inject_atomic (fi_atomic(3)).
func (t *transmitter) InjectAtomic(buf []byte, dest core.FIAddr, addr, key uint64, dt core.Datatype, op core.AtomicOp) error {
	c := &call{op: "fi_inject_atomic", kind: atomicWrite, remote: remoteOf([][]byte{buf}, addr, key), iov: [][]byte{buf}, peer: dest, inject: true}
	c.below = func(c *call, _ core.Context) error { return t.below.InjectAtomic(c.iov[0], dest, addr, key, dt, op) }
	return t.s.submit(c)
}

// AtomicValid is fi_atomicvalid (fi_atomic(3)).
func (t *transmitter) AtomicValid(dt core.Datatype, op core.AtomicOp) (int, error) {
	return t.below.AtomicValid(dt, op)
}

// FetchAtomicValid is fi_fetch_atomicvalid (fi_atomic(3)).
func (t *transmitter) FetchAtomicValid(dt core.Datatype, op core.AtomicOp) (int, error) {
	return t.below.FetchAtomicValid(dt, op)
}

// CompareAtomicValid is fi_compare_atomicvalid (fi_atomic(3)).
func (t *transmitter) CompareAtomicValid(dt core.Datatype, op core.AtomicOp) (int, error) {
	return t.below.CompareAtomicValid(dt, op)
}
