package record

import "gofabric/core"

// endpoint is an active endpoint, one of the contexts of a scalable one, or an alias.
type endpoint struct {
	core.Endpoint
	f *fabric
	r *Recorder
}

// endpoint wraps below.
func (f *fabric) endpoint(below core.Endpoint) *endpoint {
	return stands(f, below, &endpoint{Endpoint: below, f: f, r: f.r})
}

func (e *endpoint) inner() core.Object { return e.Endpoint }
func (e *endpoint) Close() error       { return e.f.close(e.Endpoint) }
func (e *endpoint) Enable() error      { return e.r.call("fi_enable", e.Endpoint.Enable()) }

func (e *endpoint) BindCQ(cq core.CompletionQueue, flags core.Flags) error {
	return e.r.flags("fi_ep_bind", flags, e.Endpoint.BindCQ(bare(cq), flags))
}

func (e *endpoint) BindCounter(c core.Counter, flags core.Flags) error {
	err := e.Endpoint.BindCounter(bare(c), flags)
	e.r.bits("fi_ep_bind_counter", uint64(flags), err)
	return e.r.call("fi_ep_bind", err)
}

func (e *endpoint) BindAV(av core.AddressVector, flags core.Flags) error {
	return e.r.call("fi_ep_bind", e.Endpoint.BindAV(bare(av), flags))
}

func (e *endpoint) BindEQ(eq core.EventQueue, flags core.Flags) error {
	return e.r.call("fi_ep_bind", e.Endpoint.BindEQ(bare(eq), flags))
}

func (e *endpoint) BindSRX(srx core.SharedRx) error {
	return e.r.call("fi_ep_bind", e.Endpoint.BindSRX(bare(srx)))
}

func (e *endpoint) BindSTX(stx core.SharedTx) error {
	return e.r.call("fi_ep_bind", e.Endpoint.BindSTX(bare(stx)))
}

func (e *endpoint) Cancel(ctx core.Context) error {
	return e.r.call("fi_cancel", e.Endpoint.Cancel(ctx))
}

func (e *endpoint) Alias(flags core.Flags) (core.Endpoint, error) {
	below, err := e.Endpoint.Alias(flags)
	e.r.flags("fi_ep_alias", flags, err)
	if err != nil {
		return nil, err
	}
	return e.f.endpoint(below), nil
}

func (e *endpoint) GetOpt(opt core.EPOpt) (int, error) {
	v, err := e.Endpoint.GetOpt(opt)
	return v, e.r.option("fi_getopt", opt, err)
}

func (e *endpoint) SetOpt(opt core.EPOpt, value int) error {
	return e.r.option("fi_setopt", opt, e.Endpoint.SetOpt(opt, value))
}

func (e *endpoint) OpFlags(dir core.Flags) (core.Flags, error) {
	v, err := e.Endpoint.OpFlags(dir)
	return v, e.r.call("FI_GETOPSFLAG", err)
}

func (e *endpoint) SetOpFlags(dir, flags core.Flags) error {
	return e.r.flags("FI_SETOPSFLAG", flags, e.Endpoint.SetOpFlags(dir, flags))
}

func (e *endpoint) TxSizeLeft() (int, error) {
	v, err := e.Endpoint.TxSizeLeft()
	return v, e.r.call("fi_tx_size_left", err)
}

func (e *endpoint) RxSizeLeft() (int, error) {
	v, err := e.Endpoint.RxSizeLeft()
	return v, e.r.call("fi_rx_size_left", err)
}

func (e *endpoint) Name() (core.Addr, error) {
	v, err := e.Endpoint.Name()
	return v, e.r.call("fi_getname", err)
}

func (e *endpoint) SetName(a core.Addr) error { return e.r.call("fi_setname", e.Endpoint.SetName(a)) }

func (e *endpoint) Peer() (core.Addr, error) {
	v, err := e.Endpoint.Peer()
	return v, e.r.call("fi_getpeer", err)
}

func (e *endpoint) Connect(dest core.Addr, param []byte) error {
	return e.r.call("fi_connect", e.Endpoint.Connect(dest, param))
}

func (e *endpoint) Accept(param []byte) error {
	return e.r.call("fi_accept", e.Endpoint.Accept(param))
}

func (e *endpoint) Shutdown() error { return e.r.call("fi_shutdown", e.Endpoint.Shutdown()) }

// CloseWrite implements core.HalfCloser, where the endpoint below does. libfabric has no such call, so nothing is noted.
func (e *endpoint) CloseWrite() error {
	h, ok := e.Endpoint.(core.HalfCloser)
	if !ok {
		return core.ErrNoSys
	}
	return h.CloseWrite()
}

// PeerClosed implements core.HalfCloser.
func (e *endpoint) PeerClosed() bool {
	h, ok := e.Endpoint.(core.HalfCloser)
	return ok && h.PeerClosed()
}

// Join is fi_join(3), where the endpoint below has it.
func (e *endpoint) Join(addr core.Addr, flags core.Flags, ctx any) (core.MC, error) {
	m, ok := e.Endpoint.(core.Multicaster)
	if !ok {
		return nil, e.r.call("fi_join", core.ErrNoSys)
	}
	below, err := m.Join(addr, flags, ctx)
	e.r.flags("fi_join", flags, err)
	if err != nil {
		return nil, err
	}
	return stands(e.f, below, &group{MC: below, f: e.f, r: e.r}), nil
}

// group is a membership in a multicast or collective group.
type group struct {
	core.MC
	f *fabric
	r *Recorder
}

func (g *group) inner() core.Object { return g.MC }
func (g *group) Close() error       { return g.f.close(g.MC) }

func (g *group) Addr() core.FIAddr {
	g.r.call("fi_mc_addr", nil)
	return g.MC.Addr()
}

// scalable is a scalable endpoint.
type scalable struct {
	endpoint
	below core.ScalableEndpoint
}

func (s *scalable) inner() core.Object { return s.below }

// BindAV is fi_scalable_ep_bind.
func (s *scalable) BindAV(av core.AddressVector, flags core.Flags) error {
	return s.r.call("fi_scalable_ep_bind", s.below.BindAV(bare(av), flags))
}

func (s *scalable) TxContext(index int, attr *core.TxAttr) (core.Endpoint, error) {
	below, err := s.below.TxContext(index, attr)
	s.r.call("fi_tx_context", err)
	if err != nil {
		return nil, err
	}
	return s.f.endpoint(below), nil
}

func (s *scalable) RxContext(index int, attr *core.RxAttr) (core.Endpoint, error) {
	below, err := s.below.RxContext(index, attr)
	s.r.call("fi_rx_context", err)
	if err != nil {
		return nil, err
	}
	return s.f.endpoint(below), nil
}

type sharedTx struct {
	core.SharedTx
	f *fabric
}

func (x *sharedTx) inner() core.Object { return x.SharedTx }
func (x *sharedTx) Close() error       { return x.f.close(x.SharedTx) }
