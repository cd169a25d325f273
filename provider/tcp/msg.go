package tcp

import (
	"net/netip"
	"syscall"

	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/endpoint"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/xnet/engine"
)

// msgEndpoint is a connected endpoint (FI_EP_MSG).
type msgEndpoint struct {
	endpoint.Reliable
	d     *domain
	prog  *progress.Engine
	st    *tcpStream
	req   *connRequest // set if the endpoint was opened from a connection request
	bound boundSocket  // until Connect: the socket of a passive endpoint
	state msgState
	meter netx.Meter
	self  *core.Endpoint // the application's handle

	silent  bool  // CloseWrite was called: nothing more is sent
	leaving bool  // Shutdown or Close waits for the peer
	ended   error // why the peer sends no more; nil: it may
}

// boundSocket is a socket that is bound to an address.
type boundSocket struct {
	fd    netx.FD // netx.NoFD: none
	local netip.AddrPort
}

func (b *boundSocket) close() {
	if b.fd != netx.NoFD {
		netx.Close(b.fd)
	}
	*b = boundSocket{fd: netx.NoFD}
}

// msgState is the state of a msgEndpoint's connection.
type msgState uint8

const (
	msgIdle msgState = iota
	msgConnecting
	msgConnected
	msgShutdown
)

func openMsg(d *domain, info *core.Info, self *core.Endpoint) (*msgEndpoint, error) {
	ep := &msgEndpoint{d: d, prog: d.prog, self: self, bound: boundSocket{fd: netx.NoFD}}
	if err := ep.InitReliable(&d.Domain, info, ep.ends, ep, ep, ep.canReceive); err != nil {
		return nil, err
	}
	if err := ep.takeOver(info.Handle); err != nil {
		return nil, err
	}
	ep.Opened(ep)
	return ep, nil
}

// takeOver gives the endpoint the connection of a request, or the address of a passive endpoint that does not
// listen (fi_getinfo(3), "handle").
func (ep *msgEndpoint) takeOver(handle core.Handle) error {
	switch h := handle.(type) {
	case nil:
	case *connRequest:
		if h.pep.auth.Text() != ep.Auth().Text() { // the peer has authenticated with the listener's key
			return ep.Refuse("fi_endpoint", h.peer, core.ErrInval, "the authorization key must be that of the passive endpoint")
		}
		if !h.take() {
			return ep.Refuse("fi_endpoint", h.peer, core.ErrInval, "the connection request has already been answered, or its passive endpoint is closed")
		}
		ep.req = h
	case *passive:
		b, ok := h.giveSocket()
		if !ok {
			return ep.Refuse("fi_endpoint", noPeer, core.ErrInval, "the passive endpoint already listens, is closed or has no address")
		}
		ep.bound = b
	default:
		return ep.Refuse("fi_endpoint", noPeer, core.ErrInval, "the Info's handle is neither a connection request nor a passive endpoint of tcp")
	}
	return nil
}

// ends implements endpoint.Ends. There is one peer.
func (ep *msgEndpoint) ends(uint64) (local, peer netip.AddrPort) {
	if ep.st != nil {
		return ep.st.local, ep.st.peer
	}
	return noPeer, noPeer
}

// canReceive refuses receives that could never complete, because the connection has ended and no message waits.
func (ep *msgEndpoint) canReceive() error {
	if err := ep.CanReceive(); err != nil {
		return err
	}
	// No message can arrive; in libfabric the receive would wait for ever.
	if ep.ended != nil && ep.Own.Unexpected() == 0 {
		if ep.ended == engine.ErrGoodbye {
			return core.ErrShutdown
		}
		return core.ErrNotConn
	}
	return nil
}

