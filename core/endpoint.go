package core

// Endpoint is an active endpoint (struct fid_ep, fi_endpoint(3)). Before Enable only control calls are allowed, and
// data calls return ErrOpBadState.
//
// Every endpoint has all methods. A call that its provider does not implement returns ErrNoSys or ErrOpNotSupp.
//
// The buffers of a data call belong to the provider until the operation completes; those of the Inject calls belong
// to the caller again when the call returns. The slices of an iov, but not the memory that they refer to, may be
// reused when the call returns. ErrAgain means that there is no room now: read a queue to make progress, and try
// again.
type Endpoint struct {
	receives
	d  EndpointDriver
	tx PlainSender // d if it is a PlainSender, else a poster
}

// stand sets the endpoint's driver.
func (e *Endpoint) stand(d EndpointDriver) {
	e.d, e.receives = d, receivesOf(d)
	var ok bool
	if e.tx, ok = d.(PlainSender); !ok {
		e.tx = poster{d}
	}
}

// driver returns the endpoint's driver, or nil if e is nil.
func (e *Endpoint) driver() any {
	if e == nil {
		return nil
	}
	return e.d
}

// Driver returns the provider's side of the endpoint.
func (e *Endpoint) Driver() EndpointDriver { return e.d }

// String describes how the endpoint sends and receives, if its provider has a description: a datagram endpoint with
// AF_XDP has one.
func (e *Endpoint) String() string {
	if s, ok := e.d.(interface{ String() string }); ok {
		return s.String()
	}
	return ""
}

// Close closes the endpoint (fi_close(3)).
func (e *Endpoint) Close() error { return e.d.Close() }

// BindCQ binds a completion queue (fi_ep_bind(3)). flags are BindTransmit, BindRecv or both, and
// BindSelectiveCompletion.
func (e *Endpoint) BindCQ(q *CompletionQueue, flags BindFlags) error {
	return e.d.Bind(q.driver(), flags)
}

// BindCounter binds a counter (fi_ep_bind(3)). flags select the operations that it counts: BindSend, BindRecv,
// BindRead, BindWrite, BindRemoteRead, BindRemoteWrite.
func (e *Endpoint) BindCounter(c *Counter, flags BindFlags) error { return e.d.Bind(c.driver(), flags) }

// BindAV binds the address vector whose indices are the destinations (fi_ep_bind(3)). flags must be 0.
func (e *Endpoint) BindAV(v *AddressVector, flags BindFlags) error {
	return e.d.Bind(any(v.driver()), flags)
}

// BindEQ binds the event queue for the endpoint's connection and join events (fi_ep_bind(3)). flags must be 0.
func (e *Endpoint) BindEQ(q *EventQueue, flags BindFlags) error {
	return e.d.Bind(any(q.driver()), flags)
}

// BindSRX makes the endpoint receive into the buffers of a shared receive context (fi_ep_bind(3)).
func (e *Endpoint) BindSRX(s *SharedRx) error {
	if s == nil {
		return e.d.Bind(nil, 0)
	}
	return e.d.Bind(s.d, 0)
}

// BindSTX makes the endpoint's transmits count against the size of a shared transmit context (fi_ep_bind(3)).
func (e *Endpoint) BindSTX(s *SharedTx) error {
	if s == nil {
		return e.d.Bind(nil, 0)
	}
	return e.d.Bind(s.d, 0)
}

// Enable allows data calls (fi_enable(3)).
func (e *Endpoint) Enable() error { return e.d.Enable() }

// Cancel cancels the operation that was posted with ctx: a receive, or a send of which no byte was transmitted yet
// (fi_cancel(3)). A cancelled operation completes with ErrCanceled.
func (e *Endpoint) Cancel(ctx OpContext) error { return e.d.Cancel(ctx) }

