package conform

// Connection management (fi_cm(3), fi_eq(3)) of MSG endpoints.

import (
	"fmt"
	"net/netip"
	"testing"

	"gofabric/core"
)

func testCM(t *testing.T, st Stack) {
	if st.EPType != core.EPTypeMsg {
		cmRefused(t, st)
		return
	}
	t.Run("data", func(t *testing.T) { cmData(t, st) })
	t.Run("reject", func(t *testing.T) { cmReject(t, st) })
	t.Run("taken-address", func(t *testing.T) { cmTaken(t, st) })
	t.Run("shutdown", func(t *testing.T) { cmShutdown(t, st) })
	t.Run("nobody", func(t *testing.T) { cmNoListener(t, st) })
	t.Run("names", func(t *testing.T) { cmNames(t, st) })
	t.Run("states", func(t *testing.T) { cmStates(t, st) })
	t.Run("abandoned", func(t *testing.T) { cmAbandoned(t, st) })
	t.Run("close-connecting", func(t *testing.T) { cmCloseConnecting(t, st) })
	t.Run("many", func(t *testing.T) { cmMany(t, st) })
	t.Run("eq", func(t *testing.T) { eqObject(t, st) })
}

// cmRefused checks that connectionless endpoints refuse connection calls and have no passive endpoints.
func cmRefused(t *testing.T, st Stack) {
	p := Open(t, st)
	no := []core.Errno{core.ErrNoSys, core.ErrOpNotSupp}
	refuse(t, "connect", p.A.EP.Connect(p.B.Addr, nil), no...)
	refuse(t, "accept", p.A.EP.Accept(nil), no...)
	refuse(t, "shutdown", p.A.EP.Shutdown(), no...)
	refuse(t, "getpeer", second(p.A.EP.Peer()), no...)
	if pep, err := p.A.Fabric.OpenPassiveEndpoint(p.A.Info); err == nil {
		t.Error("a passive endpoint of an RDM Info opened")
		pep.Close()
	}
}

// listener opens both sides with a listening B and a bound, enabled A that has not connected.
func listener(t *testing.T, st Stack) *Pair {
	t.Helper()
	k := makeConfig(nil)
	p := &Pair{T: t, Stack: st}
	p.B = openSide(t, st, "B", k, nil)
	p.A = openSide(t, st, "A", k, nil)
	p.listen()
	p.A.openEP(p.A.Info)
	t.Cleanup(p.Close)
	return p
}

func cmData(t *testing.T, st Stack) {
	p := listener(t, st)
	for _, n := range []int{0, 1, 100, 255, 256} {
		for _, m := range []int{0, 1, 256} {
			a, b := Pattern(n, uint64(n)), Pattern(m, uint64(m)+9)
			p.A.ok("Connect", p.A.EP.Connect(p.B.Addr, a))
			req := p.B.WantEvent(core.EventConnReq)
			if string(req.CMData) != string(a) || req.Info == nil || req.Info.Handle == nil ||
				req.Object != core.Object(p.B.PEP) {
				t.Fatalf("request: %d bytes of private data, info %v, object %v; want %d bytes, the listener",
					len(req.CMData), req.Info, req.Object, n)
			}
			p.B.openEP(req.Info)
			p.B.ok("Accept", p.B.EP.Accept(b))
			ev := p.A.WantEvent(core.EventConnected)
			if string(ev.CMData) != string(b) || ev.Object != core.Object(p.A.EP) {
				t.Fatalf("connected: %d bytes of private data, object %v; want %d bytes, the endpoint",
					len(ev.CMData), ev.Object, m)
			}
			if ev := p.B.WantEvent(core.EventConnected); ev.Object != core.Object(p.B.EP) {
				t.Errorf("the accepting side's event belongs to %v", ev.Object)
			}
			exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 10, 1)
			p.A.CloseEP()
			p.B.WantEvent(core.EventShutdown)
			p.B.CloseEP()
			p.Forget()
			p.A.openEP(p.A.Info)
		}
	}
	big := make([]byte, 257)
	bad := []core.Errno{core.ErrInval, core.ErrMsgSize, core.Err2Big}
	refuse(t, "connect with 257 bytes", p.A.EP.Connect(p.B.Addr, big), bad...)
	p.A.ok("Connect after a refused one", p.A.EP.Connect(p.B.Addr, nil))
	req := p.B.WantEvent(core.EventConnReq)
	p.B.openEP(req.Info)
	refuse(t, "accept with 257 bytes", p.B.EP.Accept(big), bad...)
	p.B.ok("Accept after a refused one", p.B.EP.Accept(nil))
	p.A.WantEvent(core.EventConnected)
	p.B.WantEvent(core.EventConnected)
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 10, 1)
}

