package endpoint

import (
	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// Reliable is the common part of endpoints whose peers are connections of package engine: transfers, a receive
// context, and an authorization key. A provider embeds it in its endpoints.
type Reliable struct {
	Endpoint
	Transfers
	// Own is the receive context of the endpoint's connections: its own, or the shared one after ShareRx. Locked.
	Own   *engine.RxContext
	whole Whole
}

// Whole is a provider's endpoint that embeds Reliable.
type Whole interface {
	core.EndpointDriver
	Observed
	// Conns yields all connections. Locked.
	Conns(yield func(*engine.Conn) bool)
}

// InitReliable prepares e, an endpoint on d. info is copied. sink takes completions of receives that belong to no
// connection. ready refuses receives in the wrong state (usually CanReceive). It fails when the authorization key
// is invalid.
func (e *Reliable) InitReliable(d *Domain, info *core.Info, ends Ends, sink engine.CompletionSink, r Router, ready func() error) error {
	auth, err := d.KeyOf("fi_endpoint", info)
	if err != nil {
		return err
	}
	e.InitEndpoint(d, info, ends)
	e.auth, e.linger = auth, d.cfg.Linger
	e.Own = engine.NewRxContext(d.Pool(), sink)
	d.cfg.Limits.Apply(e.Own, info.Rx)
	e.InitTransmitter(&e.Endpoint, r)
	e.InitReceiver(&e.Endpoint, e.Own, ready, info.EP.Type == core.EPTypeRDM && info.Caps&core.CapDirectedRecv != 0)
	e.initCollective(e.Own)
	return nil
}

// Opened adds e to the open endpoints of its domain, until Unbind (Endpoint.Opened). w is the provider's endpoint,
// which embeds e.
func (e *Reliable) Opened(w Whole) {
	e.whole = w
	e.Endpoint.Opened(w)
}

// Auth returns the authorization key, nil if there is none. The key is known after CheckEnable.
func (e *Reliable) Auth() *Auth { return e.auth }

// Memory returns the memory that peers may access.
func (e *Reliable) Memory() engine.Memory {
	if e.auth == nil {
		return e.d
	}
	return e.auth
}

// Pool returns the buffers that the connections of the domain share. Locked.
func (e *Reliable) Pool() *engine.Pool { return e.d.Pool() }

// ShareRx binds a shared receive context (fi_ep_bind(3)). It replaces Own, and connections receive into the new one
// from then on. Not locked.
func (e *Reliable) ShareRx(srx *SharedRx) error {
	rx, err := e.TakeSRX(srx)
	if err == nil {
		e.prog.Lock()
		e.Own = rx
		e.prog.Unlock()
	}
	return err
}

// Cancel cancels a receive, or a send that has not begun (fi_cancel(3)).
func (e *Reliable) Cancel(ctx core.OpContext) error {
	e.prog.Lock()
	defer e.prog.Unlock()
	if !e.Shared() && e.Own.Cancel(uint64(ctx)) || e.d.work.cancel(&e.Endpoint, ctx) {
		return nil
	}
	for c := range e.whole.Conns {
		if c.Cancel(uint64(ctx)) {
			return nil
		}
	}
	return core.ErrNoEnt
}

// Forget implements Forgetter.
func (e *Reliable) Forget(key uint64) {
	for c := range e.whole.Conns {
		c.Forget(key)
	}
}

// GetOpt is fi_getopt (fi_endpoint(3)).
func (e *Reliable) GetOpt(opt core.EPOpt) (int, error) {
	e.prog.Lock()
	defer e.prog.Unlock()
	return e.Option(e.Own, opt)
}

// SetOpt is fi_setopt (fi_endpoint(3)).
func (e *Reliable) SetOpt(opt core.EPOpt, value int) error {
	e.prog.Lock()
	defer e.prog.Unlock()
	return e.SetOption(e.Own, opt, value)
}

// Alias opens a second handle of the endpoint (fi_ep_alias(3)).
func (e *Reliable) Alias(dir core.BindFlags, flags core.OpFlags) (core.EndpointDriver, error) {
	return e.OpenAlias(e.whole, &e.Transfers, dir, flags)
}

// CloseWith closes the endpoint (fi_close(3)). It drains d for as long as OptLinger allows, and then calls end,
// locked, to end the connections. An error of Drain means that peers have lost data. The endpoint is closed all the
// same.
func (e *Reliable) CloseWith(d Drainer, end func()) error {
	e.prog.Lock()
	if err := e.BeginClose(); err != nil {
		e.prog.Unlock()
		return err
	}
	err := e.Drain(d)
	end()
	e.EndRx()
	e.prog.Unlock()
	e.Unbind()
	return err
}

// EndRx releases the receive context, after the endpoint's connections have closed. Locked.
func (e *Reliable) EndRx() {
	if e.srx == nil {
		e.Own.Release()
		return
	}
	e.srx.Unbound(&e.Endpoint)
}
