package tcp

import "gofabric/core"

// aliases counts the aliases of an endpoint, which must not close before them.
type aliases struct{ n int }

func (a *aliases) aliased() bool { return a.n > 0 }

// alias is a second door to an endpoint, with default operation flags of its own for one direction (fi_ep_alias(3)).
type alias struct {
	control
	transmitter
	receiver
	n *aliases
	e *endpoint
}

// control is the endpoint itself, one level down, so that the alias' own data calls come first.
type control struct{ core.Endpoint }

// makeAlias opens an alias of ep.
func makeAlias(ep core.Endpoint, e *endpoint, t *transmitter, r *receiver, n *aliases, flags core.Flags) (core.Endpoint, error) {
	dir := flags & (core.Transmit | core.Recv)
	op := flags &^ dir
	a := &alias{control: control{ep}, transmitter: *t, receiver: *r, n: n, e: e}
	switch {
	case dir == core.Transmit && op&^txOpFlags == 0:
		a.transmitter.own, a.transmitter.flags = true, op
	case dir == core.Recv && op&^srxOpFlags == 0:
		a.receiver.flags = func() core.Flags { return op }
	default:
		return nil, opError("fi_ep_alias", e.name(), noPeer, core.ErrBadFlags, "give Transmit or Recv, and operation flags of that direction")
	}
	e.prog.Lock()
	n.n++
	e.prog.Unlock()
	return a, nil
}

// Close closes the alias only.
func (a *alias) Close() error {
	a.e.prog.Lock()
	defer a.e.prog.Unlock()
	if a.n == nil {
		return core.ErrBadF
	}
	a.n.n--
	a.n = nil
	return nil
}
