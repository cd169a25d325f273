package tcp

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"gofabric/core"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/provider/tcp/engine"
)

// msgEndpoint is a connected endpoint (FI_EP_MSG).
type msgEndpoint struct {
	endpoint
	transmitter
	receiver
	core.NoAtomic

	srx   *sharedRx
	own   *engine.RxContext
	st    *stream
	req   *connRequest // opened from a connection request
	state msgState
	aliases
}

// msgState is where the connection of a msgEndpoint stands.
type msgState uint8

const (
	msgIdle msgState = iota
	msgConnecting
	msgConnected
	msgShutdown
)

func openMsg(d *domain, info *core.Info) (*msgEndpoint, error) {
	ep := &msgEndpoint{}
	ep.init(d, info)
	if info.Handle != nil {
		req, ok := info.Handle.(*connRequest)
		if !ok {
			return nil, opError("fi_endpoint", ep.name(), noPeer, core.ErrInval, "the Info's handle is not a connection request of tcp")
		}
		if !req.take() {
			return nil, opError("fi_endpoint", ep.name(), req.peer, core.ErrInval, "the connection request was answered already, or its passive endpoint closed")
		}
		ep.req = req
	}
	ep.own = engine.NewRxContext(&d.pool, ep)
	configureRx(ep.own, d.s, info.Rx)
	ep.transmitter = transmitter{e: &ep.endpoint, r: ep, noTagged: info.Caps&core.CapTagged == 0}
	ep.receiver = receiver{dom: d, rx: ep.own,
		quiet:    func() bool { return ep.rxQuiet },
		ready:    ep.canReceive,
		flags:    func() core.Flags { return ep.rxFlags },
		noTagged: info.Caps&core.CapTagged == 0, noMulti: info.Caps&core.CapMultiRecv == 0,
	}
	ep.ends = func(uint64) (local, peer netip.AddrPort) {
		if ep.st != nil {
			return ep.st.local, ep.st.peer
		}
		return noPeer, noPeer
	}
	d.refs.Add(1)
	return ep, nil
}

// configureRx sets the limits of a receive context.
func configureRx(rx *engine.RxContext, s *settings, attr *core.RxAttr) {
	rx.Limit, rx.PeerLimit, rx.PeerMessages = s.unexpBytes, max(s.unexpBytes/4, 4096), s.maxSaved
	rx.MinMulti = minMultiDefault
	if attr != nil && attr.Size > 0 {
		rx.Depth = attr.Size
	}
}

func (ep *msgEndpoint) canReceive() error {
	if !ep.enabled {
		return core.ErrOpBadState
	}
	if ep.srx != nil {
		return core.ErrOpNotSupp // receives are posted to the shared context (fi_srx_context(3))
	}
	if ep.state == msgShutdown && ep.own.Unexpected() == 0 {
		return core.ErrNotConn // nothing will come; natively the receive would wait for ever
	}
	return nil
}

// BindAV refuses: a connected endpoint has one peer.
func (ep *msgEndpoint) BindAV(core.AddressVector, core.Flags) error {
	return opError("fi_ep_bind", ep.name(), noPeer, core.ErrInval, "MSG endpoints take no address vector")
}

// BindSRX makes the endpoint receive into buffers of a shared context.
func (ep *msgEndpoint) BindSRX(s core.SharedRx) error {
	srx, ok := s.(*sharedRx)
	if !ok || srx.dom != ep.d {
		return opError("fi_ep_bind", ep.name(), noPeer, core.ErrInval, "the shared receive context belongs to another domain")
	}
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.srx != nil || ep.enabled {
		return opError("fi_ep_bind", ep.name(), noPeer, core.ErrInval, "bind one shared receive context, before Enable")
	}
	ep.srx = srx
	srx.bound(ep)
	return nil
}

func (ep *msgEndpoint) rxContext() *engine.RxContext {
	if ep.srx != nil {
		return ep.srx.rx
	}
	return ep.own
}

// Enable makes the endpoint ready for receives and a connection (fi_enable(3)).
func (ep *msgEndpoint) Enable() error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.enabled {
		return opError("fi_enable", ep.name(), noPeer, core.ErrOpBadState, "the endpoint is enabled already")
	}
	if ep.eq == nil {
		return opError("fi_enable", ep.name(), noPeer, core.ErrNoEQ, "bind an event queue first")
	}
	if err := ep.needsCQ(); err != nil {
		return err
	}
	ep.enabled = true
	return nil
}

// route implements router: there is one way.
func (ep *msgEndpoint) route(core.FIAddr) (*stream, error) {
	if ep.state != msgConnected {
		if ep.state == msgShutdown {
			return nil, core.ErrNotConn
		}
		return nil, core.ErrOpBadState
	}
	return ep.st, nil
}

