package conform

// Connection management (fi_cm(3)) without a resulting connection: no listener, wrong states, abandoned requests.

import (
	"net"
	"testing"

	"gofabric/core"
)

func cmReject(t *testing.T, st Stack) {
	p := listener(t, st)
	for _, n := range []int{0, 1, 256} {
		p.A.ok("Connect", p.A.EP.Connect(p.B.Addr, nil))
		req := p.B.WantEvent(core.EventConnReq)
		refuse(t, "reject with 257 bytes", p.B.PEP.Reject(req.Info.Handle, make([]byte, 257)),
			core.ErrInval, core.ErrMsgSize, core.Err2Big)
		p.B.ok("Reject", p.B.PEP.Reject(req.Info.Handle, Pattern(n, 3)))
		if err := p.B.PEP.Reject(req.Info.Handle, nil); err == nil {
			t.Error("a request was rejected twice without an error")
		}
		e := p.A.WantEventErr()
		if e.Err != core.ErrConnRefused || string(e.ErrData) != string(Pattern(n, 3)) ||
			e.Object != core.Object(p.A.EP) {
			t.Errorf("after a reject with %d bytes: %v, %d bytes, object %v; want ErrConnRefused and the data",
				n, e.Err, len(e.ErrData), e.Object)
		}
		p.A.CloseEP()
		p.A.openEP(p.A.Info)
	}
	p.Connect(nil, nil)
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 10, 1)
}

// cmTaken opens an endpoint that takes the address of a passive endpoint, which does not listen (fi_getinfo(3),
// "handle").
func cmTaken(t *testing.T, st Stack) {
	p := listener(t, st)
	pep, err := p.A.Fabric.OpenPassiveEndpoint(p.A.Info)
	p.A.ok("OpenPassiveEndpoint", err)
	name, err := pep.Name()
	p.A.ok("Name", err)
	p.A.CloseEP()
	info := p.A.Info.Dup()
	info.Handle = pep
	p.A.openEP(info)
	if got, err := p.A.EP.Name(); err != nil || got != name {
		t.Errorf("the endpoint's name is %v, %v; the passive endpoint's was %v", got, err, name)
	}
	_, err = p.A.Domain.OpenEndpoint(info)
	refuse(t, "an endpoint with an address that was taken already", err, core.ErrInval)
	p.A.ok("Close", pep.Close())
	p.A.ok("Connect", p.A.EP.Connect(p.B.Addr, nil))
	req := p.B.WantEvent(core.EventConnReq)
	if req.Info.DestAddr != name {
		t.Errorf("the connection comes from %v; want %v", req.Info.DestAddr, name)
	}
	p.B.ok("Reject", p.B.PEP.Reject(req.Info.Handle, nil))
	p.A.WantEventErr()
}

// cmNoListener connects to a port without a listener, and to a listener with another protocol.
func cmNoListener(t *testing.T, st Stack) {
	p := listener(t, st)
	l, err := net.Listen("tcp", net.JoinHostPort(st.node(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	dead := core.IPAddr(l.Addr().(*net.TCPAddr).AddrPort())
	l.Close()
	if err := p.A.EP.Connect(dead, nil); err == nil {
		e := p.A.WantEventErr()
		if e.Err != core.ErrConnRefused || e.Object != core.Object(p.A.EP) {
			t.Errorf("connect to a port without a listener: %v of %v; want ErrConnRefused of the endpoint", e.Err,
				e.Object)
		}
	} else {
		refuse(t, "connect to a port without a listener", err, core.ErrConnRefused)
	}
	p.A.CloseEP()
	p.A.openEP(p.A.Info)
	for _, a := range []core.Addr{{}, {Format: core.FormatStr, Str: "fi_shm://1"}} {
		if err := p.A.EP.Connect(a, nil); err == nil {
			t.Errorf("connect to %v: no error", a)
		}
	}
	p.Connect(nil, nil)
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 10, 1)
}

// cmStates checks calls in the wrong state.
func cmStates(t *testing.T, st Stack) {
	p := Open(t, st)
	bad := []core.Errno{core.ErrInval, core.ErrOpBadState, core.ErrIsConn, core.ErrBusy, core.ErrAlready}
	refuse(t, "Listen twice", p.B.PEP.Listen(), bad...)
	refuse(t, "connect of a connected endpoint", p.A.EP.Connect(p.B.Addr, nil), bad...)
	refuse(t, "accept of a connected endpoint", p.B.EP.Accept(nil), bad...)
	refuse(t, "accept of an endpoint without a request", p.A.EP.Accept(nil), bad...)
	refuse(t, "Close of an event queue in use", p.B.EQ.Close(), core.ErrBusy)
	pep := must(t, "OpenPassiveEndpoint",
		func() (*core.PassiveEndpoint, error) { return p.B.Fabric.OpenPassiveEndpoint(p.B.Info) })
	refuse(t, "Listen without an event queue", pep.Listen(), core.ErrNoEQ, core.ErrOpBadState, core.ErrInval)
	p.B.ok("Close", pep.Close())
	if n, err := p.B.PEP.GetOpt(core.OptCMDataSize); n != 256 || err != nil {
		t.Errorf("listener's OptCMDataSize: %d, %v; want 256", n, err)
	}
	refuse(t, "setopt of the listener", p.B.PEP.SetOpt(core.OptCMDataSize, 8), core.ErrNoProtoOpt, core.ErrNoSys)
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 10, 1)
}

// cmAbandoned leaves connection requests without an answer. The connecting side gets an error.
func cmAbandoned(t *testing.T, st Stack) {
	p := listener(t, st)
	p.A.ok("Connect", p.A.EP.Connect(p.B.Addr, nil))
	req := p.B.WantEvent(core.EventConnReq)
	ep := must(t, "OpenEndpoint", func() (*core.Endpoint, error) { return p.B.Domain.OpenEndpoint(req.Info) })
	p.B.ok("Close of an endpoint that was not accepted", ep.Close())
	p.A.WantEventAny(core.EventShutdown)
	p.Forget()
	p.A.CloseEP()

	p.A.openEP(p.A.Info)
	p.A.ok("Connect", p.A.EP.Connect(p.B.Addr, nil))
	p.B.WantEvent(core.EventConnReq)
	p.B.ok("Close of the listener", p.B.PEP.Close())
	p.B.PEP = nil
	p.A.WantEventAny(core.EventShutdown)
	p.Forget()
	p.A.CloseEP()

	p.listen()
	p.A.openEP(p.A.Info)
	p.Connect(nil, nil)
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 10, 1)
}

// cmCloseConnecting closes endpoints that are still connecting. The listener still works.
func cmCloseConnecting(t *testing.T, st Stack) {
	p := listener(t, st)
	for i := range 20 {
		p.A.ok("Connect", p.A.EP.Connect(p.B.Addr, nil))
		if i%2 == 0 {
			p.B.pumpEQ()
		}
		p.A.CloseEP()
		p.A.openEP(p.A.Info)
	}
	p.A.ok("Connect", p.A.EP.Connect(p.B.Addr, []byte("the last")))
	for {
		req := p.B.WantEvent(core.EventConnReq)
		if string(req.CMData) == "the last" {
			p.B.openEP(req.Info)
			p.B.ok("Accept", p.B.EP.Accept(nil))
			break
		}
		// The sender of the request is gone. Both answers must be possible.
		_ = p.B.PEP.Reject(req.Info.Handle, nil)
	}
	p.A.WantEvent(core.EventConnected)
	p.B.WantEvent(core.EventConnected)
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 10, 1)
}
