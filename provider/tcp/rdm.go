package tcp

import (
	"math/rand/v2"
	"net/netip"

	"gofabric/core"
	"gofabric/internal/netx"
	"gofabric/provider/tcp/engine"
)

// rdmEndpoint is a reliable-datagram endpoint: a listener, and a connection to each peer that it talks to.
type rdmEndpoint struct {
	endpoint
	transmitter
	receiver
	core.NoAtomic

	own   *engine.RxContext
	cfg   *engine.Config
	l     *listener
	av    *addressVector
	id    uint32 // names this endpoint's incarnation to peers, in the place of native's process id
	stop  func() // ends the subscription to the address vector
	peers peerTable
	aliases
}

func openRDM(d *domain, info *core.Info) (*rdmEndpoint, error) {
	ep := &rdmEndpoint{cfg: d.s.config(max(info.Tx.Size, 1))}
	ep.init(d, info)
	// Peers tell a restarted endpoint from the one before by this number. Native uses the process id, which is 1 in every container.
	ep.id = rand.Uint32() | 1
	a, err := listenAddr(info)
	if err == nil {
		ep.l, err = openListener(d.s, a)
	}
	if err != nil {
		return nil, opError("fi_endpoint", info.SrcAddr.IP.String(), noPeer, err, "the address must be one of this host and the port free; see FI_TCP_IFACE and FI_TCP_PORT_LOW_RANGE")
	}
	ep.l.accepted = ep.accepted
	ep.own = engine.NewRxContext(&d.pool, rxSink{endpoint: &ep.endpoint})
	configureRx(ep.own, d.s, info.Rx)
	ep.transmitter = transmitter{e: &ep.endpoint, r: ep, noTagged: info.Caps&core.CapTagged == 0}
	ep.receiver = receiver{dom: d, rx: ep.own, sources: info.Caps&core.CapDirectedRecv != 0,
		quiet:    func() bool { return ep.rxQuiet },
		ready:    ep.canReceive,
		flags:    func() core.Flags { return ep.rxFlags },
		noTagged: info.Caps&core.CapTagged == 0, noMulti: info.Caps&core.CapMultiRecv == 0,
	}
	ep.ends = ep.endsOf
	ep.peers.init()
	d.refs.Add(1)
	return ep, nil
}

func (ep *rdmEndpoint) canReceive() error {
	if !ep.enabled {
		return core.ErrOpBadState
	}
	return nil
}

// endsOf returns the addresses of the connection to a peer.
func (ep *rdmEndpoint) endsOf(src uint64) (local, peer netip.AddrPort) {
	local = ep.l.local
	if ep.av == nil || src == engine.AnySource {
		return local, noPeer
	}
	if a, err := ep.av.Lookup(core.FIAddr(src)); err == nil {
		return local, a.IP
	}
	return local, noPeer
}

// BindAV binds the vector that destinations index (fi_ep_bind(3)).
func (ep *rdmEndpoint) BindAV(v core.AddressVector, _ core.Flags) error {
	av, ok := v.(*addressVector)
	if !ok || av.d != ep.d {
		return opError("fi_ep_bind", ep.name(), noPeer, core.ErrInval, "the address vector belongs to another domain")
	}
	ep.prog.Lock()
	if ep.av != nil {
		ep.prog.Unlock()
		return opError("fi_ep_bind", ep.name(), noPeer, core.ErrInval, "there is an address vector already")
	}
	ep.av = av
	ep.prog.Unlock()
	av.Ref()
	ep.stop = ep.watch(av)
	return nil
}

// BindSRX refuses, as natively: an RDM endpoint has a receive context of its own that all its peers share.
func (ep *rdmEndpoint) BindSRX(core.SharedRx) error {
	return opError("fi_ep_bind", ep.name(), noPeer, core.ErrNoSys, "RDM endpoints of tcp take no shared receive context")
}

