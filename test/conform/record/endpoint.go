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
func (e *endpoint) Enable() error {
	return e.r.do("fi_enable", func() error { return e.Endpoint.Enable() })
}

func (e *endpoint) BindCQ(cq core.CompletionQueue, flags core.Flags) error {
	return e.r.with("fi_ep_bind", flags, func(flags core.Flags) error { return e.Endpoint.BindCQ(bare(cq), flags) })
}

func (e *endpoint) BindCounter(c core.Counter, flags core.Flags) error {
	if e.r.Lacks("fi_ep_bind") {
		return nil
	}
	err := e.Endpoint.BindCounter(bare(c), e.r.Mask("fi_ep_bind_counter", flags))
	e.r.bits("fi_ep_bind_counter", uint64(flags), err)
	return e.r.call("fi_ep_bind", err)
}

func (e *endpoint) BindAV(av core.AddressVector, flags core.Flags) error {
	return e.r.do("fi_ep_bind", func() error { return e.Endpoint.BindAV(bare(av), flags) })
}

func (e *endpoint) BindEQ(eq core.EventQueue, flags core.Flags) error {
	return e.r.do("fi_ep_bind", func() error { return e.Endpoint.BindEQ(bare(eq), flags) })
}

func (e *endpoint) BindSRX(srx core.SharedRx) error {
	return e.r.do("fi_ep_bind", func() error { return e.Endpoint.BindSRX(bare(srx)) })
}

func (e *endpoint) BindSTX(stx core.SharedTx) error {
	return e.r.do("fi_ep_bind", func() error { return e.Endpoint.BindSTX(bare(stx)) })
}

func (e *endpoint) Cancel(ctx core.Context) error {
	return e.r.do("fi_cancel", func() error { return e.Endpoint.Cancel(ctx) })
}

func (e *endpoint) Alias(flags core.Flags) (core.Endpoint, error) {
	if e.r.Lacks("fi_ep_alias") {
		return nil, core.ErrNoSys
	}
	below, err := e.Endpoint.Alias(e.r.Mask("fi_ep_alias", flags))
	e.r.flags("fi_ep_alias", flags, err)
	if err != nil {
		return nil, err
	}
	return e.f.endpoint(below), nil
}

func (e *endpoint) GetOpt(opt core.EPOpt) (int, error) {
	if e.r.hides("option", uint64(opt)) || e.r.Lacks("fi_getopt") {
		return 0, nil
	}
	v, err := e.Endpoint.GetOpt(opt)
	return v, e.r.option("fi_getopt", opt, err)
}

func (e *endpoint) SetOpt(opt core.EPOpt, value int) error {
	if e.r.hides("option", uint64(opt)) || e.r.Lacks("fi_setopt") {
		return nil
	}
	return e.r.option("fi_setopt", opt, e.Endpoint.SetOpt(opt, value))
}

func (e *endpoint) OpFlags(dir core.Flags) (core.Flags, error) {
	return get(e.r, "FI_GETOPSFLAG", func() (core.Flags, error) { return e.Endpoint.OpFlags(dir) })
}

func (e *endpoint) SetOpFlags(dir, flags core.Flags) error {
	return e.r.with("FI_SETOPSFLAG", flags, func(flags core.Flags) error { return e.Endpoint.SetOpFlags(dir, flags) })
}

func (e *endpoint) TxSizeLeft() (int, error) {
	return get(e.r, "fi_tx_size_left", func() (int, error) { return e.Endpoint.TxSizeLeft() })
}

func (e *endpoint) RxSizeLeft() (int, error) {
	return get(e.r, "fi_rx_size_left", func() (int, error) { return e.Endpoint.RxSizeLeft() })
}

func (e *endpoint) Name() (core.Addr, error) {
	return get(e.r, "fi_getname", func() (core.Addr, error) { return e.Endpoint.Name() })
}

func (e *endpoint) SetName(a core.Addr) error {
	return e.r.do("fi_setname", func() error { return e.Endpoint.SetName(a) })
}

func (e *endpoint) Peer() (core.Addr, error) {
	return get(e.r, "fi_getpeer", func() (core.Addr, error) { return e.Endpoint.Peer() })
}

func (e *endpoint) Connect(dest core.Addr, param []byte) error {
	return e.r.do("fi_connect", func() error { return e.Endpoint.Connect(dest, param) })
}

func (e *endpoint) Accept(param []byte) error {
	return e.r.do("fi_accept", func() error { return e.Endpoint.Accept(param) })
}

func (e *endpoint) Shutdown() error {
	return e.r.do("fi_shutdown", func() error { return e.Endpoint.Shutdown() })
}

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
	if e.r.Lacks("fi_join") {
		return nil, core.ErrNoSys
	}
	below, err := m.Join(addr, e.r.Mask("fi_join", flags), ctx)
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
	return value(g.r, "fi_mc_addr", g.MC.Addr)
}

// scalable is a scalable endpoint.
type scalable struct {
	endpoint
	below core.ScalableEndpoint
}

func (s *scalable) inner() core.Object { return s.below }

// BindAV is fi_scalable_ep_bind.
func (s *scalable) BindAV(av core.AddressVector, flags core.Flags) error {
	return s.r.do("fi_scalable_ep_bind", func() error { return s.below.BindAV(bare(av), flags) })
}

func (s *scalable) TxContext(index int, attr *core.TxAttr) (core.Endpoint, error) {
	if s.r.Lacks("fi_tx_context") {
		return nil, core.ErrNoSys
	}
	below, err := s.below.TxContext(index, s.r.strippedTx(attr))
	s.r.call("fi_tx_context", err)
	if err != nil {
		return nil, err
	}
	return s.f.endpoint(below), nil
}

func (s *scalable) RxContext(index int, attr *core.RxAttr) (core.Endpoint, error) {
	if s.r.Lacks("fi_rx_context") {
		return nil, core.ErrNoSys
	}
	below, err := s.below.RxContext(index, s.r.strippedRx(attr))
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
