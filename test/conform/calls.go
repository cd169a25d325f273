package conform

// Tables of the send and receive calls. Each theme can run over all of them.

import (
	"slices"

	"gofabric/core"
)

// cqData is the remote CQ data that calls with data send.
const cqData = 0x1122334455667788

// iovParts is the number of slices in v and msg calls. The limit of stacks in tests is 4, as on native tcp.
const iovParts = 4

// sendCall is one way to send a message. Only tagged calls use tag.
type sendCall struct {
	name   string
	inject bool // limited to the inject size; no completion
	data   bool // carries cqData
	tagged bool
	do     func(s *Side, buf []byte, tag uint64, ctx core.OpContext) error
}

var msgSends = []sendCall{
	{"send", false, false, false, func(s *Side, b []byte, _ uint64, c core.OpContext) error { return s.EP.Send(b, 0, s.Peer, c) }},
	{"sendv", false, false, false, func(s *Side, b []byte, _ uint64, c core.OpContext) error {
		return s.EP.SendV(s.tx(b, iovParts), nil, s.Peer, c)
	}},
	{"sendmsg", false, false, false, func(s *Side, b []byte, _ uint64, c core.OpContext) error {
		return s.EP.SendMsg(&core.MsgArgs{IOV: s.tx(b, 3), Addr: s.Peer, Ctx: c}, 0)
	}},
	{"sendmsg+data", false, true, false, func(s *Side, b []byte, _ uint64, c core.OpContext) error {
		return s.EP.SendMsg(&core.MsgArgs{IOV: s.tx(b, 2), Addr: s.Peer, Ctx: c, Data: s.data()}, core.OpRemoteCQData)
	}},
	{"sendmsg+more", false, false, false, func(s *Side, b []byte, _ uint64, c core.OpContext) error {
		return s.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{b}, Addr: s.Peer, Ctx: c}, core.OpMore)
	}},
	{"sendmsg+transmit_complete", false, false, false, func(s *Side, b []byte, _ uint64, c core.OpContext) error {
		return s.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{b}, Addr: s.Peer, Ctx: c}, core.OpTransmitComplete)
	}},
	{"sendmsg+delivery_complete", false, false, false, func(s *Side, b []byte, _ uint64, c core.OpContext) error {
		return s.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{b}, Addr: s.Peer, Ctx: c}, core.OpDeliveryComplete)
	}},
	{"senddata", false, true, false, func(s *Side, b []byte, _ uint64, c core.OpContext) error {
		return s.EP.SendData(b, 0, s.data(), s.Peer, c)
	}},
	{"inject", true, false, false, func(s *Side, b []byte, _ uint64, _ core.OpContext) error { return s.EP.Inject(b, s.Peer) }},
	{"injectdata", true, true, false, func(s *Side, b []byte, _ uint64, _ core.OpContext) error {
		return s.EP.InjectData(b, s.data(), s.Peer)
	}},
}

var taggedSends = []sendCall{
	{"tsend", false, false, true, func(s *Side, b []byte, tag uint64, c core.OpContext) error { return s.EP.TSend(b, 0, s.Peer, tag, c) }},
	{"tsendv", false, false, true, func(s *Side, b []byte, tag uint64, c core.OpContext) error {
		return s.EP.TSendV(s.tx(b, iovParts), nil, s.Peer, tag, c)
	}},
	{"tsendmsg", false, false, true, func(s *Side, b []byte, tag uint64, c core.OpContext) error {
		return s.EP.TSendMsg(&core.TaggedArgs{IOV: s.tx(b, 3), Addr: s.Peer, Tag: tag, Ctx: c}, 0)
	}},
	{"tsendmsg+data", false, true, true, func(s *Side, b []byte, tag uint64, c core.OpContext) error {
		return s.EP.TSendMsg(&core.TaggedArgs{IOV: s.tx(b, 2), Addr: s.Peer, Tag: tag, Ctx: c, Data: s.data()},
			core.OpRemoteCQData)
	}},
	{"tsendmsg+delivery_complete", false, false, true, func(s *Side, b []byte, tag uint64, c core.OpContext) error {
		return s.EP.TSendMsg(&core.TaggedArgs{IOV: [][]byte{b}, Addr: s.Peer, Tag: tag, Ctx: c},
			core.OpDeliveryComplete)
	}},
	{"tsenddata", false, true, true, func(s *Side, b []byte, tag uint64, c core.OpContext) error {
		return s.EP.TSendData(b, 0, s.data(), s.Peer, tag, c)
	}},
	{"tinject", true, false, true, func(s *Side, b []byte, tag uint64, _ core.OpContext) error { return s.EP.TInject(b, s.Peer, tag) }},
	{"tinjectdata", true, true, true, func(s *Side, b []byte, tag uint64, _ core.OpContext) error {
		return s.EP.TInjectData(b, s.data(), s.Peer, tag)
	}},
}

// recvCall is one way to post a receive buffer.
type recvCall struct {
	name string
	do   func(s *Side, buf []byte, tag uint64, ctx core.OpContext) error
}