// Enable starts listening (fi_enable(3)).
func (ep *rdmEndpoint) Enable() error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.enabled {
		return opError("fi_enable", ep.name(), noPeer, core.ErrOpBadState, "the endpoint is enabled already")
	}
	if ep.av == nil {
		return opError("fi_enable", ep.name(), noPeer, core.ErrNoAV, "bind an address vector first")
	}
	if err := ep.needsCQ(); err != nil {
		return err
	}
	if err := ep.l.listen(ep.prog); err != nil {
		return opError("fi_enable", ep.l.local.String(), noPeer, err, "another listener may hold the port")
	}
	ep.enabled = true
	return nil
}

// Cancel cancels a receive, or a send that has not begun.
func (ep *rdmEndpoint) Cancel(ctx core.Context) error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.own.Cancel(uint64(ctx)) {
		return nil
	}
	for p := range ep.peers.all {
		if p.st.conn.Cancel(uint64(ctx)) {
			return nil
		}
	}
	return core.ErrNoEnt
}

// Name is the address that peers insert into their vectors (fi_getname(3)).
func (ep *rdmEndpoint) Name() (core.Addr, error) {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	return core.IPAddr(ep.l.local), nil
}

// SetName changes the address, before Enable.
func (ep *rdmEndpoint) SetName(a core.Addr) error {
	if !a.IP.IsValid() {
		return opError("fi_setname", ep.name(), noPeer, core.ErrInval, "the name must be an IP address")
	}
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.enabled || ep.closed {
		return opError("fi_setname", ep.name(), noPeer, core.ErrOpBadState, "set the name before Enable")
	}
	l, err := openListener(ep.d.s, a.IP)
	if err != nil {
		return opError("fi_setname", a.IP.String(), noPeer, err, "the address must be one of this host and the port free")
	}
	ep.l.close()
	l.accepted = ep.accepted
	ep.l = l
	return nil
}

// The connection calls are for MSG endpoints.
func (ep *rdmEndpoint) Peer() (core.Addr, error)        { return core.Addr{}, core.ErrNoSys }
func (ep *rdmEndpoint) Connect(core.Addr, []byte) error { return core.ErrNoSys }
func (ep *rdmEndpoint) Accept([]byte) error             { return core.ErrNoSys }
func (ep *rdmEndpoint) Shutdown() error                 { return core.ErrNoSys }

func (ep *rdmEndpoint) GetOpt(opt core.EPOpt) (int, error) {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	return getSizeOpt(&ep.endpoint, ep.own, opt)
}

func (ep *rdmEndpoint) SetOpt(opt core.EPOpt, value int) error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	return setRxOpt(&ep.endpoint, ep.own, opt, value)
}

// Alias opens a second door to the endpoint (fi_ep_alias(3)).
func (ep *rdmEndpoint) Alias(flags core.Flags) (core.Endpoint, error) {
	return makeAlias(ep, &ep.endpoint, &ep.transmitter, &ep.receiver, &ep.aliases, flags)
}

// Close closes the endpoint and its connections; what is staged is sent as far as the sockets take it at once.
func (ep *rdmEndpoint) Close() error {
	ep.prog.Lock()
	if ep.closed {
		ep.prog.Unlock()
		return core.ErrBadF
	}
	if ep.aliased() {
		ep.prog.Unlock()
		return opError("fi_close", ep.name(), noPeer, core.ErrBusy, "close its aliases first")
	}
	ep.closed, ep.enabled = true, false
	ep.l.close()
	for p := range ep.peers.all {
		p.end()
	}
	ep.peers.init()
	ep.own.Release()
	av, stop := ep.av, ep.stop
	ep.prog.Unlock()
	if stop != nil {
		stop()
	}
	if av != nil {
		av.Unref()
	}
	ep.unbind()
	ep.d.refs.Add(-1)
	return nil
}

// end closes a connection for good.
func (p *peer) end() {
	p.waiting = false
	if p.st.fd != netx.NoFD {
		p.st.flush()
	}
	p.st.conn.Drop(engine.ErrClosed)
	p.st.close()
}
