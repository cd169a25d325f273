package conform

// Unreliable datagrams have a suite of their own, with what libfabric defines for them (fi_endpoint(3), FI_EP_DGRAM).

import (
	"net/netip"
	"testing"

	"gofabric/core"
)

// datagramThemes is the suite for endpoints of type EPTypeDgram.
var datagramThemes = []theme{
	{"dgram", testDgram},
	{"shared", testShared},
	{"cq", testCQ},
	{"counters", testCounters},
	{"av", testAV},
	{"vectors", testVectors},
	{"control", testControl},
	{"threads", testThreads},
	{"attributes", testAttributes},
	{"matrix", testMatrix},
	{"objects", testObjects},
}

// testDgram sends datagrams with all calls. On one host, with a receive posted, none is lost.
func testDgram(t *testing.T, st Stack) {
	p := Open(t, st)
	seed := uint64(1)
	for _, c := range msgSends {
		for _, rc := range msgRecvs {
			if c.name == "sendmsg+delivery_complete" || c.data && p.A.Info.Domain.CQDataSize == 0 {
				continue
			}
			for _, n := range []int{1, 64, 1000} {
				if c.inject && n > p.A.Info.Tx.InjectSize {
					continue
				}
				exchange(p, p.A, p.B, c, rc, n, seed)
				seed++
			}
		}
	}
	multicast(t, st)
	refuse(t, "a tagged message", p.A.EP.TSend(still, 0, p.A.Peer, 1, 1), core.ErrNoSys, core.ErrOpNotSupp)
	refuse(t, "a write", p.A.EP.Write(still, 0, p.A.Peer, 0, 1, 1), core.ErrNoSys, core.ErrOpNotSupp)
	refuse(t, "a read", p.A.EP.Read(make([]byte, 8), 0, p.A.Peer, 0, 1, 1), core.ErrNoSys, core.ErrOpNotSupp)
	refuse(t, "an atomic", p.A.EP.InjectAtomic(still[:8], p.A.Peer, 0, 1, core.Uint64, core.AtomicSum),
		core.ErrNoSys, core.ErrOpNotSupp)
	refuse(t, "a connect", p.A.EP.Connect(p.B.Addr, nil), core.ErrNoSys, core.ErrOpNotSupp)
}

// multicast sends to a group that the other side has joined.
func multicast(t *testing.T, st Stack) {
	if !st.need(t, core.CapMsg|core.CapMulticast) {
		return
	}
	p := Open(t, st, WithCaps(core.CapMulticast))
	from, fromEQ := member(p.A)
	to, toEQ := member(p.B)
	name := must(t, "Name", to.Name)
	group := core.IPAddr(netip.AddrPortFrom(netip.MustParseAddr("239.7.7.9"), name.IP.Port()))
	in := must(t, "Join", func() (*core.MC, error) { return to.Join(group, core.JoinRecv, "here") })
	var ev core.EQEvent
	p.until("event of the join", func() bool { return toEQ.Read(&ev, 0) == nil })
	if ev.Type != core.EventJoinComplete || ev.Object != core.Object(in) || ev.Context != "here" {
		t.Errorf("event %+v", ev)
	}
	out := must(t, "Join", func() (*core.MC, error) { return from.Join(group, core.JoinSend, nil) })
	buf := make([]byte, 64)
	p.Retry("recv", func() error { return to.Recv(buf, 0, core.AddrUnspec, 1) })
	p.Retry("sendmsg", func() error {
		return from.SendMsg(&core.MsgArgs{IOV: [][]byte{still}, Addr: out.Addr(), Ctx: 2}, core.OpMulticast)
	})
	p.Want(p.A, 2)
	p.Want(p.B, 1)
	CheckPattern(t, "what the group got", buf, 64, 0x5717)
	for _, o := range []core.Object{in, out, from, to, fromEQ, toEQ} {
		p.A.ok("Close", o.Close())
	}
}

// member opens a second endpoint of s, with an event queue.
func member(s *Side) (*core.Endpoint, *core.EventQueue) {
	s.T.Helper()
	eq := must(s.T, "OpenEQ", func() (*core.EventQueue, error) { return s.Fabric.OpenEQ(core.EQAttr{}) })
	ep := must(s.T, "OpenEndpoint", func() (*core.Endpoint, error) { return s.Domain.OpenEndpoint(s.Info) })
	s.BindAll(ep)
	s.ok("BindEQ", ep.BindEQ(eq, 0))
	s.ok("Enable", ep.Enable())
	return ep, eq
}
