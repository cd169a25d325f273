package dgramep

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
)

// alias is another handle of an endpoint, with default operation flags of its own for one direction
// (fi_ep_alias(3)).
type alias struct {
	control
	transfers
	closed bool
}

// control is the endpoint, embedded one level deeper, so that the alias' own data calls take precedence.
type control struct{ core.EndpointDriver }

// The operation flags that an alias may have.
const (
	txOpFlags = core.OpCompletion | core.OpInject | core.OpInjectComplete | core.OpTransmitComplete | core.OpMulticast
	rxOpFlags = core.OpCompletion
)

// Alias opens an alias (fi_ep_alias(3)). dir is BindTransmit or BindRecv, and op are operation flags of that
// direction.
func (e *dgramEndpoint) Alias(dir core.BindFlags, op core.OpFlags) (core.EndpointDriver, error) {
	a := &alias{control: control{e}, transfers: transfers{sends{e: e}, receives{e: e}}}
	switch {
	case dir == core.BindTransmit && op&^txOpFlags == 0:
		a.sends.own, a.sends.flags = true, op
	case dir == core.BindRecv && op&^rxOpFlags == 0:
		a.receives.own, a.receives.flags = true, op
	default:
		return nil, e.Refuse("fi_ep_alias", endpoint.NoPeer, core.ErrBadFlags, "pass BindTransmit or BindRecv, and operation flags of that direction")
	}
	e.prog.Lock()
	defer e.prog.Unlock()
	if e.Closed() {
		return nil, core.ErrBadF
	}
	e.aliases++
	return a, nil
}

// OpFlags is FI_GETOPSFLAG of the alias (fi_endpoint(3)). It returns the endpoint's flags until the alias has its
// own.
func (a *alias) OpFlags(dir core.BindFlags) (core.OpFlags, error) {
	e := a.sends.e
	e.prog.Lock()
	defer e.prog.Unlock()
	switch dir {
	case core.BindTransmit:
		return a.sends.defaults(), nil
	case core.BindRecv:
		return a.receives.defaults(), nil
	}
	return 0, e.Refuse("fi_control", endpoint.NoPeer, core.ErrInval, "pass BindTransmit or BindRecv")
}

// SetOpFlags is FI_SETOPSFLAG of the alias. It does not change the endpoint's flags.
func (a *alias) SetOpFlags(dir core.BindFlags, flags core.OpFlags) error {
	e := a.sends.e
	e.prog.Lock()
	defer e.prog.Unlock()
	switch {
	case dir == core.BindTransmit && flags&^txOpFlags == 0:
		a.sends.own, a.sends.flags = true, flags
	case dir == core.BindRecv && flags&^rxOpFlags == 0:
		a.receives.own, a.receives.flags = true, flags
	default:
		return e.Refuse("fi_control", endpoint.NoPeer, core.ErrBadFlags, "pass BindTransmit or BindRecv, and operation flags of that direction")
	}
	return nil
}

// Close closes the alias only.
func (a *alias) Close() error {
	e := a.sends.e
	e.prog.Lock()
	defer e.prog.Unlock()
	if a.closed {
		return core.ErrBadF
	}
	a.closed = true
	e.aliases--
	return nil
}
