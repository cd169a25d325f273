package endpoint

import "gofabric/core"

// triggerAlias is an alias whose operations in direction dir are all triggered (fi_trigger(3)). In C the plain
// calls find the condition in their context. Here only the msg variants carry a condition. The plain calls
// therefore fail with ErrInval rather than transmit too early. Deferred work can use such an alias like any
// endpoint.
type triggerAlias struct {
	*alias
	dir core.BindFlags
}

// Post implements core.EndpointDriver.
func (a *triggerAlias) Post(op core.Op) error {
	if op.Call.Default() && op.Call.Receives() == (a.dir == core.BindRecv) {
		return core.ErrInval
	}
	return a.alias.Post(op)
}

// Send is fi_send (fi_msg(3)).
func (a *triggerAlias) Send(buf []byte, d core.Desc, dest core.FIAddr, ctx core.OpContext) error {
	if a.dir == core.BindTransmit {
		return core.ErrInval
	}
	return a.alias.Send(buf, d, dest, ctx)
}

// TSend is fi_tsend (fi_tagged(3)).
func (a *triggerAlias) TSend(buf []byte, d core.Desc, dest core.FIAddr, tag uint64, ctx core.OpContext) error {
	if a.dir == core.BindTransmit {
		return core.ErrInval
	}
	return a.alias.TSend(buf, d, dest, tag, ctx)
}

// Recv is fi_recv (fi_msg(3)).
func (a *triggerAlias) Recv(buf []byte, d core.Desc, src core.FIAddr, ctx core.OpContext) error {
	if a.dir == core.BindRecv {
		return core.ErrInval
	}
	return a.alias.Recv(buf, d, src, ctx)
}

// TRecv is fi_trecv (fi_tagged(3)).
func (a *triggerAlias) TRecv(buf []byte, d core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.OpContext) error {
	if a.dir == core.BindRecv {
		return core.ErrInval
	}
	return a.alias.TRecv(buf, d, src, tag, ignore, ctx)
}
