package comply

import (
	"gofabric/core"
	"gofabric/util/hook"
)

// endpoint is an active endpoint, or an alias of one.
type endpoint struct {
	hook.Endpoint
	*held
	poster
}

func (e *endpoint) Post(op core.Op) error { return e.post(op, e.Endpoint.Post) }

func (e *endpoint) Cancel(ctx core.OpContext) error { return e.cancel(ctx, e.Endpoint.Cancel) }

func (e *endpoint) Alias(dir core.BindFlags, flags core.OpFlags) (core.EndpointDriver, error) {
	below, err := e.Endpoint.Alias(dir, flags)
	if err != nil {
		return nil, missing("fi_ep_alias", err)
	}
	a := &endpoint{hook.Endpoint{EndpointDriver: below}, e.hold(below), e.poster}
	if a.ep = below; dir == core.BindRecv {
		a.rx = flags
	}
	return a, nil
}

func (e *endpoint) SetOpFlags(dir core.BindFlags, flags core.OpFlags) error {
	err := e.Endpoint.SetOpFlags(dir, flags)
	if err == nil && dir == core.BindRecv {
		e.rx = flags
	}
	return err
}

func (e *endpoint) Join(addr core.Addr, flags core.JoinFlags, ctx any, made func(core.MCDriver) *core.MC) error {
	return e.Endpoint.Join(addr, flags, ctx, e.group(made))
}

func (e *endpoint) JoinCollective(coll core.FIAddr, set core.AVSetDriver, flags core.JoinFlags, ctx any,
	made func(core.MCDriver) *core.MC) error {
	return e.Endpoint.JoinCollective(coll, set, flags, ctx, e.group(made))
}

// group wraps a group of the stack.
func (e *endpoint) group(made func(core.MCDriver) *core.MC) func(core.MCDriver) *core.MC {
	return func(below core.MCDriver) *core.MC { return made(&group{hook.MC{MCDriver: below}, e.hold(below)}) }
}

// group is a membership in a multicast or collective group.
type group struct {
	hook.MC
	*held
}

// sharedRx is a shared receive context.
type sharedRx struct {
	hook.SRX
	*held
	poster
}

func (x *sharedRx) Post(op core.Op) error { return x.post(op, x.SRX.Post) }

func (x *sharedRx) Cancel(ctx core.OpContext) error { return x.cancel(ctx, x.SRX.Cancel) }
