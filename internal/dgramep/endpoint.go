package dgramep

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/progress"
	"gofabric/internal/queue"
	"gofabric/internal/transport/datagram"
	"gofabric/internal/xnet/engine"
)

// dgramEndpoint is a DGRAM endpoint. Its methods are safe for concurrent use. The domain's lock guards all fields
// that Open does not set.
type dgramEndpoint struct {
	endpoint.Endpoint
	endpoint.Connectionless
	transfers

	prog     *progress.Engine
	host     datagram.Domain
	port     datagram.Port
	lost     error // the error after which the port receives no more
	datapath int   // core.OptDatapath that was asked for, 0 if none

	sources                           bool // the source of each datagram is looked up
	rxSize, txSize, maxMsg, maxInject int

	posted  queue.FIFO[receive]
	rx      *queue.FIFO[receive] // posted receives, or those of the shared context; empty while early is not
	srx     *sharedRx
	early   early
	waiting queue.FIFO[send]
	groups  groups
	last    destination
	aliases int

	// Scratch of the current call.
	parts [maxIOV][]byte
	done  engine.Completion
}

var (
	_ core.EndpointDriver = (*dgramEndpoint)(nil)
	_ core.Multicaster    = (*dgramEndpoint)(nil)
	_ core.PlainSender    = (*dgramEndpoint)(nil)
	_ core.PlainReceiver  = (*dgramEndpoint)(nil)
)

// Open opens an endpoint with a port of d at info.SrcAddr (fi_endpoint(3)), so that it has a name at once. base is
// the endpoint.Domain in d. Not locked.
func Open(d datagram.Domain, base *endpoint.Domain, info *core.Info) (core.EndpointDriver, error) {
	e := &dgramEndpoint{prog: base.Progress(), host: d}
	if info == nil || info.EP == nil || info.Tx == nil || info.Rx == nil {
		e.InitEndpoint(base, core.NewHints(), e.ends)
		return nil, e.Refuse("fi_endpoint", endpoint.NoPeer, core.ErrInval, "pass an Info from GetInfo")
	}
	e.InitEndpoint(base, info, e.ends)
	if info.EP.Type != core.EPTypeDgram && info.EP.Type != core.EPTypeUnspec {
		return nil, e.Refuse("fi_endpoint", endpoint.NoPeer, core.ErrNoSys, "the provider has DGRAM endpoints only; add the layer ofi_rxd for RDM")
	}
	e.sends.e, e.receives.e, e.rx = e, e, &e.posted
	e.sources = info.Caps&core.CapSource != 0
	e.rxSize, e.txSize = max(info.Rx.Size, 1), max(info.Tx.Size, 1)
	e.maxMsg, e.maxInject = info.EP.MaxMsgSize, info.Tx.InjectSize
	if auth, err := base.KeyOf("fi_endpoint", info); auth != nil || err != nil {
		return nil, e.Refuse("fi_endpoint", endpoint.NoPeer, core.ErrOpNotSupp, "DGRAM endpoints have no authorization keys")
	}
	port, err := d.OpenPort(info, (*inbox)(e))
	if err != nil {
		return nil, err
	}
	e.prog.Lock()
	e.port = port
	e.prog.Unlock()
	e.Opened(e)
	return e, nil
}

// Bind binds an object (fi_ep_bind(3)). The port is informed of the addresses in an address vector. With a shared
// receive context, datagrams complete the receives posted there.
func (e *dgramEndpoint) Bind(obj any, flags core.BindFlags) error {
	switch x := obj.(type) {
	case *endpoint.AddressVector:
		if err := e.Endpoint.Bind(x, flags); err != nil {
			return err
		}
		e.WatchAV(func(_ core.FIAddr, a core.Addr) { datagram.Expect(e.port, a.IP) }, func(core.FIAddr) {})
		e.prog.Lock()
		defer e.prog.Unlock()
		datagram.ExpectAll(e.port, e.Known)
		return nil
	case *sharedRx:
		if _, err := e.TakeSRX(x.SharedRx); err != nil {
			return err
		}
		e.prog.Lock()
		e.srx = x
		e.prog.Unlock()
		return nil
	case core.SRXDriver:
		return e.Refuse("fi_ep_bind", endpoint.NoPeer, core.ErrInval, "the shared receive context is not for DGRAM endpoints")
	}
	return e.Endpoint.Bind(obj, flags)
}

