package rxm

import (
	"math/rand/v2"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/peers"
	"gofabric/internal/progress"
	"gofabric/internal/xnet/engine"
	"gofabric/util/rxm/wire"
)

// rdmEndpoint is a reliable-datagram endpoint: a listener below, and a connection to each peer that it talks to. Everything in it is guarded by the domain's lock.
type rdmEndpoint struct {
	endpoint.Endpoint
	endpoint.Transfers
	endpoint.Connectionless
	peers.Set
	d     *domain
	prog  *progress.Engine
	own   *engine.RxContext
	below *core.Info // what listener and connections are opened with, but for the address
	id    uint32     // names this endpoint's incarnation to peers, in the place of native's process id

	// For native peers.
	upper   *engine.Config
	memory  engine.Memory // what peers may access
	packets packets
}

var _ core.EndpointDriver = (*rdmEndpoint)(nil)

func openEndpoint(d *domain, info *core.Info) (*rdmEndpoint, error) {
	ep := &rdmEndpoint{d: d, prog: d.prog, below: info.Lower()}
	auth, err := d.KeyOf("fi_endpoint", info)
	if err != nil {
		return nil, err
	}
	ep.InitEndpoint(&d.Domain, info, ep.Ends)
	ep.SetAuth(auth)
	ep.SetLinger(d.s.linger)
	ep.own = engine.NewRxContext(d.Pool(), endpoint.RxSink{Endpoint: &ep.Endpoint})
	d.s.rxLimits().Apply(ep.own, info.Rx)
	ep.InitTransmitter(&ep.Endpoint, &ep.Set)
	ep.InitReceiver(&ep.Endpoint, ep.own, ep.CanReceive, info.Caps&core.CapDirectedRecv != 0)
	// Peers tell a restarted endpoint from the one before by this number. Native uses the process id, which is 1 in every container.
	ep.id = rand.Uint32() | 1
	ep.memory = auth.Memory(&d.Domain)
	cfg := d.conn(info)
	cfg.Auth = auth.EngineAuth()
	ep.InitSet(peers.Config{Endpoint: &ep.Endpoint, Below: d.below, Pool: d.Pool(), Conn: cfg,
		Rx: ep.own, Memory: ep.memory, Negotiator: (*negotiator)(ep), Patience: d.s.connectTimeout,
		MaxConns: d.s.maxConns, IdleTime: d.s.idleTime, Aux: d.s.conns - 1, AuxNegotiator: (*negotiator)(ep)})
	if d.s.conns > 1 {
		ep.SpreadRMA(&ep.Set)
	}
	ep.upper = d.s.upper(max(info.Tx.Size, 1))
	ep.packets.init(&d.pool, wire.MaxHeader+d.s.bufferSize)
	if err := ep.listenAt(info.SrcAddr); err != nil {
		return nil, ep.Refuse("fi_endpoint", endpoint.NoPeer, err, "the address must be one of this host and the port free")
	}
	ep.prog.Lock()
	d.eps[ep] = struct{}{}
	ep.prog.Unlock()
	ep.Opened(ep)
	return ep, nil
}

// listenAt binds a listener to a. Not locked, or before anybody knows the endpoint.
func (ep *rdmEndpoint) listenAt(a core.Addr) error {
	ep.below.SrcAddr = a
	l, err := ep.d.below.OpenListener(ep.below, ep.Acceptor())
	if err != nil {
		return err
	}
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.Enabled() || ep.Closed() {
		l.Close()
		return core.ErrOpBadState
	}
	ep.SetListener(l)
	return nil
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
		return ep.Refuse("fi_enable", endpoint.NoPeer, err, "another listener may hold the port "+ep.Local().String())
	}
	ep.SetEnabled()
	return nil
}

// Cancel cancels a receive, or a send that has not begun (fi_cancel(3)).
func (ep *rdmEndpoint) Cancel(ctx core.OpContext) error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if !ep.Shared() && ep.own.Cancel(uint64(ctx)) || ep.Set.Cancel(uint64(ctx)) || ep.CancelTriggered(ctx) {
		return nil
	}
	return core.ErrNoEnt
}

// Disconnect breaks off what is under way with a peer: it fails with ErrCanceled, and the next operation connects anew. libfabric has no such call; a
// caller that must take its buffers back at once finds it by a type assertion.
func (ep *rdmEndpoint) Disconnect(fi core.FIAddr) error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	return ep.Set.Disconnect(fi)
}

// Connections counts the connections that are up or on their way, those included that are being closed. libfabric has no such call.
func (ep *rdmEndpoint) Connections() int {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	n := 0
	for range ep.Conns {
		n++
	}
	return n
}

// Name is the address that peers insert into their vectors (fi_getname(3)).
func (ep *rdmEndpoint) Name() (core.Addr, error) {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	return core.IPAddr(ep.Local()), nil
}

// SetName changes the address, before Enable (fi_setname(3)).
func (ep *rdmEndpoint) SetName(a core.Addr) error {
	if !a.IP.IsValid() {
		return ep.Refuse("fi_setname", endpoint.NoPeer, core.ErrInval, "the name must be an IP address")
	}
	ep.prog.Lock()
	ready := !ep.Enabled() && !ep.Closed()
	ep.prog.Unlock()
	if !ready {
		return ep.Refuse("fi_setname", endpoint.NoPeer, core.ErrOpBadState, "set the name before Enable")
	}
	if err := ep.listenAt(a); err != nil {
		return ep.Refuse("fi_setname", endpoint.NoPeer, err, "the address must be one of this host and the port free")
	}
	return nil
}

// GetOpt is fi_getopt (fi_endpoint(3)).
func (ep *rdmEndpoint) GetOpt(opt core.EPOpt) (int, error) {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	return ep.Option(ep.own, opt)
}

// SetOpt is fi_setopt (fi_endpoint(3)).
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
	ep.packets.rx.Release()
	delete(ep.d.eps, ep)
	ep.prog.Unlock()
	ep.Unbind()
	return err
}
