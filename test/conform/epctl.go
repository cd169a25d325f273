package conform

// Endpoint control (fi_endpoint(3)): states, binds, options, objects in use.

import (
	"errors"
	"testing"

	"gofabric/core"
)

func testControl(t *testing.T, st Stack) {
	t.Run("states", func(t *testing.T) { epStates(t, st) })
	t.Run("missing", func(t *testing.T) { epMissing(t, st) })
	t.Run("binds", func(t *testing.T) { epBinds(t, st) })
	t.Run("busy", func(t *testing.T) { epBusy(t, st) })
	t.Run("options", func(t *testing.T) { epOptions(t, st) })
	t.Run("cancel", func(t *testing.T) { cancel(t, st, false) })
	t.Run("atomics", func(t *testing.T) { atomicsRefused(t, st) })
	t.Run("caps", func(t *testing.T) { capsRefused(t, st) })
}

// epStates makes data transfer calls on an endpoint that is not enabled.
func epStates(t *testing.T, st Stack) {
	caps := allCaps(t, st)
	p := Open(t, st, WithCaps(caps))
	a := p.A
	ep := must(t, "OpenEndpoint", func() (*core.Endpoint, error) { return a.Domain.OpenEndpoint(a.Info) })
	b := make([]byte, 8)
	dest := core.FIAddr(0)
	bad := core.ErrOpBadState
	refuse(t, "send before Enable", ep.Send(b, 0, dest, 1), bad)
	refuse(t, "sendmsg before Enable", ep.SendMsg(&core.MsgArgs{IOV: [][]byte{b}, Addr: dest}, 0), bad)
	refuse(t, "inject before Enable", ep.Inject(b, dest), bad)
	if !st.SharedRx {
		refuse(t, "recv before Enable", ep.Recv(b, 0, core.AddrUnspec, 1), bad)
		refuse(t, "recvv before Enable", ep.RecvV([][]byte{b}, nil, core.AddrUnspec, 1), bad)
	}
	if caps&core.CapTagged != 0 {
		refuse(t, "tsend before Enable", ep.TSend(b, 0, dest, 1, 1), bad)
	}
	if caps&core.CapRMA != 0 {
		refuse(t, "read before Enable", ep.Read(b, 0, dest, 0, 1, 1), bad)
		refuse(t, "write before Enable", ep.Write(b, 0, dest, 0, 1, 1), bad)
		refuse(t, "inject_write before Enable", ep.InjectWrite(b, dest, 0, 1), bad)
	}
	a.ok("Close of an endpoint that was never enabled", ep.Close())
	if st.EPType != core.EPTypeMsg {
		return
	}
	ep = must(t, "OpenEndpoint", func() (*core.Endpoint, error) { return a.Domain.OpenEndpoint(a.Info) })
	a.BindAll(ep)
	a.ok("Enable", ep.Enable())
	if err := ep.Send(b, 0, 0, 1); err == nil {
		// Native queues the send. It must not succeed before there is a connection.
		p.WantNone(a)
	} else {
		refuse(t, "send before connect", err, core.ErrOpBadState, core.ErrNotConn, core.ErrAgain)
	}
	a.ok("Close of an endpoint that was never connected", ep.Close())
	p.Forget()
}

// epMissing enables endpoints without objects that they need.
func epMissing(t *testing.T, st Stack) {
	p := Open(t, st)
	a := p.A
	open := func() *core.Endpoint {
		return must(t, "OpenEndpoint", func() (*core.Endpoint, error) { return a.Domain.OpenEndpoint(a.Info) })
	}
	bindRest := func(ep *core.Endpoint) {
		if a.EQ != nil {
			a.ok("BindEQ", ep.BindEQ(a.EQ, 0))
		}
		if a.SRX != nil {
			a.ok("BindSRX", ep.BindSRX(a.SRX))
		}
		if a.AV != nil {
			a.ok("BindAV", ep.BindAV(a.AV, 0))
		}
	}
	ep := open()
	bindRest(ep)
	refuse(t, "Enable without a queue", ep.Enable(), core.ErrNoCQ)
	a.ok("Close", ep.Close())
	ep = open()
	bindRest(ep)
	a.ok("BindCQ", ep.BindCQ(a.TxCQ, core.BindTransmit))
	refuse(t, "Enable without a receive queue", ep.Enable(), core.ErrNoCQ)
	a.ok("BindCQ", ep.BindCQ(a.TxCQ, core.BindRecv))
	a.ok("Enable, now that nothing is missing", ep.Enable())
	a.ok("Close", ep.Close())
	if a.AV != nil {
		ep = open()
		a.ok("BindCQ", ep.BindCQ(a.TxCQ, core.BindTransmit|core.BindRecv))
		refuse(t, "Enable without a vector", ep.Enable(), core.ErrNoAV, core.ErrOpBadState)
		a.ok("Close", ep.Close())
	} else {
		ep = open()
		a.ok("BindCQ", ep.BindCQ(a.TxCQ, core.BindTransmit|core.BindRecv))
		if a.SRX != nil {
			a.ok("BindSRX", ep.BindSRX(a.SRX))
		}
		if err := ep.Enable(); err != nil {
			refuse(t, "Enable without an event queue", err, core.ErrNoEQ, core.ErrOpBadState)
		} else {
			refuse(t, "Connect without an event queue", ep.Connect(p.B.Addr, nil), core.ErrNoEQ,
				core.ErrOpBadState, core.ErrInval)
		}
		a.ok("Close", ep.Close())
	}
}

