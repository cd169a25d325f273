package record

import "gofabric/core"

func (e *endpoint) Recv(buf []byte, desc core.Desc, src core.FIAddr, ctx core.Context) error {
	return e.r.call("fi_recv", e.Endpoint.Recv(buf, desc, src, ctx))
}

func (e *endpoint) RecvV(iov [][]byte, desc []core.Desc, src core.FIAddr, ctx core.Context) error {
	return e.r.call("fi_recvv", e.Endpoint.RecvV(iov, desc, src, ctx))
}

func (e *endpoint) RecvMsg(m *core.MsgArgs, flags core.Flags) error {
	if m != nil && m.Trigger != nil {
		b := *m
		b.Trigger = trigger(m.Trigger)
		m = &b
	}
	return e.r.flags("fi_recvmsg", flags, e.Endpoint.RecvMsg(m, flags))
}

func (e *endpoint) TRecv(buf []byte, desc core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	return e.r.call("fi_trecv", e.Endpoint.TRecv(buf, desc, src, tag, ignore, ctx))
}

func (e *endpoint) TRecvV(iov [][]byte, desc []core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	return e.r.call("fi_trecvv", e.Endpoint.TRecvV(iov, desc, src, tag, ignore, ctx))
}

func (e *endpoint) TRecvMsg(m *core.TaggedArgs, flags core.Flags) error {
	if m != nil && m.Trigger != nil {
		b := *m
		b.Trigger = trigger(m.Trigger)
		m = &b
	}
	return e.r.flags("fi_trecvmsg", flags, e.Endpoint.TRecvMsg(m, flags))
}

func (x *sharedRx) Recv(buf []byte, desc core.Desc, src core.FIAddr, ctx core.Context) error {
	return x.r.call("fi_recv", x.SharedRx.Recv(buf, desc, src, ctx))
}

func (x *sharedRx) RecvV(iov [][]byte, desc []core.Desc, src core.FIAddr, ctx core.Context) error {
	return x.r.call("fi_recvv", x.SharedRx.RecvV(iov, desc, src, ctx))
}

func (x *sharedRx) RecvMsg(m *core.MsgArgs, flags core.Flags) error {
	if m != nil && m.Trigger != nil {
		b := *m
		b.Trigger = trigger(m.Trigger)
		m = &b
	}
	return x.r.flags("fi_recvmsg", flags, x.SharedRx.RecvMsg(m, flags))
}

func (x *sharedRx) TRecv(buf []byte, desc core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	return x.r.call("fi_trecv", x.SharedRx.TRecv(buf, desc, src, tag, ignore, ctx))
}

func (x *sharedRx) TRecvV(iov [][]byte, desc []core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	return x.r.call("fi_trecvv", x.SharedRx.TRecvV(iov, desc, src, tag, ignore, ctx))
}

func (x *sharedRx) TRecvMsg(m *core.TaggedArgs, flags core.Flags) error {
	if m != nil && m.Trigger != nil {
		b := *m
		b.Trigger = trigger(m.Trigger)
		m = &b
	}
	return x.r.flags("fi_trecvmsg", flags, x.SharedRx.TRecvMsg(m, flags))
}