// ends implements endpoint.Ends.
func (e *dgramEndpoint) ends(src uint64) (local, peer netip.AddrPort) {
	if e.port != nil {
		local = e.port.Local()
	}
	return local, e.SourceAddr(src)
}

// Enable allows data calls (fi_enable(3)).
func (e *dgramEndpoint) Enable() error {
	e.prog.Lock()
	defer e.prog.Unlock()
	if err := e.CheckEnable(endpoint.NeedsAV); err != nil {
		return err
	}
	e.SetEnabled()
	if e.srx != nil {
		e.srx.join(e)
	}
	return nil
}

// Name is the address that peers insert into their vectors (fi_getname(3)).
func (e *dgramEndpoint) Name() (core.Addr, error) {
	e.prog.Lock()
	defer e.prog.Unlock()
	if e.Closed() {
		return core.Addr{}, core.ErrBadF
	}
	return core.IPAddr(e.port.Local()), nil
}

// SetName changes the address before Enable (fi_setname(3)). Datagrams that came to the old address are kept.
func (e *dgramEndpoint) SetName(a core.Addr) error {
	var late error // error of closing the old port
	err := e.Rename(a, func(info *core.Info) (use, drop func(), err error) {
		if old, err := e.Name(); err == nil && old.IP == a.IP {
			return func() {}, func() {}, nil
		}
		port, err := e.host.OpenPort(info, (*inbox)(e))
		return func() {
			late = e.port.Close()
			e.port = port
			if e.datapath != 0 {
				datagram.SetDatapath(port, e.datapath) // the other interface may refuse AF_XDP; then the port uses sockets
			}
			datagram.ExpectAll(port, e.Known)
		}, func() { port.Close() }, err
	})
	if err != nil {
		return err
	}
	return late
}

// Cancel cancels a receive, or a send that waits for the port (fi_cancel(3)).
func (e *dgramEndpoint) Cancel(ctx core.OpContext) error {
	e.prog.Lock()
	defer e.prog.Unlock()
	for i := range e.posted.Len() {
		if e.posted.At(i).ctx == ctx {
			op := e.posted.Remove(i)
			e.failReceive(&op, engine.ErrCanceled)
			return nil
		}
	}
	for i := range e.waiting.Len() {
		if e.waiting.At(i).ctx == ctx {
			op := e.unwait(i)
			e.failSend(&op, engine.ErrCanceled)
			return nil
		}
	}
	return core.ErrNoEnt
}

// GetOpt supports one option, core.OptDatapath. Native's endpoints have none (fi_getopt(3)).
func (e *dgramEndpoint) GetOpt(opt core.EPOpt) (int, error) {
	e.prog.Lock()
	defer e.prog.Unlock()
	if opt != core.OptDatapath || e.Closed() {
		return 0, core.ErrNoProtoOpt
	}
	return datagram.Datapath(e.port)
}

// SetOpt sets that option.
func (e *dgramEndpoint) SetOpt(opt core.EPOpt, value int) error {
	e.prog.Lock()
	defer e.prog.Unlock()
	if opt != core.OptDatapath || e.Closed() {
		return core.ErrNoProtoOpt
	}
	err := datagram.SetDatapath(e.port, value)
	if err == nil {
		e.datapath = value
		datagram.ExpectAll(e.port, e.Known)
	}
	return err
}

// Close closes the endpoint (fi_close(3)). Posted receives and waiting sends end without completions. It returns
// ErrBusy while the endpoint has aliases or memberships.
func (e *dgramEndpoint) Close() error {
	e.prog.Lock()
	if e.aliases > 0 || e.groups.open > 0 {
		e.prog.Unlock()
		return e.Refuse("fi_close", endpoint.NoPeer, core.ErrBusy, "close its aliases and leave its multicast groups first")
	}
	if err := e.BeginClose(); err != nil {
		e.prog.Unlock()
		return err
	}
	err := e.port.Close()
	for e.waiting.Len() > 0 {
		e.unwait(0)
	}
	if e.srx != nil {
		e.srx.leave(e)
	}
	e.posted, e.waiting, e.early = queue.FIFO[receive]{}, queue.FIFO[send]{}, early{dropped: e.early.dropped}
	e.prog.Unlock()
	e.Unbind()
	return err
}
