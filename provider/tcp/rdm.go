package tcp

import (
	"math/rand/v2"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/peers"
)

// rdmEndpoint is a reliable-datagram endpoint: a listener, and a connection to each peer that it talks to.
type rdmEndpoint struct {
	baseEndpoint
	endpoint.Connectionless
	peers.Set
	id uint32 // names this endpoint's incarnation to peers, in the place of native's process id
}

func openRDM(d *domain, info *core.Info) (*rdmEndpoint, error) {
	ep := &rdmEndpoint{}
	if err := ep.init(d, info, ep.Ends, endpoint.RxSink{Endpoint: &ep.Endpoint}, &ep.Set); err != nil {
		return nil, err
	}
	ep.InitReceiver(&ep.Endpoint, ep.own, ep.CanReceive, info.Caps&core.CapDirectedRecv != 0)
	// Peers tell a restarted endpoint from the one before by this number. Native uses the process id, which is 1 in every container.
	ep.id = rand.Uint32() | 1
	ep.InitSet(peers.Config{Endpoint: &ep.Endpoint, Below: d, Pool: d.Pool(), Conn: ep.conn(max(info.Tx.Size, 1)), Rx: ep.own, Memory: ep.auth.Memory(&d.Domain),
		Negotiator: (*negotiator)(ep), Patience: d.s.connectTimeout})
	l, err := d.OpenListener(info, ep.Acceptor())
	if err != nil {
		return nil, opError("fi_endpoint", info.SrcAddr.IP.String(), noPeer, err, "the address must be one of this host and the port free; see FI_TCP_IFACE and FI_TCP_PORT_LOW_RANGE")
	}
	ep.SetListener(l)
	ep.Opened(ep)
	return ep, nil
}

// Bind binds an object (fi_ep_bind(3)): with a shared receive context the endpoint receives into buffers posted there.
func (ep *rdmEndpoint) Bind(obj any, flags core.BindFlags) error {
	switch x := obj.(type) {
	case *endpoint.AddressVector:
		if err := ep.Endpoint.Bind(x, flags); err != nil {
			return err
		}
		ep.Watch()
		return nil
	case *endpoint.SharedRx:
		rx, err := ep.TakeSRX(x)
		if err == nil {
			ep.own = rx
			ep.SetRx(rx)
		}
		return err
	}
	return ep.Endpoint.Bind(obj, flags)
}

// Enable starts listening (fi_enable(3)).
func (ep *rdmEndpoint) Enable() error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if err := ep.CheckEnable(endpoint.NeedsAV); err != nil {
		return err
	}
	if err := ep.Listen(); err != nil {
		return opError("fi_enable", ep.Local().String(), noPeer, err, "another listener may hold the port")
	}
	ep.SetEnabled()
	return nil
}

// Cancel cancels a receive, or a send that has not begun.
func (ep *rdmEndpoint) Cancel(ctx core.OpContext) error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if !ep.Shared() && ep.own.Cancel(uint64(ctx)) || ep.Set.Cancel(uint64(ctx)) || ep.CancelTriggered(ctx) {
		return nil
	}
	return core.ErrNoEnt
}

// Disconnect breaks off the connection to a peer: what is under way with it fails with ErrCanceled, and the next operation connects anew. libfabric has no
// such call; a caller that must take its buffers back at once finds it by a type assertion.
func (ep *rdmEndpoint) Disconnect(fi core.FIAddr) error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	return ep.Set.Disconnect(fi)
}

// Name is the address that peers insert into their vectors (fi_getname(3)).
func (ep *rdmEndpoint) Name() (core.Addr, error) {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	return core.IPAddr(ep.Local()), nil
}

// SetName changes the address, before Enable.
func (ep *rdmEndpoint) SetName(a core.Addr) error {
	if !a.IP.IsValid() {
		return ep.Refuse("fi_setname", noPeer, core.ErrInval, "the name must be an IP address")
	}
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.Enabled() || ep.Closed() {
		return ep.Refuse("fi_setname", noPeer, core.ErrOpBadState, "set the name before Enable")
	}
	l, err := ep.d.OpenListener(&core.Info{SrcAddr: a, Tx: ep.Info().Tx}, ep.Acceptor())
	if err != nil {
		return opError("fi_setname", a.IP.String(), noPeer, err, "the address must be one of this host and the port free")
	}
	ep.SetListener(l)
	return nil
}

// GetOpt and SetOpt are fi_getopt and fi_setopt (fi_endpoint(3)).
func (ep *rdmEndpoint) GetOpt(opt core.EPOpt) (int, error) {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	return ep.option(ep.own, opt)
}

func (ep *rdmEndpoint) SetOpt(opt core.EPOpt, value int) error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	return ep.SetOption(ep.own, opt, value)
}

// Alias opens a second door to the endpoint (fi_ep_alias(3)).
func (ep *rdmEndpoint) Alias(dir core.BindFlags, flags core.OpFlags) (core.EndpointDriver, error) {
	return ep.OpenAlias(ep, &ep.Transfers, dir, flags)
}

// Close closes the endpoint and its connections (fi_close(3)). What was sent is delivered first, for as long as OptLinger allows.
func (ep *rdmEndpoint) Close() error {
	ep.prog.Lock()
	if err := ep.BeginClose(); err != nil {
		ep.prog.Unlock()
		return err
	}
	err := ep.LetGo(&ep.Set)
	ep.Set.Close()
	ep.EndRx(ep.own)
	ep.prog.Unlock()
	ep.Unbind()
	return err
}
