package tcp

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
)

// Provider is the tcp provider.
type Provider struct {
	s    *settings
	host core.Host
}

var (
	_ core.Provider     = (*Provider)(nil)
	_ core.Defaulter    = (*Provider)(nil)
	_ core.Parametrized = (*Provider)(nil)
)

// New returns the provider with the parameters of params, nil for the defaults. host resolves the names given to
// address vectors. An error names an invalid variable.
func New(params *core.Params, host core.Host) (*Provider, error) {
	s, err := readSettings(params)
	if err != nil {
		return nil, err
	}
	return &Provider{s: s, host: host}, nil
}

// Params defines the variables FI_TCP_*.
func (p *Provider) Params() []core.Param { return defs() }

// Name returns "tcp", or the value of FI_TCP_PROV_NAME.
func (p *Provider) Name() string { return p.s.provName }

// Version returns the version of libfabric's tcp provider with the same API version.
func (p *Provider) Version() core.Version { return core.ProviderVersion }

// Infos describes the three kinds of endpoint. tcp is a core provider, so it ignores the Info of a provider below.
func (p *Provider) Infos(*core.Info) []*core.Info { return infos(p.s) }

// SetDefaults replaces the limits of the queue sizes by the defaults. Like libfabric, it keeps the limit of the
// receive size where hints have no endpoint attributes or ask for a shared context.
func (p *Provider) SetDefaults(info, hints *core.Info) {
	endpoint.RelaxOrder(info, hints)
	info.Tx.Size = p.s.txSize
	info.Rx.Size = maxCtxSize
	if info.EP.RxCtxCnt != core.SharedContext {
		if info.EP.Type == core.EPTypeMsg {
			info.Rx.Size = msgCtxSize
		}
		if hints != nil && hints.EP != nil && hints.EP.RxCtxCnt != core.SharedContext {
			info.Rx.Size = p.s.rxSize
		}
	}
}

// OpenFabric opens the fabric of info (fi_fabric(3)).
func (p *Provider) OpenFabric(info *core.Info) (core.FabricDriver, error) {
	return newFabric(p, info), nil
}