// Alias returns a second endpoint over the same resources, with its own default operation flags for one direction
// (fi_ep_alias(3)). dir is BindTransmit or BindRecv; C has dir and flags in one word.
func (e *Endpoint) Alias(dir BindFlags, flags OpFlags) (*Endpoint, error) {
	d, err := e.d.Alias(dir, flags)
	return made(endpointOver(d), err)
}

// endpointOver returns an endpoint that no event reports.
func endpointOver(d EndpointDriver) *Endpoint {
	e := &Endpoint{}
	e.stand(d)
	return e
}

// GetOpt returns the value of an option (fi_getopt(3)). The error is ErrNoProtoOpt if the endpoint does not have
// the option.
func (e *Endpoint) GetOpt(opt EPOpt) (int, error) { return e.d.GetOpt(opt) }

// SetOpt sets an option (fi_setopt(3)). The error is ErrNoProtoOpt if the endpoint does not have the option or it
// is read-only.
func (e *Endpoint) SetOpt(opt EPOpt, value int) error { return e.d.SetOpt(opt, value) }

// OpFlags returns the default operation flags of a direction, BindTransmit or BindRecv (FI_GETOPSFLAG, fi_endpoint(3)).
func (e *Endpoint) OpFlags(dir BindFlags) (OpFlags, error) { return e.d.OpFlags(dir) }

// SetOpFlags changes the default operation flags of a direction, BindTransmit or BindRecv (FI_SETOPSFLAG,
// fi_endpoint(3)).
func (e *Endpoint) SetOpFlags(dir BindFlags, flags OpFlags) error { return e.d.SetOpFlags(dir, flags) }

// TxSizeLeft returns the number of transmits that can still be posted (fi_tx_size_left(3)). The stacks of this
// module return ErrNoSys.
func (e *Endpoint) TxSizeLeft() (int, error) { return e.d.SizeLeft(BindTransmit) }

// RxSizeLeft returns the number of receives that can still be posted (fi_rx_size_left(3)). The stacks of this
// module return ErrNoSys.
func (e *Endpoint) RxSizeLeft() (int, error) { return e.d.SizeLeft(BindRecv) }

// Name returns the endpoint's address (fi_getname(3)).
func (e *Endpoint) Name() (Addr, error) { return e.d.Name() }

// SetName changes the endpoint's address, before Enable (fi_setname(3)).
func (e *Endpoint) SetName(a Addr) error { return e.d.SetName(a) }

// Peer returns the address of a connected peer (fi_getpeer(3)).
func (e *Endpoint) Peer() (Addr, error) { return e.d.Peer() }

// Connect starts to connect (fi_connect(3)). EventConnected or an error event follows on the event queue. param is
// private data for the listener. Connect and Accept enable the endpoint if Enable was not called.
func (e *Endpoint) Connect(dest Addr, param []byte) error { return e.d.Connect(dest, param) }

// Accept accepts the connection request that the endpoint was opened for (fi_accept(3)). param is private data for
// the peer.
func (e *Endpoint) Accept(param []byte) error { return e.d.Accept(param) }

// Shutdown ends the connection (fi_shutdown(3)). The peer gets EventShutdown.
func (e *Endpoint) Shutdown() error { return e.d.Shutdown() }

// CloseWrite ends the endpoint's direction of the connection. libfabric has no such call. The peer receives all
// that was sent before. Then its receives fail with ErrShutdown, and so do later sends here. The peer can still
// send. The error is ErrNoSys if the provider's endpoints cannot do this (MSG endpoints of tcp can), and
// ErrOpNotSupp if the peer is native libfabric, which has no half-closed connections.
func (e *Endpoint) CloseWrite() error {
	if h, ok := e.d.(HalfCloser); ok {
		return h.CloseWrite()
	}
	return ErrNoSys
}

// PeerClosed reports whether the peer has ended its direction (CloseWrite). Everything that it sent has then been
// received or waits for a receive.
func (e *Endpoint) PeerClosed() bool {
	h, ok := e.d.(HalfCloser)
	return ok && h.PeerClosed()
}

