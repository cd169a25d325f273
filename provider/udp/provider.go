package udp

import (
	"gofabric/core"
)

// Provider is the udp provider.
type Provider struct {
	s    *settings
	host core.Host
}

var (
	_ core.Provider     = (*Provider)(nil)
	_ core.Parametrized = (*Provider)(nil)
)

// New returns the provider with the parameters of params, nil for the defaults. host resolves the names given to
// address vectors. An error names a variable with an invalid value.
func New(params *core.Params, host core.Host) (*Provider, error) {
	s, err := readSettings(params)
	if err != nil {
		return nil, err
	}
	return &Provider{s: s, host: host}, nil
}

// Params defines the variables FI_UDP_*.
func (p *Provider) Params() []core.Param { return defs() }

// Name is "udp".
func (p *Provider) Name() string { return "udp" }

// Version is that of native's udp provider of the same API version.
func (p *Provider) Version() core.Version { return core.ProviderVersion }

// Infos describes the one kind of endpoint. udp is not a layer, so it ignores its argument.
func (p *Provider) Infos(*core.Info) []*core.Info { return infos(p.s) }

// OpenFabric opens the fabric of info (fi_fabric(3)).
func (p *Provider) OpenFabric(info *core.Info) (core.FabricDriver, error) {
	if info == nil || info.Fabric == nil {
		return nil, opError("fi_fabric", "", core.ErrInval, "pass an Info from GetInfo")
	}
	return newFabric(p, info), nil
}