// cmShutdown checks the peer's event, and that pending and later operations end.
func cmShutdown(t *testing.T, st Stack) {
	for _, how := range []string{"shutdown", "close"} {
		p := Open(t, st)
		exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 10, 1)
		big := make([]byte, min(9<<20, st.maxSize()))
		var posted []core.OpContext
		// This is more than fits into the sockets and the budget for unexpected messages of one peer, 64 MiB.
		for i := range core.OpContext(10) {
			if p.B.EP.Send(big, 0, p.B.Peer, 30+i) == nil {
				posted = append(posted, 30+i)
			}
		}
		p.B.ok("Recv", p.B.Rx().Recv(make([]byte, 8), 0, core.AddrUnspec, 20))
		if how == "close" {
			p.A.CloseEP()
		} else {
			p.A.ok("Shutdown", p.A.EP.Shutdown())
		}
		if ev := p.B.WantEvent(core.EventShutdown); ev.Object != core.Object(p.B.EP) {
			t.Errorf("shutdown event of %v, want the endpoint", ev.Object)
		}
		failed := 0
		for _, c := range posted {
			if p.WantEnd(p.B, c, st.bounded()).Err != nil {
				failed++
			}
		}
		if failed == 0 && len(big) > 8<<20 {
			t.Errorf("%s: %d MiB to a peer that is gone all completed", how, len(posted)*len(big)>>20)
		}
		if !st.SharedRx { // a shared receive still serves other endpoints
			p.WantErr(p.B, 20)
		} else {
			p.B.ok("Cancel", p.B.Rx().Cancel(20))
			p.WantErr(p.B, 20, core.ErrCanceled)
		}
		for i := core.OpContext(50); i < 53; i++ {
			if err := p.TryPost(func() error { return p.B.EP.Send(big[:8], 0, p.B.Peer, i) }); err == nil {
				p.WantErr(p.B, i)
			}
		}
		p.Forget()
		p.Close()
	}
}

func cmNames(t *testing.T, st Stack) {
	p := Open(t, st)
	an := must(t, "Name", p.A.EP.Name)
	bn := must(t, "Name", p.B.EP.Name)
	ap := must(t, "Peer", p.A.EP.Peer)
	bp := must(t, "Peer", p.B.EP.Peer)
	if an != bp || ap != bn {
		t.Errorf("A is %v and sees %v; B is %v and sees %v", an.IP, ap.IP, bn.IP, bp.IP)
	}
	if ap != p.B.Addr {
		t.Errorf("A's peer is %v, the listener %v", ap.IP, p.B.Addr.IP)
	}
	// A passive endpoint can get a name before it listens.
	pep := must(t, "OpenPassiveEndpoint",
		func() (*core.PassiveEndpoint, error) { return p.B.Fabric.OpenPassiveEndpoint(p.B.Info) })
	p.B.ok("SetName", pep.SetName(core.IPAddr(netip.AddrPortFrom(p.B.Addr.IP.Addr(), 0))))
	n := must(t, "Name", pep.Name)
	if n.IP.Port() == 0 || n.IP.Addr() != p.B.Addr.IP.Addr() {
		t.Errorf("after SetName with port 0 the name is %v", n.IP)
	}
	if err := pep.SetName(p.B.Addr); err == nil {
		p.B.ok("BindEQ", pep.BindEQ(p.B.EQ, 0))
		refuse(t, "Listen on a port in use", pep.Listen(), core.ErrAddrInUse)
	} else {
		refuse(t, "SetName to a port in use", err, core.ErrAddrInUse)
	}
	p.B.ok("Close", pep.Close())
}

// cmMany has one listener accept many connections at once. All of them work, and all of them end.
func cmMany(t *testing.T, st Stack) {
	const n = 40
	p := listener(t, st)
	p.A.CloseEP()
	eps := make([]*core.Endpoint, n)
	for i := range eps {
		eps[i] = must(t, "OpenEndpoint", func() (*core.Endpoint, error) { return p.A.Domain.OpenEndpoint(p.A.Info) })
		p.A.BindAll(eps[i])
		p.A.ok("Enable", eps[i].Enable())
		p.A.ok("Connect", eps[i].Connect(p.B.Addr, fmt.Append(nil, i)))
	}
	peers := map[string]*core.Endpoint{}
	for range n {
		req := p.B.WantEvent(core.EventConnReq)
		ep := must(t, "OpenEndpoint", func() (*core.Endpoint, error) { return p.B.Domain.OpenEndpoint(req.Info) })
		p.B.BindAll(ep)
		p.B.ok("Enable", ep.Enable())
		p.B.ok("Accept", ep.Accept(nil))
		peers[string(req.CMData)] = ep
	}
	for range n {
		p.A.WantEvent(core.EventConnected)
		p.B.WantEvent(core.EventConnected)
	}
	bufs := make([][16]byte, n)
	for i := range eps {
		post := p.B.Rx
		if st.SharedRx {
			p.Retry("recv", func() error { return post().Recv(bufs[i][:], 0, core.AddrUnspec, core.OpContext(i)) })
		} else {
			p.Retry("recv", func() error {
				return peers[fmt.Sprint(i)].Recv(bufs[i][:], 0, core.AddrUnspec, core.OpContext(i))
			})
		}
		p.Retry("inject", func() error { return eps[i].Inject(Pattern(16, uint64(i)), core.AddrUnspec) })
		p.Want(p.B, core.OpContext(i))
		CheckPattern(t, "message", bufs[i][:], 16, uint64(i))
	}
	for i := range eps {
		p.A.ok("Close", eps[i].Close())
	}
	for range n {
		p.B.WantEvent(core.EventShutdown)
	}
	for _, ep := range peers {
		p.B.ok("Close", ep.Close())
	}
	p.Forget()
}
