package oblige

import "gofabric/core"

// endpoint is an active endpoint, or an alias of one. Data calls are in transmit.go and receive.go.
type endpoint struct {
	core.Endpoint
	poster
	alias bool
}

func (e *endpoint) inner() core.Object { return e.Endpoint }

func (e *endpoint) Close() error {
	err := e.d.f.close(e.Endpoint)
	if err == nil && !e.alias {
		e.d.forget(e.id)
	}
	return err
}

func (e *endpoint) BindCQ(cq core.CompletionQueue, flags core.Flags) error {
	return e.Endpoint.BindCQ(peel(cq), flags)
}

func (e *endpoint) BindCounter(c core.Counter, flags core.Flags) error {
	return e.Endpoint.BindCounter(peel(c), flags)
}

func (e *endpoint) BindAV(av core.AddressVector, flags core.Flags) error {
	return e.Endpoint.BindAV(peel(av), flags)
}

func (e *endpoint) BindEQ(eq core.EventQueue, flags core.Flags) error {
	return e.Endpoint.BindEQ(peel(eq), flags)
}

func (e *endpoint) BindSRX(srx core.SharedRx) error { return e.Endpoint.BindSRX(peel(srx)) }

func (e *endpoint) Cancel(ctx core.Context) error { return e.cancel(ctx, e.Endpoint.Cancel) }

func (e *endpoint) Alias(flags core.Flags) (core.Endpoint, error) {
	below, err := e.Endpoint.Alias(flags)
	if err != nil {
		return nil, missing("fi_ep_alias", err)
	}
	a := &endpoint{Endpoint: below, poster: e.poster, alias: true}
	if a.below = below; flags&core.Recv != 0 {
		a.rx = flags &^ core.Recv
	}
	return stands(e.d.f, below, a), nil
}

func (e *endpoint) SetOpFlags(dir, flags core.Flags) error {
	err := e.Endpoint.SetOpFlags(dir, flags)
	if err == nil && dir == core.Recv {
		e.rx = flags
	}
	return err
}

// CloseWrite implements core.HalfCloser, where the endpoint below does.
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
		return nil, core.ErrNoSys
	}
	mc, err := m.Join(addr, flags, ctx)
	return track(e.d.f, mc, err)
}

// JoinCollective is fi_join_collective (fi_collective(3)).
func (e *endpoint) JoinCollective(coll core.FIAddr, set core.AVSet, flags core.Flags, ctx any) (core.MC, error) {
	mc, err := e.Endpoint.JoinCollective(coll, set, flags, ctx)
	return track(e.d.f, mc, err)
}

// sharedRx is a shared receive context.
type sharedRx struct {
	core.SharedRx
	poster
}

func (x *sharedRx) inner() core.Object { return x.SharedRx }

func (x *sharedRx) Close() error {
	err := x.d.f.close(x.SharedRx)
	if err == nil {
		x.d.forget(x.id)
	}
	return err
}

func (x *sharedRx) BindCQ(cq core.CompletionQueue, flags core.Flags) error {
	return x.SharedRx.BindCQ(peel(cq), flags)
}

func (x *sharedRx) BindCounter(c core.Counter, flags core.Flags) error {
	return x.SharedRx.BindCounter(peel(c), flags)
}

func (x *sharedRx) Cancel(ctx core.Context) error { return x.cancel(ctx, x.SharedRx.Cancel) }