// epBinds checks that wrong binds are refused.
func epBinds(t *testing.T, st Stack) {
	p := Open(t, st)
	a := p.A
	ep := must(t, "OpenEndpoint", func() (*core.Endpoint, error) { return a.Domain.OpenEndpoint(a.Info) })
	refuse(t, "BindCQ with a flag that is no direction", ep.BindCQ(a.TxCQ, core.BindTransmit|(1<<16)), core.ErrBadFlags)
	a.ok("BindCQ", ep.BindCQ(a.TxCQ, core.BindTransmit|core.BindRecv))
	refuse(t, "second queue for transmits", ep.BindCQ(a.TxCQ, core.BindTransmit), core.ErrInval)
	refuse(t, "second queue for receives", ep.BindCQ(a.TxCQ, core.BindRecv), core.ErrInval)
	if a.AV != nil {
		a.ok("BindAV", ep.BindAV(a.AV, 0))
		refuse(t, "second vector", ep.BindAV(a.AV, 0), core.ErrInval)
	}
	if !st.OneDomain { // objects of another domain
		other := must(t, "OpenEndpoint", func() (*core.Endpoint, error) { return a.Domain.OpenEndpoint(a.Info) })
		refuse(t, "BindCQ of another domain's queue",
			other.BindCQ(p.B.TxCQ, core.BindTransmit), core.ErrInval, core.ErrDomain)
		a.ok("Close", other.Close())
	}
	a.ok("Close", ep.Close())
}

// epBusy closes objects in use (FI_EBUSY), then in the right order.
func epBusy(t *testing.T, st Stack) {
	caps := allCaps(t, st)
	p := Open(t, st, WithCaps(caps))
	a := p.A
	busy := func(what string, o core.Object) {
		t.Helper()
		refuse(t, "Close of a "+what+" in use", o.Close(), core.ErrBusy)
	}
	busy("completion queue", a.TxCQ)
	busy("domain", a.Domain)
	busy("fabric", a.Fabric)
	if a.AV != nil {
		busy("vector", a.AV)
	}
	if a.EQ != nil {
		busy("event queue", a.EQ)
	}
	if a.SRX != nil {
		busy("shared receive context", a.SRX)
	}
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 10, 1) // the refused closes have changed nothing
	if caps&core.CapRMA != 0 && !st.OneDomain {
		mr := a.Reg(make([]byte, 8), allAccess)
		a.CloseEP()
		busy("domain", a.Domain)
		a.ok("Close MR", mr.Close())
	}
	p.Forget()
	parentsBusy(t, st)
}