// Connect starts a connection (fi_connect(3)).
func (ep *msgEndpoint) Connect(dest core.Addr, param []byte) error {
	if len(param) > cmDataMax {
		return opError("fi_connect", ep.name(), dest.IP, core.ErrInval, "private data is at most 256 bytes")
	}
	if dest.Format != core.FormatSockaddrIn && dest.Format != core.FormatSockaddrIn6 || !dest.IP.IsValid() || dest.IP.Port() == 0 {
		return opError("fi_connect", ep.name(), dest.IP, core.ErrInval, "the destination must be an IP address and port")
	}
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if !ep.enabled || ep.state != msgIdle || ep.req != nil {
		return opError("fi_connect", ep.name(), dest.IP, core.ErrOpBadState, "Connect takes an enabled endpoint, once")
	}
	data := append([]byte(nil), param...)
	conn := engine.NewActive(&ep.d.pool, ep.d.s.config(ep.info.Tx.Size), ep.rxContext(), ep.d, ep, int64(mono.Now()))
	st := &stream{conn: conn, fd: netx.NoFD, peer: dest.IP}
	conn.User = st
	st.open = func() { conn.Start(data) }
	if err := st.dial(ep.d, ep.info.SrcAddr, ep.info.Tx.TClass); err != nil {
		return opError("fi_connect", ep.name(), dest.IP, err, "check the address and FI_TCP_IFACE")
	}
	ep.st, ep.state = st, msgConnecting
	return nil
}

// Accept takes the connection that the endpoint was opened for (fi_accept(3)).
func (ep *msgEndpoint) Accept(param []byte) error {
	if len(param) > cmDataMax {
		return opError("fi_accept", ep.name(), noPeer, core.ErrInval, "private data is at most 256 bytes")
	}
	ep.prog.Lock()
	if !ep.enabled || ep.req == nil || ep.state != msgIdle {
		ep.prog.Unlock()
		return opError("fi_accept", ep.name(), noPeer, core.ErrOpBadState, "Accept takes an enabled endpoint that was opened from a connection request, once")
	}
	ep.state = msgConnecting
	req := ep.req
	ep.prog.Unlock()

	st := req.release() // out of the listener's engine, whose lock comes first
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if st == nil {
		ep.state = msgShutdown
		return opError("fi_accept", ep.name(), req.peer, core.ErrConnAborted, "the peer gave up meanwhile")
	}
	if ep.closed {
		st.close()
		return opError("fi_accept", ep.name(), req.peer, core.ErrOpBadState, "the endpoint was closed")
	}
	ep.st = st
	st.conn.User = st
	st.conn.Attach(&ep.d.pool, ep.d.s.config(ep.info.Tx.Size), ep.rxContext(), ep.d, ep)
	if err := st.attach(ep.prog, ep.d.bufs, netx.In); err != nil {
		st.close()
		ep.state = msgShutdown
		return opError("fi_accept", ep.name(), req.peer, err, "")
	}
	st.conn.Accept(param)
	st.updateDeadline()
	st.setWant()
	st.flush()
	return nil
}

// dial opens a socket towards s.peer and registers it; its conn must be in state Opening.
func (s *stream) dial(d *domain, src core.Addr, tclass core.TrafficClass) error {
	fd, err := netx.StreamSocket(netx.Family(s.peer.Addr()))
	if err != nil {
		return err
	}
	s.fd = fd
	fail := func(err error) error {
		s.close()
		return err
	}
	if err := configure(fd, d.s, dscp(tclass), s.peer.Addr()); err != nil {
		return fail(err)
	}
	if a := src.IP.Addr(); a.IsValid() && !a.IsUnspecified() && a.Is4() == s.peer.Addr().Unmap().Is4() {
		if err := netx.Bind(fd, netip.AddrPortFrom(a, 0)); err != nil {
			return fail(err)
		}
	}
	switch err := netx.Connect(fd, s.peer); err {
	case nil, unix.EINPROGRESS:
	default:
		return fail(err)
	}
	if err := s.attach(d.prog, d.bufs, netx.Out); err != nil {
		return fail(err)
	}
	return nil
}

// dscp returns the type-of-service byte of a traffic class: DSCP values as given, labels as RFC 4594 maps such traffic.
func dscp(tc core.TrafficClass) int {
	if tc&core.TCDSCP != 0 {
		return int(tc&0x3f) << 2
	}
	switch tc {
	case core.TCLowLatency, core.TCDedicatedAccess:
		return 46 << 2 // expedited forwarding
	case core.TCBulkData:
		return 10 << 2 // AF11
	case core.TCScavenger:
		return 1 << 2 // lower effort, RFC 8622
	case core.TCNetworkCtrl:
		return 48 << 2 // CS6
	}
	return 0
}

// Requested implements engine.Sink; requests arrive at listeners only.
func (ep *msgEndpoint) Requested(*engine.Conn, []byte) {}

