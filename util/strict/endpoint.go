package strict

import (
	"cmp"

	"gofabric/core"
	"gofabric/util/hook"
)

// endpoint is an active endpoint, or an alias or context of one.
type endpoint struct {
	lowerEP
	poster
	alias bool
}

// lowerEP is the endpoint below. It is embedded one level deeper, so that the methods of poster take precedence.
type lowerEP struct{ hook.Endpoint }

// OpenEndpoint is fi_endpoint(3).
func (d *domain) OpenEndpoint(info *core.Info, self *core.Endpoint) (core.EndpointDriver, error) {
	d.mu.Lock()
	n := len(d.eps)
	d.mu.Unlock()
	if d.k.EPCnt > 0 && n >= d.k.EPCnt {
		return nil, d.h.misuse("fi_endpoint", core.ErrNoSpc, "%d endpoints are open (ep_cnt), and the adapter has no more", n)
	}
	below, err := d.Domain.OpenEndpoint(info, self)
	if err != nil {
		return nil, err
	}
	return d.over(below, info), nil
}

// over returns the endpoint over one below.
func (d *domain) over(below core.EndpointDriver, info *core.Info) *endpoint {
	k := d.k
	if other := d.h.profile.kind(info.EP.Type); other != nil {
		k = other
	}
	ep := hook.Endpoint{EndpointDriver: below}
	s := &state{d: d, k: k, info: info.Dup(), below: ep, ep: below, tx: direction{size: info.Tx.Size}, rx: direction{size: info.Rx.Size}}
	s.info.Domain = cmp.Or(s.info.Domain, d.info.Domain)
	d.mu.Lock()
	d.eps[s] = true
	d.mu.Unlock()
	d.h.opened(s)
	return &endpoint{lowerEP: lowerEP{ep}, poster: poster{s, ep, info.Tx.OpFlags, info.Rx.OpFlags}}
}

// Enable is fi_enable(3); Connect and Accept enable the endpoint, too (fi_connect(3)).
func (e *endpoint) Enable() error { return e.s.started(e.Endpoint.Enable()) }

// Connect is fi_connect(3).
func (e *endpoint) Connect(dest core.Addr, param []byte) error {
	return e.s.started(e.Endpoint.Connect(dest, param))
}

// Accept is fi_accept(3).
func (e *endpoint) Accept(param []byte) error { return e.s.started(e.Endpoint.Accept(param)) }

// Shutdown is fi_shutdown(3).
func (e *endpoint) Shutdown() error {
	e.s.release()
	return e.Endpoint.Shutdown()
}

// Alias is fi_ep_alias(3).
func (e *endpoint) Alias(dir core.BindFlags, flags core.OpFlags) (core.EndpointDriver, error) {
	if e.s.k.Lacks&LacksAlias != 0 {
		return nil, e.s.d.h.misuse("fi_ep_alias", core.ErrNoSys, "the provider has no aliases of such endpoints: pass flags to the msg variants of calls")
	}
	below, err := e.Endpoint.Alias(dir, flags)
	if err != nil {
		return nil, err
	}
	a := &endpoint{lowerEP: lowerEP{hook.Endpoint{EndpointDriver: below}}, poster: e.poster, alias: true}
	a.below = a.Endpoint
	a.setFlags(dir == core.BindTransmit, flags)
	return a, nil
}

// SetOpFlags is FI_SETOPSFLAG (fi_endpoint(3)).
func (e *endpoint) SetOpFlags(dir core.BindFlags, flags core.OpFlags) error {
	err := e.Endpoint.SetOpFlags(dir, flags)
	if err == nil {
		e.setFlags(dir == core.BindTransmit, flags)
	}
	return err
}

func (p *poster) setFlags(transmit bool, flags core.OpFlags) {
	if transmit {
		p.txFlags = flags
	} else {
		p.rxFlags = flags
	}
}

// Close is fi_close(3).
func (e *endpoint) Close() error {
	if e.alias {
		return e.Endpoint.Close()
	}
	if e.s.closed.Load() {
		return e.s.d.h.misuse("fi_close", core.ErrBadF, "the endpoint is closed already. On hardware: a double free")
	}
	e.s.dropHeld()
	if err := e.Endpoint.Close(); err != nil {
		return err
	}
	e.s.closed.Store(true)
	e.s.d.h.ended(e.s)
	e.s.d.forget(e.s)
	return nil
}

// scalable is a scalable endpoint.
type scalable struct {
	*endpoint
	contexts core.ScalableDriver // below
}

// OpenScalable is fi_scalable_ep (fi_endpoint(3)).
func (d *domain) OpenScalable(info *core.Info, self *core.ScalableEndpoint) (core.ScalableDriver, error) {
	below, err := d.Domain.OpenScalable(info, self)
	if err != nil {
		return nil, err
	}
	return scalable{d.over(below, info), below}, nil
}

// TxContext is fi_tx_context(3).
func (e scalable) TxContext(index int, attr *core.TxAttr) (core.EndpointDriver, error) {
	below, err := e.contexts.TxContext(index, attr)
	if err != nil {
		return nil, err
	}
	c := e.context(below)
	if attr != nil {
		c.txFlags = attr.OpFlags
	}
	return c, nil
}

// RxContext is fi_rx_context(3).
func (e scalable) RxContext(index int, attr *core.RxAttr) (core.EndpointDriver, error) {
	below, err := e.contexts.RxContext(index, attr)
	if err != nil {
		return nil, err
	}
	c := e.context(below)
	if attr != nil {
		c.rxFlags = attr.OpFlags
	}
	return c, nil
}

// context returns the endpoint over a context of e.
func (e scalable) context(below core.EndpointDriver) *endpoint {
	c := e.s.d.over(below, e.s.info)
	c.s.av = e.s.av
	return c
}

// sharedRx is a shared receive context.
type sharedRx struct {
	lowerSRX
	poster
}

// lowerSRX is for sharedRx what lowerEP is for endpoint.
type lowerSRX struct{ hook.SRX }

// OpenSRX is fi_srx_context(3).
func (d *domain) OpenSRX(attr *core.RxAttr) (core.SRXDriver, error) {
	below, err := d.Domain.OpenSRX(attr)
	if err != nil {
		return nil, err
	}
	srx := hook.SRX{SRXDriver: below}
	s := &state{d: d, k: d.k, info: d.info, below: srx, rx: direction{size: d.info.Rx.Size}}
	s.enabled.Store(true)
	x := &sharedRx{lowerSRX{srx}, poster{s: s, below: srx}}
	if attr != nil {
		x.rxFlags = attr.OpFlags
	}
	return x, nil
}

// Close is fi_close(3).
func (x *sharedRx) Close() error {
	err := x.SRX.Close()
	if err == nil {
		x.s.closed.Store(true)
		x.s.d.forget(x.s)
	}
	return err
}
