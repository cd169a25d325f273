package record

import "gofabric/core"

func (e *endpoint) Recv(buf []byte, desc core.Desc, src core.FIAddr, ctx core.Context) error {
	return e.r.do("fi_recv", func() error { return e.Endpoint.Recv(buf, desc, src, ctx) })
}

func (e *endpoint) RecvV(iov [][]byte, desc []core.Desc, src core.FIAddr, ctx core.Context) error {
	return e.r.do("fi_recvv", func() error { return e.Endpoint.RecvV(iov, desc, src, ctx) })
}

func (e *endpoint) RecvMsg(m *core.MsgArgs, flags core.Flags) error {
	if m != nil && m.Trigger != nil {
		b := *m
		b.Trigger = trigger(m.Trigger)
		m = &b
	}
	return e.r.with("fi_recvmsg", flags, func(flags core.Flags) error { return e.Endpoint.RecvMsg(m, flags) })
}

func (e *endpoint) TRecv(buf []byte, desc core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	return e.r.do("fi_trecv", func() error { return e.Endpoint.TRecv(buf, desc, src, tag, ignore, ctx) })
}

func (e *endpoint) TRecvV(iov [][]byte, desc []core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	return e.r.do("fi_trecvv", func() error { return e.Endpoint.TRecvV(iov, desc, src, tag, ignore, ctx) })
}

func (e *endpoint) TRecvMsg(m *core.TaggedArgs, flags core.Flags) error {
	if m != nil && m.Trigger != nil {
		b := *m
		b.Trigger = trigger(m.Trigger)
		m = &b
	}
	return e.r.with("fi_trecvmsg", flags, func(flags core.Flags) error { return e.Endpoint.TRecvMsg(m, flags) })
}

func (x *sharedRx) Recv(buf []byte, desc core.Desc, src core.FIAddr, ctx core.Context) error {
	return x.r.do("fi_recv", func() error { return x.SharedRx.Recv(buf, desc, src, ctx) })
}

func (x *sharedRx) RecvV(iov [][]byte, desc []core.Desc, src core.FIAddr, ctx core.Context) error {
	return x.r.do("fi_recvv", func() error { return x.SharedRx.RecvV(iov, desc, src, ctx) })
}

func (x *sharedRx) RecvMsg(m *core.MsgArgs, flags core.Flags) error {
	if m != nil && m.Trigger != nil {
		b := *m
		b.Trigger = trigger(m.Trigger)
		m = &b
	}
	return x.r.with("fi_recvmsg", flags, func(flags core.Flags) error { return x.SharedRx.RecvMsg(m, flags) })
}

func (x *sharedRx) TRecv(buf []byte, desc core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	return x.r.do("fi_trecv", func() error { return x.SharedRx.TRecv(buf, desc, src, tag, ignore, ctx) })
}

func (x *sharedRx) TRecvV(iov [][]byte, desc []core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	return x.r.do("fi_trecvv", func() error { return x.SharedRx.TRecvV(iov, desc, src, tag, ignore, ctx) })
}

func (x *sharedRx) TRecvMsg(m *core.TaggedArgs, flags core.Flags) error {
	if m != nil && m.Trigger != nil {
		b := *m
		b.Trigger = trigger(m.Trigger)
		m = &b
	}
	return x.r.with("fi_trecvmsg", flags, func(flags core.Flags) error { return x.SharedRx.TRecvMsg(m, flags) })
}