// Connected implements engine.Sink.
func (ep *msgEndpoint) Connected(c *engine.Conn, data []byte) {
	ep.state = msgConnected
	ep.eq.Push(core.EQEvent{Type: core.EventConnected, Object: ep, CMData: append([]byte(nil), data...)})
}

// Failed implements engine.Sink: a connection that was not up yet is an error event, the end of one that was is a shutdown event.
func (ep *msgEndpoint) Failed(c *engine.Conn, err error, data []byte) {
	was := ep.state
	ep.state = msgShutdown
	st := ep.st
	if st != nil {
		st.close()
	}
	if ep.closed {
		return
	}
	if was == msgConnecting {
		local, peer := ep.ends(0)
		ep.eq.PushErr(core.EQErrEntry{Object: ep, Err: errnoOf(err), ProvErrno: provErrno(err), ErrData: append([]byte(nil), data...),
			Detail: detail("connect", local, peer, err)})
	} else {
		ep.eq.Push(core.EQEvent{Type: core.EventShutdown, Object: ep})
	}
	if ep.srx == nil {
		ep.own.Flush(&canceledBy{err})
	}
}

// Resumed implements engine.Sink.
func (ep *msgEndpoint) Resumed(*engine.Conn) { ep.st.setWant() }

// Shutdown ends the connection (fi_shutdown(3)).
func (ep *msgEndpoint) Shutdown() error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.state != msgConnected && ep.state != msgConnecting {
		return opError("fi_shutdown", ep.name(), noPeer, core.ErrNotConn, "")
	}
	ep.st.flush()
	if ep.st.fd != netx.NoFD {
		netx.Shutdown(ep.st.fd, unix.SHUT_RDWR)
	}
	ep.st.conn.Fail(engine.ErrClosed)
	return nil
}

// Cancel cancels a receive, or a send that has not begun.
func (ep *msgEndpoint) Cancel(ctx core.Context) error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.srx == nil && ep.own.Cancel(uint64(ctx)) {
		return nil
	}
	if ep.st != nil && ep.st.conn.Cancel(uint64(ctx)) {
		return nil
	}
	return core.ErrNoEnt
}

// Name is the local address of the connection, or what the endpoint was opened with.
func (ep *msgEndpoint) Name() (core.Addr, error) {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.st != nil && ep.st.local.IsValid() {
		return core.IPAddr(ep.st.local), nil
	}
	if !ep.info.SrcAddr.IsZero() {
		return ep.info.SrcAddr, nil
	}
	return core.Addr{}, opError("fi_getname", ep.name(), noPeer, core.ErrAddrNotAvail, "the endpoint is not connected")
}

// SetName sets the address to connect from; not after Connect.
func (ep *msgEndpoint) SetName(a core.Addr) error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.state != msgIdle {
		return opError("fi_setname", ep.name(), noPeer, core.ErrOpBadState, "set the name before Connect")
	}
	if !a.IP.IsValid() {
		return opError("fi_setname", ep.name(), noPeer, core.ErrInval, "the name must be an IP address")
	}
	ep.info.SrcAddr = a
	return nil
}

// Peer is the address of the connection's other end (fi_getpeer(3)).
func (ep *msgEndpoint) Peer() (core.Addr, error) {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.state != msgConnected {
		return core.Addr{}, opError("fi_getpeer", ep.name(), noPeer, core.ErrNotConn, "")
	}
	return core.IPAddr(ep.st.peer), nil
}

// GetOpt and SetOpt are fi_getopt and fi_setopt (fi_endpoint(3)).
func (ep *msgEndpoint) GetOpt(opt core.EPOpt) (int, error) {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	switch opt {
	case core.OptCMDataSize:
		return cmDataMax, nil
	}
	return getSizeOpt(&ep.endpoint, ep.rxContext(), opt)
}

func (ep *msgEndpoint) SetOpt(opt core.EPOpt, value int) error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	return setRxOpt(&ep.endpoint, ep.rxContext(), opt, value)
}

// Close closes the endpoint; what is under way ends without completion (fi_close(3)).
func (ep *msgEndpoint) Close() error {
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
	req := ep.req
	if ep.st != nil {
		ep.st.flush()
		ep.st.conn.Drop(engine.ErrClosed)
		ep.st.close()
	}
	ep.own.Release()
	ep.state = msgShutdown
	if ep.eq != nil {
		ep.eq.PurgeObject(ep)
	}
	if ep.srx != nil {
		ep.srx.unbound(ep)
	}
	ep.prog.Unlock()
	if req != nil {
		req.abandon()
	}
	ep.unbind()
	ep.d.refs.Add(-1)
	return nil
}

// Alias opens a second door to the endpoint (fi_ep_alias(3)).
func (ep *msgEndpoint) Alias(flags core.Flags) (core.Endpoint, error) {
	return makeAlias(ep, &ep.endpoint, &ep.transmitter, &ep.receiver, &ep.aliases, flags)
}
