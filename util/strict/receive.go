package strict

import "gofabric/core"

// receiver is the receive calls of an endpoint or a shared receive context (core.Receiver, core.TaggedReceiver).
type receiver struct {
	s     *state
	below interface {
		core.Receiver
		core.TaggedReceiver
	}
	flags core.Flags // of the plain calls
}

// one makes an iov and descriptors of one buffer; desc 0 is none.
func one(buf []byte, desc core.Desc) ([][]byte, []core.Desc) {
	if desc == 0 {
		return [][]byte{buf}, nil
	}
	return [][]byte{buf}, []core.Desc{desc}
}

// firstDescOf is the only descriptor of a call with one buffer.
func firstDescOf(desc []core.Desc) core.Desc {
	if len(desc) == 0 {
		return 0
	}
	return desc[0]
}

// Recv is fi_recv (fi_msg(3)).
func (r *receiver) Recv(buf []byte, desc core.Desc, src core.FIAddr, ctx core.Context) error {
	c := &call{op: "fi_recv", kind: recv, peer: src, ctx: ctx, flags: r.flags}
	c.iov, c.desc = one(buf, desc)
	c.below = func(c *call, ctx core.Context) error { return r.below.Recv(c.iov[0], firstDescOf(c.desc), src, ctx) }
	return r.s.submit(c)
}

// RecvV is fi_recvv (fi_msg(3)).
func (r *receiver) RecvV(iov [][]byte, desc []core.Desc, src core.FIAddr, ctx core.Context) error {
	c := &call{op: "fi_recvv", kind: recv, iov: iov, desc: desc, peer: src, ctx: ctx, flags: r.flags}
	if len(iov) != 1 {
		c.flags &^= core.MultiRecv
	}
	c.below = func(c *call, ctx core.Context) error { return r.below.RecvV(c.iov, c.desc, src, ctx) }
	return r.s.submit(c)
}

// RecvMsg is fi_recvmsg (fi_msg(3)).
func (r *receiver) RecvMsg(m *core.MsgArgs, flags core.Flags) error {
	c := &call{op: "fi_recvmsg", kind: recv, iov: m.IOV, desc: m.Desc, peer: m.Addr, ctx: m.Ctx, flags: flags}
	c.below = func(c *call, ctx core.Context) error {
		b := *m
		b.IOV, b.Desc, b.Ctx, b.Trigger = c.iov, c.desc, ctx, trigger(m.Trigger)
		return r.below.RecvMsg(&b, flags)
	}
	return r.s.submit(c)
}

// tagged returns the flags of plain tagged receives: they are for one message, if not many were asked for (FI_TAGGED_MULTI_RECV).
func (r *receiver) tagged() core.Flags {
	if r.s.info.Caps&core.CapTaggedMultiRecv == 0 {
		return r.flags &^ core.MultiRecv
	}
	return r.flags
}

// TRecv is fi_trecv (fi_tagged(3)).
func (r *receiver) TRecv(buf []byte, desc core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	c := &call{op: "fi_trecv", kind: recv, peer: src, ctx: ctx, flags: r.tagged(), tagged: true, tag: tag, ignore: ignore}
	c.iov, c.desc = one(buf, desc)
	c.below = func(c *call, ctx core.Context) error {
		return r.below.TRecv(c.iov[0], firstDescOf(c.desc), src, tag, ignore, ctx)
	}
	return r.s.submit(c)
}

// TRecvV is fi_trecvv (fi_tagged(3)).
func (r *receiver) TRecvV(iov [][]byte, desc []core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	c := &call{op: "fi_trecvv", kind: recv, iov: iov, desc: desc, peer: src, ctx: ctx, flags: r.tagged(), tagged: true, tag: tag, ignore: ignore}
	if len(iov) != 1 {
		c.flags &^= core.MultiRecv
	}
	c.below = func(c *call, ctx core.Context) error { return r.below.TRecvV(c.iov, c.desc, src, tag, ignore, ctx) }
	return r.s.submit(c)
}

// TRecvMsg is fi_trecvmsg (fi_tagged(3)).
func (r *receiver) TRecvMsg(m *core.TaggedArgs, flags core.Flags) error {
	c := &call{op: "fi_trecvmsg", kind: recv, iov: m.IOV, desc: m.Desc, peer: m.Addr, ctx: m.Ctx, flags: flags, tagged: true, tag: m.Tag, ignore: m.Ignore}
	c.below = func(c *call, ctx core.Context) error {
		b := *m
		b.IOV, b.Desc, b.Ctx, b.Trigger = c.iov, c.desc, ctx, trigger(m.Trigger)
		return r.below.TRecvMsg(&b, flags)
	}
	return r.s.submit(c)
}
