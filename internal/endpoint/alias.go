package endpoint

import (
	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/xnet/engine"
)

// alias is a second handle of an endpoint. It has default operation flags of its own for one direction
// (fi_ep_alias(3)).
type alias struct {
	control
	Transfers
	e *Endpoint // nil when closed
}

// control holds the endpoint one embedding level deeper, so that the alias' own data calls win in Go's method
// selection.
type control struct{ core.EndpointDriver }

// OpenAlias opens an alias of ep, a second handle with its own operation flags (fi_ep_alias(3)). e and x are the
// parts of ep. dir is BindTransmit or BindRecv, and flags are operation flags of that direction. The endpoint
// cannot close before its aliases. The caller does not hold the lock.
func (e *Endpoint) OpenAlias(ep core.EndpointDriver, x *Transfers, dir core.BindFlags, flags core.OpFlags) (core.EndpointDriver, error) {
	op := flags &^ core.OpTrigger
	e.prog.Lock() // for lastRoute
	a := &alias{control: control{ep}, Transfers: *x, e: e}
	e.prog.Unlock()
	switch {
	case flags&core.OpTrigger != 0 && e.info.Caps&core.CapTrigger == 0:
		return nil, e.Refuse("fi_ep_alias", NoPeer, core.ErrOpNotSupp, "ask for CapTrigger")
	case dir == core.BindTransmit && op&^TxOpFlags == 0:
		a.Transmitter.own, a.Transmitter.flags = true, op
	case dir == core.BindRecv && op&^RxOpFlags == 0:
		a.Receiver.flags = &op
	default:
		return nil, e.Refuse("fi_ep_alias", NoPeer, core.ErrBadFlags, "pass BindTransmit or BindRecv, and operation flags of that direction")
	}
	e.prog.Lock()
	e.aliases++
	e.prog.Unlock()
	if flags&core.OpTrigger != 0 {
		return &triggerAlias{a, dir}, nil
	}
	return a, nil
}

// OpFlags is FI_GETOPSFLAG (fi_endpoint(3)). An alias without flags of its own for dir returns the endpoint's.
func (a *alias) OpFlags(dir core.BindFlags) (core.OpFlags, error) {
	e := a.Transmitter.e
	e.prog.Lock()
	switch {
	case dir == core.BindTransmit && a.Transmitter.own:
		defer e.prog.Unlock()
		return a.Transmitter.flags, nil
	case dir == core.BindRecv:
		defer e.prog.Unlock()
		return *a.Receiver.flags, nil
	}
	e.prog.Unlock()
	return a.control.OpFlags(dir)
}

// SetOpFlags is FI_SETOPSFLAG. It changes the alias only.
func (a *alias) SetOpFlags(dir core.BindFlags, flags core.OpFlags) error {
	e := a.Transmitter.e
	if err := e.checkOpFlags(dir, flags); err != nil {
		return err
	}
	e.prog.Lock()
	defer e.prog.Unlock()
	if dir == core.BindTransmit {
		a.Transmitter.own, a.Transmitter.flags = true, flags
	} else {
		a.Receiver.flags = &flags
	}
	return nil
}

// Close closes the alias only. Operations posted before go on. Later posts through it fail with ErrOpBadState, as
// with any closed endpoint.
func (a *alias) Close() error {
	prog := a.Transmitter.e.prog
	prog.Lock()
	defer prog.Unlock()
	if a.e == nil {
		return core.ErrBadF
	}
	a.e.aliases--
	a.e = nil
	a.Transmitter.r, a.Transmitter.lastRoute, a.Receiver.ready = closedRouter{}, lastRoute{}, closedReady
	return nil
}

// closedRouter is the Router of a closed alias. Operations posted before the close go on.
type closedRouter struct{}

// Route and Posted implement Router.
func (closedRouter) Route(core.FIAddr) (*engine.Conn, error) { return nil, core.ErrOpBadState }
func (closedRouter) Posted(*engine.Conn, bool) *batch.Stream { return nil }

// closedReady refuses receives through a closed alias.
func closedReady() error { return core.ErrOpBadState }