// parentsBusy opens one object after another. While it is open, its domain and its fabric are in use.
func parentsBusy(t *testing.T, st Stack) {
	info := must(t, "GetInfo", func() (*core.Info, error) { return st.info("", st.hints(core.CapMsg)) })
	f := st.open(t, info)
	ok := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	object := func(o core.Object, err error) core.Object {
		t.Helper()
		if errors.Is(err, core.ErrNoSys) || errors.Is(err, core.ErrOpNotSupp) {
			return nil // some providers have no counters, or no wait sets
		}
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	for _, c := range []struct {
		what string
		open func(d *core.Domain) core.Object
	}{
		{"completion queue", func(d *core.Domain) core.Object { return object(d.OpenCQ(core.CQAttr{Format: core.CQFormatContext})) }},
		{"counter", func(d *core.Domain) core.Object { return object(d.OpenCounter(core.CntrAttr{})) }},
		{"poll set", func(d *core.Domain) core.Object { return object(d.OpenPoll(core.PollAttr{})) }},
		{"vector", func(d *core.Domain) core.Object { return object(d.OpenAV(core.AVAttr{})) }},
		{"endpoint that is not enabled", func(d *core.Domain) core.Object { return object(d.OpenEndpoint(info)) }},
		{"event queue", func(*core.Domain) core.Object { return object(f.OpenEQ(core.EQAttr{})) }},
		{"wait set", func(*core.Domain) core.Object { return object(f.OpenWait(core.WaitAttr{WaitObj: core.WaitUnspec})) }},
	} {
		if c.what == "vector" && st.EPType == core.EPTypeMsg || c.what == "counter" && info.Domain.CntrCnt == 0 {
			continue // these endpoints have none
		}
		d := must(t, "OpenDomain", func() (*core.Domain, error) { return f.OpenDomain(info) })
		o := c.open(d)
		if o == nil {
			t.Logf("not offered: %s", c.what)
			ok("Close of the domain", d.Close())
			continue
		}
		if c.what != "event queue" && c.what != "wait set" { // those belong to the fabric
			refuse(t, "Close of a domain with a "+c.what, d.Close(), core.ErrBusy)
			refuse(t, "Close of a fabric with a domain", f.Close(), core.ErrBusy)
			ok("Close of a "+c.what, o.Close())
			ok("Close of the domain then", d.Close())
			continue
		}
		ok("Close of the domain", d.Close())
		refuse(t, "Close of a fabric with a "+c.what, f.Close(), core.ErrBusy)
		ok("Close of a "+c.what, o.Close())
	}
	ok("Close of the fabric", f.Close())
}

func epOptions(t *testing.T, st Stack) {
	p := Open(t, st)
	ep := p.A.EP
	if st.EPType == core.EPTypeMsg {
		if n, err := ep.GetOpt(core.OptCMDataSize); n != 256 || err != nil {
			t.Errorf("OptCMDataSize: %d, %v; want 256", n, err)
		}
		refuse(t, "setopt of OptCMDataSize", ep.SetOpt(core.OptCMDataSize, 8), core.ErrNoProtoOpt)
	}
	refuse(t, "getopt of OptXPUTrigger", second(ep.GetOpt(core.OptXPUTrigger)), core.ErrNoProtoOpt)
	refuse(t, "setopt of OptXPUTrigger", ep.SetOpt(core.OptXPUTrigger, 1), core.ErrNoProtoOpt)
	refuse(t, "getopt of an option that does not exist", second(ep.GetOpt(12345)), core.ErrNoProtoOpt)
	for _, f := range []func() (int, error){ep.TxSizeLeft, ep.RxSizeLeft} {
		if n, err := f(); err != nil {
			refuse(t, "size left", err, core.ErrNoSys, core.ErrOpNotSupp)
		} else if n <= 0 {
			t.Errorf("an idle endpoint has room for only %d operations", n)
		}
	}
	if st.EPType == core.EPTypeDgram { // DGRAM endpoints have no options, as in native
		return
	}
	// Sizes that can be read must equal those of the Info.
	longest, inject := p.A.Info.EP.MaxMsgSize, p.A.Info.Tx.InjectSize
	for o, want := range map[core.EPOpt]int{core.OptMaxMsgSize: longest, core.OptMaxTaggedSize: longest,
		core.OptMaxRMASize: longest, core.OptTxSize: p.A.Info.Tx.Size,
		core.OptInjectMsgSize: inject, core.OptInjectTaggedSize: inject, core.OptInjectRMASize: inject,
		core.OptInjectAtomicSize: inject} {
		if n, err := ep.GetOpt(o); err != nil || n != want {
			t.Errorf("option %d: %d, %v; the Info says %d", o, n, err, want)
		}
		refuse(t, "setopt of a size", ep.SetOpt(o, want), core.ErrNoProtoOpt)
	}
	if n, err := ep.GetOpt(core.OptMaxAtomicSize); err != nil || n < 8 {
		t.Errorf("OptMaxAtomicSize: %d, %v", n, err)
	}
	// Options for device memory, buffered receives and socket buffers are not supported by any stack.
	for _, o := range []core.EPOpt{core.OptBufferedMin, core.OptBufferedLimit, core.OptSendBufSize,
		core.OptRecvBufSize, core.OptHMemP2P, core.OptCUDAAPIPermitted, core.OptSharedMemoryPermitted} {
		refuse(t, "getopt", second(ep.GetOpt(o)), core.ErrNoProtoOpt)
		refuse(t, "setopt", ep.SetOpt(o, 1), core.ErrNoProtoOpt)
	}
	refuse(t, "setopt of a negative size", p.B.Rx().SetOpt(core.OptMinMultiRecv, -1), core.ErrInval)
}