// Bind binds an object (fi_ep_bind(3)). A connected endpoint has one peer, so it takes no address vector.
func (ep *msgEndpoint) Bind(obj any, flags core.BindFlags) error {
	switch x := obj.(type) {
	case *endpoint.AddressVector:
		return ep.Refuse("fi_ep_bind", noPeer, core.ErrInval, "an MSG endpoint takes no address vector")
	case *endpoint.SharedRx:
		return ep.ShareRx(x)
	}
	return ep.Endpoint.Bind(obj, flags)
}

// Enable makes the endpoint ready for receives and a connection (fi_enable(3)).
func (ep *msgEndpoint) Enable() error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	return ep.becomeEnabled()
}

// becomeEnabled is Enable for callers that hold the lock.
func (ep *msgEndpoint) becomeEnabled() error {
	if err := ep.CheckEnable(endpoint.NeedsEQ); err != nil {
		return err
	}
	ep.SetEnabled()
	return nil
}

// Route implements endpoint.Router. There is one connection.
func (ep *msgEndpoint) Route(core.FIAddr) (*engine.Conn, error) {
	if ep.state != msgConnected || ep.silent {
		switch {
		case ep.silent, ep.ended == engine.ErrGoodbye:
			return nil, core.ErrShutdown
		case ep.state == msgShutdown:
			return nil, core.ErrNotConn
		}
		return nil, core.ErrOpBadState
	}
	return ep.st.conn, nil
}

// Posted implements endpoint.Router.
func (ep *msgEndpoint) Posted(_ *engine.Conn, more bool) *batch.Stream { return ep.st.posted(more) }

// connConfig returns the configuration of the endpoint's connection.
func (ep *msgEndpoint) connConfig() *engine.Config {
	c := ep.d.f.config(ep.Info().Tx.Size)
	c.Auth, c.Ender = ep.Auth().EngineAuth(), ep
	return c
}

// Connect starts a connection (fi_connect(3)).
func (ep *msgEndpoint) Connect(dest core.Addr, param []byte) error {
	if len(param) > cmDataMax {
		return ep.Refuse("fi_connect", dest.IP, core.ErrInval, "private data is at most 256 bytes")
	}
	if dest.Format != core.FormatSockaddrIn && dest.Format != core.FormatSockaddrIn6 || !dest.IP.IsValid() || dest.IP.Port() == 0 {
		return ep.Refuse("fi_connect", dest.IP, core.ErrInval, "the destination must be an IP address and port")
	}
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.state != msgIdle || ep.req != nil {
		return ep.Refuse("fi_connect", dest.IP, core.ErrOpBadState, "an endpoint can connect only once, and not if it was opened from a connection request")
	}
	if !ep.Enabled() {
		if err := ep.becomeEnabled(); err != nil {
			return err
		}
	}
	data := append([]byte(nil), param...)
	conn := engine.NewActive(ep.d.Pool(), ep.connConfig(), ep.Own, ep.Memory(), ep, int64(mono.Now()))
	st := &tcpStream{conn: conn, peer: dest.IP}
	bound := ep.bound.fd
	ep.bound = boundSocket{fd: netx.NoFD}
	conn.User = st
	st.start = func() { conn.Start(data) }
	if err := st.dial(ep.d, bound, ep.Info().SrcAddr, ep.Info().Tx.TClass); err != nil {
		return ep.Refuse("fi_connect", dest.IP, err, "check the address and FI_TCP_IFACE")
	}
	st.Meter(&ep.meter)
	st.learnLocal() // the system has chosen it; callers can read it before the answer arrives
	ep.st, ep.state = st, msgConnecting
	return nil
}