var msgRecvs = []recvCall{
	{"recv", func(s *Side, b []byte, _ uint64, c core.OpContext) error {
		return s.Rx().Recv(b, 0, core.AddrUnspec, c)
	}},
	{"recvv", func(s *Side, b []byte, _ uint64, c core.OpContext) error {
		return s.Rx().RecvV(s.rx(b, iovParts), nil, core.AddrUnspec, c)
	}},
	{"recvmsg", func(s *Side, b []byte, _ uint64, c core.OpContext) error {
		return s.Rx().RecvMsg(&core.MsgArgs{IOV: s.rx(b, 2), Addr: core.AddrUnspec, Ctx: c}, core.OpCompletion)
	}},
}

var taggedRecvs = []recvCall{
	{"trecv", func(s *Side, b []byte, tag uint64, c core.OpContext) error {
		return s.Rx().TRecv(b, 0, core.AddrUnspec, tag, 0, c)
	}},
	{"trecvv", func(s *Side, b []byte, tag uint64, c core.OpContext) error {
		return s.Rx().TRecvV(s.rx(b, iovParts), nil, core.AddrUnspec, tag, 0, c)
	}},
	{"trecvmsg", func(s *Side, b []byte, tag uint64, c core.OpContext) error {
		return s.Rx().TRecvMsg(&core.TaggedArgs{IOV: s.rx(b, 2), Addr: core.AddrUnspec, Tag: tag, Ctx: c},
			core.OpCompletion)
	}},
}

// sizes are the message sizes of the call matrix.
func (s *Side) sizes() []int {
	inj := s.Info.Tx.InjectSize
	all := []int{0, 1, inj - 1, inj, inj + 1, 4095, 4096, 4097, 65535, 65536}
	return slices.DeleteFunc(all, func(n int) bool { return n < 0 || n > s.Stack.maxSize() })
}

// checkRecv checks the completion of a receive.
func checkRecv(p *Pair, what string, g Got, c sendCall, buf []byte, n int, tag uint64) {
	p.T.Helper()
	kind := core.CompMsg
	if c.tagged {
		kind = core.CompTagged
	}
	want := kind | core.CompRecv
	if c.data {
		want |= core.CompRemoteCQData
	}
	if g.Flags&(core.CompMsg|core.CompTagged|core.CompRecv|core.CompSend|core.CompRemoteCQData) != want {
		p.T.Errorf("%s: receive flags %#x, want %#x", what, uint64(g.Flags), uint64(want))
	}
	if g.Len != n {
		p.T.Errorf("%s: received length %d, want %d", what, g.Len, n)
	}
	if c.data && g.Data != p.A.data() {
		p.T.Errorf("%s: remote CQ data %#x, want %#x", what, g.Data, p.A.data())
	}
	if c.tagged && g.Tag != tag {
		p.T.Errorf("%s: tag %#x, want %#x", what, g.Tag, tag)
	}
	if len(g.Buf) > 0 && len(buf) > 0 && &g.Buf[0] != &buf[0] {
		p.T.Errorf("%s: Buf is not the posted buffer", what)
	}
}

// checkSend checks the completion of a transmit.
func checkSend(p *Pair, what string, g Got, tagged bool) {
	p.T.Helper()
	want := core.CompMsg | core.CompSend
	if tagged {
		want = core.CompTagged | core.CompSend
	}
	if g.Flags&(core.CompMsg|core.CompTagged|core.CompRMA|core.CompRecv|core.CompSend) != want {
		p.T.Errorf("%s: transmit flags %#x, want %#x", what, uint64(g.Flags), uint64(want))
	}
}

// exchange sends n bytes with c from s to r into a buffer posted with rc, and checks everything.
func exchange(p *Pair, s, r *Side, c sendCall, rc recvCall, n int, seed uint64) {
	p.T.Helper()
	what := c.name + "/" + rc.name
	tag := 0xa0000 + seed
	buf := make([]byte, n+5)
	p.Retry(what+": post receive", func() error { return rc.do(r, buf, tag, core.OpContext(1000+seed)) })
	src := Pattern(n, seed)
	p.Retry(what+": post send", func() error { return c.do(s, src, tag, core.OpContext(2000+seed)) })
	if c.inject {
		Fill(src, seed+77)
	}
	g := p.Want(r, core.OpContext(1000+seed))
	checkRecv(p, what, g, c, buf, n, tag)
	CheckPattern(p.T, what, buf, n, seed)
	CheckZero(p.T, what+", behind the message", buf[n:])
	if !c.inject {
		checkSend(p, what, p.Want(s, core.OpContext(2000+seed)), c.tagged)
	}
}

// Ping exchanges a few messages in both directions. They are tagged if the pair has tagged messages, so that no other
// message can match. The data depend on the sequence number.
func (p *Pair) Ping(seq uint64) {
	p.T.Helper()
	sends, recvs := msgSends, msgRecvs
	if p.A.Info.Caps&core.CapTagged != 0 {
		sends, recvs = taggedSends, taggedRecvs
	}
	for i, n := range []int{0, 100, 20000} {
		exchange(p, p.A, p.B, sends[0], recvs[0], n, 10*seq+uint64(i))
		exchange(p, p.B, p.A, sends[i%4], recvs[0], n, 10*seq+5+uint64(i))
	}
}
