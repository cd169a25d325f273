package tcp

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/progress"
	"gofabric/internal/xnet/engine"
)

// baseEndpoint is what MSG and RDM endpoints have in common.
type baseEndpoint struct {
	endpoint.Endpoint
	endpoint.Transfers
	d    *domain
	prog *progress.Engine
	own  *engine.RxContext // the endpoint's own receive context
	auth *endpoint.Auth    // the endpoint's authorization key, nil if it has none
}

// init prepares e; sink takes completions of receives that concern no connection.
func (e *baseEndpoint) init(d *domain, info *core.Info, ends endpoint.Ends, sink engine.Sink, r endpoint.Router) error {
	auth, err := d.KeyOf("fi_endpoint", info)
	if err != nil {
		return err
	}
	e.d, e.prog, e.auth = d, d.prog, auth
	e.InitEndpoint(&d.Domain, info, ends)
	e.SetAuth(auth)
	e.SetLinger(d.s.linger)
	e.own = engine.NewRxContext(d.Pool(), sink)
	d.s.rxLimits().Apply(e.own, info.Rx)
	e.InitTransmitter(&e.Endpoint, r)
	return nil
}

// conn configures connections of the endpoint, of which one has at most txSize operations under way.
func (e *baseEndpoint) conn(txSize int) *engine.Config {
	c := e.d.f.config(txSize)
	c.Auth = e.auth.EngineAuth()
	return c
}

// option answers the options that both have. Locked.
func (e *baseEndpoint) option(rx *engine.RxContext, opt core.EPOpt) (int, error) {
	if opt != core.OptFirewallAddr {
		return e.Option(rx, opt)
	}
	if e.d.s.firewall {
		return 1, nil
	}
	return 0, nil
}