// Accept accepts the connection request that the endpoint was opened from (fi_accept(3)).
func (ep *msgEndpoint) Accept(param []byte) error {
	if len(param) > cmDataMax {
		return ep.Refuse("fi_accept", noPeer, core.ErrInval, "private data is at most 256 bytes")
	}
	ep.prog.Lock()
	if ep.req == nil || ep.state != msgIdle {
		ep.prog.Unlock()
		return ep.Refuse("fi_accept", noPeer, core.ErrOpBadState, "Accept needs an endpoint that was opened from a connection request, and can be called once")
	}
	if !ep.Enabled() {
		if err := ep.becomeEnabled(); err != nil {
			ep.prog.Unlock()
			return err
		}
	}
	ep.state = msgConnecting
	req := ep.req
	ep.prog.Unlock()

	st := req.release() // detached from the listener's engine; its lock is taken first
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if st == nil {
		ep.state = msgShutdown
		return ep.Refuse("fi_accept", req.peer, core.ErrConnAborted, "the peer closed the connection before it was accepted")
	}
	if ep.Closed() {
		st.close()
		return ep.Refuse("fi_accept", req.peer, core.ErrOpBadState, "the endpoint was closed")
	}
	if tos := ep.Info().Tx.TClass.TOS(); tos != req.pep.info.Tx.TClass.TOS() {
		if err := netx.SetDSCP(st.carrier.socket(), tos); err != nil {
			st.close()
			ep.state = msgShutdown
			return ep.Refuse("fi_accept", req.peer, err, "the system refuses the traffic class")
		}
	}
	ep.st = st
	st.conn.User = st
	st.conn.Attach(ep.d.Pool(), ep.connConfig(), ep.Own, ep.Memory(), ep)
	if err := st.attach(ep.prog, ep.d.bufs); err != nil {
		st.close()
		ep.state = msgShutdown
		return ep.Refuse("fi_accept", req.peer, err, "")
	}
	st.Meter(&ep.meter)
	st.conn.Accept(param)
	st.updateDeadline()
	st.setWant()
	st.flush()
	return nil
}

// Requested implements engine.Sink. It is never called, since requests arrive at listeners.
func (ep *msgEndpoint) Requested(*engine.Conn, []byte) {}

// Connected implements engine.Sink.
func (ep *msgEndpoint) Connected(c *engine.Conn, data []byte) {
	ep.state = msgConnected
	ep.EQ().Push(core.EQEvent{Type: core.EventConnected, Object: ep.self, CMData: append([]byte(nil), data...)})
}

// Failed implements engine.Sink. Before the connection is up, the failure is an error event. Later it is
// FI_SHUTDOWN (fi_cm(3)).
func (ep *msgEndpoint) Failed(c *engine.Conn, err error, data []byte) {
	was := ep.state
	ep.state = msgShutdown
	if ep.ended == nil {
		ep.ended = err
	}
	st := ep.st
	if st != nil {
		st.close()
	}
	if ep.Closed() {
		return
	}
	if was == msgConnecting {
		local, peer := ep.ends(0)
		ep.EQ().PushErr(core.EQErrEntry{Object: ep.self, Err: endpoint.Errno(err), ProvErrno: endpoint.ProvErrno(err), ErrData: append([]byte(nil), data...),
			Detail: names.Detail("connect", local, peer, err)})
	} else {
		ep.EQ().Push(core.EQEvent{Type: core.EventShutdown, Object: ep.self})
	}
	if !ep.Shared() {
		ep.Own.Flush(&canceledBy{err})
	}
}

// Ended implements engine.Ender. The posted receives are canceled, because the peer sends no more messages.
func (ep *msgEndpoint) Ended(*engine.Conn) {
	ep.ended = engine.ErrGoodbye
	if !ep.Shared() && !ep.Closed() {
		ep.Own.Flush(&canceledBy{ep.ended})
	}
}

// PeerClosed implements core.HalfCloser.
func (ep *msgEndpoint) PeerClosed() bool {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	return ep.ended == engine.ErrGoodbye
}

// Replied implements engine.Sink.
func (ep *msgEndpoint) Replied(*engine.Conn) { ep.st.replied() }

// Resumed implements engine.Sink.
func (ep *msgEndpoint) Resumed(*engine.Conn) { ep.st.setWant() }

