package strict

import (
	"gofabric/core"
)

// endpoint is an active endpoint, or an alias of one. Data calls are in transmitter and receiver.
type endpoint struct {
	control
	transmitter
	receiver
	s     *state
	alias bool
}

// control is the endpoint below, one level down, so that the calls of this package come first.
type control struct{ core.Endpoint }

// OpenEndpoint is fi_endpoint(3).
func (d *domain) OpenEndpoint(info *core.Info) (core.Endpoint, error) {
	d.mu.Lock()
	n := len(d.eps)
	d.mu.Unlock()
	if d.k.EPCnt > 0 && n >= d.k.EPCnt {
		return nil, d.o.misuse("fi_endpoint", core.ErrNoSpc, "%d endpoints are open (ep_cnt), and the adapter has no more", n)
	}
	if p, ok := info.Handle.(*passive); ok {
		info = info.Dup()
		info.Handle = p.PassiveEndpoint
	}
	below, err := d.Domain.OpenEndpoint(info)
	if err != nil {
		return nil, err
	}
	return d.over(below, info), nil
}

// over makes the endpoint that stands in front of one below.
func (d *domain) over(below core.Endpoint, info *core.Info) *endpoint {
	k := d.k
	if other := d.o.profile.kind(info.EP.Type); other != nil {
		k = other
	}
	s := &state{d: d, k: k, info: info.Dup(), post: below, ep: below}
	if s.info.Domain == nil {
		s.info.Domain = d.info.Domain
	}
	e := &endpoint{control: control{below}, s: s}
	e.transmitter = transmitter{s: s, below: below, flags: info.Tx.OpFlags}
	e.receiver = receiver{s: s, below: below, flags: info.Rx.OpFlags}
	d.mu.Lock()
	d.eps[s] = true
	d.mu.Unlock()
	d.o.opened(s)
	d.f.stands(below, e)
	return e
}

func (e *endpoint) inner() core.Object { return e.Endpoint }

// BindCQ is fi_ep_bind(3). The queue below hears of everything; who asked for less does not see it.
func (e *endpoint) BindCQ(cq core.CompletionQueue, flags core.Flags) error {
	if err := e.Endpoint.BindCQ(peel(cq), flags&^core.SelectiveCompletion); err != nil {
		return err
	}
	q, _ := cq.(*queue)
	quiet := flags&core.SelectiveCompletion != 0
	if flags&core.Transmit != 0 {
		e.s.txq, e.s.txQuiet = q, quiet
	}
	if flags&core.Recv != 0 {
		e.s.rxq, e.s.rxQuiet = q, quiet
	}
	return nil
}

// BindCounter is fi_ep_bind(3).
func (e *endpoint) BindCounter(c core.Counter, flags core.Flags) error {
	err := e.Endpoint.BindCounter(peel(c), flags)
	if err == nil {
		e.s.txCounted = e.s.txCounted || flags&(core.Send|core.Read|core.Write) != 0
		e.s.rxCounted = e.s.rxCounted || flags&core.Recv != 0
	}
	return err
}

// BindAV is fi_ep_bind(3).
func (e *endpoint) BindAV(av core.AddressVector, flags core.Flags) error {
	err := e.Endpoint.BindAV(peel(av), flags)
	if v, ok := av.(*vector); ok && err == nil {
		e.s.av = v
	}
	return err
}

// BindEQ is fi_ep_bind(3).
func (e *endpoint) BindEQ(eq core.EventQueue, flags core.Flags) error {
	return e.Endpoint.BindEQ(peel(eq), flags)
}

// BindSRX is fi_ep_bind(3).
func (e *endpoint) BindSRX(srx core.SharedRx) error {
	err := e.Endpoint.BindSRX(peel(srx))
	if x, ok := srx.(*sharedRx); ok && err == nil && x.s.rxq == nil {
		x.s.rxq, x.s.rxQuiet = e.s.rxq, e.s.rxQuiet // that of the first endpoint, as below
	}
	return err
}

// Enable is fi_enable(3).
func (e *endpoint) Enable() error {
	err := e.Endpoint.Enable()
	if err == nil {
		e.s.enabled.Store(true)
	}
	return err
}

// Connect is fi_connect(3), which enables the endpoint; so does Accept.
func (e *endpoint) Connect(dest core.Addr, param []byte) error {
	err := e.Endpoint.Connect(dest, param)
	if err == nil {
		e.s.enabled.Store(true)
	}
	return err
}

// Accept is fi_accept(3).
func (e *endpoint) Accept(param []byte) error {
	err := e.Endpoint.Accept(param)
	if err == nil {
		e.s.enabled.Store(true)
	}
	return err
}

// Shutdown is fi_shutdown(3).
func (e *endpoint) Shutdown() error {
	e.s.release()
	return e.Endpoint.Shutdown()
}

// Cancel is fi_cancel(3).
func (e *endpoint) Cancel(ctx core.Context) error {
	if e.s.k.Lacks&LacksCancel != 0 {
		return e.s.d.o.misuse("fi_cancel", core.ErrNoSys, "the provider cancels nothing on such endpoints: what is posted completes, or ends with the endpoint")
	}
	return e.s.cancel(ctx)
}

// cancel cancels the oldest operation with a context that can be.
func (s *state) cancel(ctx core.Context) error {
	s.release()
	for _, o := range s.d.list(func(o *op) bool { return o.s == s && o.ctx == ctx }) {
		if err := s.post.Cancel(o.below); err == nil {
			return nil
		}
	}
	return s.post.Cancel(ctx)
}

// Alias is fi_ep_alias(3).
func (e *endpoint) Alias(flags core.Flags) (core.Endpoint, error) {
	if e.s.k.Lacks&LacksAlias != 0 {
		return nil, e.s.d.o.misuse("fi_ep_alias", core.ErrNoSys, "the provider has no aliases of such endpoints: pass flags to the msg variants of calls")
	}
	below, err := e.Endpoint.Alias(flags)
	if err != nil {
		return nil, err
	}
	a := &endpoint{control: control{below}, transmitter: e.transmitter, receiver: e.receiver, s: e.s, alias: true}
	a.transmitter.below, a.receiver.below = below, below
	if op := flags &^ (core.Transmit | core.Recv); flags&core.Transmit != 0 {
		a.transmitter.flags = op
	} else {
		a.receiver.flags = op
	}
	return a, nil
}

// SetOpFlags is FI_SETOPSFLAG (fi_endpoint(3)).
func (e *endpoint) SetOpFlags(dir, flags core.Flags) error {
	err := e.Endpoint.SetOpFlags(dir, flags)
	if err == nil && dir == core.Transmit {
		e.transmitter.flags = flags
	} else if err == nil {
		e.receiver.flags = flags
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
	return m.Join(addr, flags, ctx)
}

// Close is fi_close(3).
func (e *endpoint) Close() error {
	if e.alias {
		return e.Endpoint.Close()
	}
	if e.s.closed.Load() {
		return e.s.d.o.misuse("fi_close", core.ErrBadF, "the endpoint is closed already. On hardware: a double free")
	}
	e.s.dropHeld()
	if err := e.Endpoint.Close(); err != nil {
		return err
	}
	e.s.closed.Store(true)
	e.s.d.o.ended(e.s)
	e.s.d.forget(e.s)
	e.s.d.f.gone(e.Endpoint)
	return nil
}