// ScalableEndpoint is an endpoint with one address and several transmit and receive contexts (fi_scalable_ep(3)).
// Each context has its own completion queues and counters. The contexts share the address vector and the
// connections. The scalable endpoint itself is bound to an address vector but to no queues, and its own data calls
// fail with ErrNoSys.
//
// A context is an endpoint that only sends or only receives; its other calls fail with ErrNoSys. Several goroutines
// may use the contexts. Operations from one transmit context to one receive context keep their order. There is no
// order between contexts (fi_tx_context(3)).
type ScalableEndpoint struct {
	Endpoint
	contexts ScalableDriver
}

// TxContext opens the transmit context at index, from 0 to info.EP.TxCtxCnt-1, which must not be open
// (fi_tx_context(3)). attr may ask for less than the endpoint has; nil asks for all of it. The call fills in attr
// with what the context has. Bind queues to the context and enable it. Enable the scalable endpoint as well before
// the first transmit. Close contexts before the endpoint.
func (s *ScalableEndpoint) TxContext(index int, attr *TxAttr) (*Endpoint, error) {
	d, err := s.contexts.TxContext(index, attr)
	return made(endpointOver(d), err)
}

// RxContext opens a receive context (fi_rx_context(3)), as TxContext opens a transmit context.
func (s *ScalableEndpoint) RxContext(index int, attr *RxAttr) (*Endpoint, error) {
	d, err := s.contexts.RxContext(index, attr)
	return made(endpointOver(d), err)
}

// SharedRx is a shared receive context: receives that are posted here serve all endpoints that are bound to it
// (fi_srx_context(3)).
//
// A completion goes to the queue and counter of the endpoint that received the message. If the context has its own
// queue or counter, bound before any endpoint is, the completion goes there.
type SharedRx struct {
	receives
	d SRXDriver
}

// Driver returns the provider's side of the context.
func (s *SharedRx) Driver() SRXDriver { return s.d }

// Close frees the context (fi_close(3)). The error is ErrBusy while endpoints are bound to it.
func (s *SharedRx) Close() error { return s.d.Close() }

// BindCQ binds a queue to the context itself (fi_ep_bind(3)). flags are BindRecv and BindSelectiveCompletion.
func (s *SharedRx) BindCQ(q *CompletionQueue, flags BindFlags) error {
	return s.d.Bind(q.driver(), flags)
}

// BindCounter binds a counter to the context itself (fi_ep_bind(3)). flags is BindRecv.
func (s *SharedRx) BindCounter(c *Counter, flags BindFlags) error { return s.d.Bind(c.driver(), flags) }

// Cancel cancels a receive posted here (fi_cancel(3)).
func (s *SharedRx) Cancel(ctx OpContext) error { return s.d.Cancel(ctx) }

// GetOpt is Endpoint.GetOpt.
func (s *SharedRx) GetOpt(opt EPOpt) (int, error) { return s.d.GetOpt(opt) }

// SetOpt is Endpoint.SetOpt.
func (s *SharedRx) SetOpt(opt EPOpt, value int) error { return s.d.SetOpt(opt, value) }

// SharedTx is a shared transmit context: the transmits of all endpoints that are bound to it together count against
// its size (fi_stx_context(3)). It has no data calls. Completions go to the queues of the endpoints.
type SharedTx struct{ d STXDriver }

// Close frees the context (fi_close(3)). The error is ErrBusy while endpoints are bound to it.
func (s *SharedTx) Close() error { return s.d.Close() }

// RxAddr returns the address of a receive context of a peer (fi_rx_addr, fi_av(3)). fi is the peer's address in a
// vector that was opened with RxCtxBits equal to bits. The sending endpoint needs CapNamedRxCtx.
func RxAddr(fi FIAddr, index, bits int) FIAddr { return FIAddr(index)<<(64-bits) | fi }