// Shutdown ends the connection (fi_shutdown(3)). It waits for delivery of sent data for as long as OptLinger
// allows.
func (ep *msgEndpoint) Shutdown() error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.state != msgConnected && ep.state != msgConnecting || ep.silent && ep.leaving {
		return ep.Refuse("fi_shutdown", noPeer, core.ErrNotConn, "")
	}
	ep.silent, ep.leaving = true, true
	err := ep.Drain(ep.st)
	if ep.st.isOpen() {
		netx.Shutdown(ep.st.carrier.socket(), syscall.SHUT_RDWR)
	}
	ep.st.conn.Fail(engine.ErrClosed)
	return err
}

// CloseWrite implements core.HalfCloser.
func (ep *msgEndpoint) CloseWrite() error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	switch {
	case ep.state != msgConnected:
		return ep.Refuse("fi_shutdown", noPeer, core.ErrNotConn, "")
	case !ep.st.conn.KnowsEnd():
		return ep.Refuse("fi_shutdown", ep.st.peer, core.ErrOpNotSupp, "the peer does not support half-closed connections: close the endpoint")
	}
	ep.silent = true
	ep.st.conn.SayEnd(false)
	ep.st.posted(false)
	return nil
}

// Conns implements endpoint.Whole.
func (ep *msgEndpoint) Conns(yield func(*engine.Conn) bool) {
	if ep.st != nil {
		yield(ep.st.conn)
	}
}

// Name returns the local address of the connection, or the address that the endpoint was opened with.
func (ep *msgEndpoint) Name() (core.Addr, error) {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.st != nil && ep.st.local.IsValid() {
		return core.IPAddr(ep.st.local), nil
	}
	if ep.bound.fd != netx.NoFD {
		return core.IPAddr(ep.bound.local), nil
	}
	if !ep.Info().SrcAddr.IsZero() {
		return ep.Info().SrcAddr, nil
	}
	return core.Addr{}, ep.Refuse("fi_getname", noPeer, core.ErrAddrNotAvail, "the endpoint is not connected")
}

// SetName sets the local address for Connect. It fails after Connect.
func (ep *msgEndpoint) SetName(a core.Addr) error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.state != msgIdle {
		return ep.Refuse("fi_setname", noPeer, core.ErrOpBadState, "set the name before Connect")
	}
	if !a.IP.IsValid() {
		return ep.Refuse("fi_setname", noPeer, core.ErrInval, "the name must be an IP address")
	}
	ep.bound.close()
	ep.Info().SrcAddr = a
	return nil
}

// Peer returns the address of the peer (fi_getpeer(3)).
func (ep *msgEndpoint) Peer() (core.Addr, error) {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.state != msgConnected {
		return core.Addr{}, ep.Refuse("fi_getpeer", noPeer, core.ErrNotConn, "")
	}
	return core.IPAddr(ep.st.peer), nil
}

// GetOpt is fi_getopt (fi_endpoint(3)).
func (ep *msgEndpoint) GetOpt(opt core.EPOpt) (int, error) {
	switch opt {
	case core.OptCMDataSize:
		return cmDataMax, nil
	case core.OptFirewallAddr:
		return ep.d.s.firewallOption(), nil
	}
	return ep.Reliable.GetOpt(opt)
}

// Close closes the endpoint (fi_close(3)). Operations in progress end without completion. It waits for delivery of
// sent data for as long as OptLinger allows.
func (ep *msgEndpoint) Close() error {
	ep.prog.Lock()
	if err := ep.BeginClose(); err != nil {
		ep.prog.Unlock()
		return err
	}
	req := ep.req
	ep.bound.close()
	var late error
	if ep.st != nil {
		late = ep.Drain(ep.st)
		ep.st.conn.Drop(engine.ErrClosed)
		ep.st.close()
	}
	ep.EndRx()
	ep.state = msgShutdown
	if ep.EQ() != nil {
		ep.EQ().PurgeObject(ep.self)
	}
	ep.prog.Unlock()
	if req != nil {
		req.abandon()
	}
	ep.Unbind()
	return late
}
