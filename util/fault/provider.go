package fault

import (
	"net/netip"
	"sync/atomic"

	"gofabric/core"
	"gofabric/internal/mono"
	"gofabric/internal/transport/stream"
)

// Provider is the layer.
type Provider struct {
	s     *settings
	host  core.Host
	ports atomic.Uint64 // opened so far: each has random numbers of its own
}

var (
	_ core.Layer        = (*Provider)(nil)
	_ core.NamedOnly    = (*Provider)(nil)
	_ core.Parametrized = (*Provider)(nil)
)

// New returns the layer with the parameters of params, nil for the defaults, which are no faults; host resolves the names given to address vectors. An error
// names a variable that makes no sense.
func New(params *core.Params, host core.Host) (*Provider, error) {
	if params == nil {
		params, _ = core.NewParams(nil, "")
	}
	params.Define((&Provider{}).Params()...)
	s, err := readSettings(params)
	if err != nil {
		return nil, &core.OpError{Op: "fi_getinfo", Provider: layerName, Err: core.ErrInval, Hint: err.Error()}
	}
	return &Provider{s: s, host: host}, nil
}

// Params defines the variables FI_FAULT_*.
func (p *Provider) Params() []core.Param { return params() }

// Name is "fault".
func (p *Provider) Name() string { return layerName }

// Version is that of the other providers.
func (p *Provider) Version() core.Version { return core.ProviderVersion }

// NamedOnly keeps the layer out of results that nobody asked for.
func (p *Provider) NamedOnly() bool { return true }

// Below says that the layer stands on anything: what it offers is what is below.
func (p *Provider) Below() core.EPType { return core.EPTypeUnspec }

// CoreHints passes the caller's hints on, but for what names this layer.
func (p *Provider) CoreHints(_ core.Version, hints *core.Info) (*core.Info, error) {
	if hints == nil {
		return nil, nil
	}
	h := hints.Dup()
	h.Fabric = nil
	if h.Domain != nil {
		h.Domain.Name = ""
	}
	return h, nil
}

// Infos offers what the provider below does: a core provider, or for datagrams another layer of faults. Other layers have no network to disturb.
func (p *Provider) Infos(base *core.Info) []*core.Info {
	if base.EP.Type != core.EPTypeDgram && base.Below() != nil {
		return nil
	}
	return []*core.Info{base.Dup()}
}

// OpenFabric is not called, for a layer needs something below it.
func (p *Provider) OpenFabric(*core.Info) (core.FabricDriver, error) {
	return nil, &core.OpError{Op: "fi_fabric", Provider: layerName, Err: core.ErrNoSys, Hint: "name the provider below, as in udp;fault or tcp;fault"}
}

// OpenFabricOver opens the layer's fabric over that of a provider of datagrams (fi_fabric(3)), which is closed with it. The fabric of a provider of connections
// becomes the layer's: it is told to have its connections suffer.
func (p *Provider) OpenFabricOver(info *core.Info, below core.FabricDriver) (core.FabricDriver, error) {
	if c, ok := below.(stream.Impairable); ok {
		if err := c.Impair(info, &maker{s: p.s, start: mono.Now()}); err != nil {
			return nil, err
		}
		return below, nil
	}
	f := &fabric{p: p}
	f.InitLayer(info, below, nil)
	return f, nil
}

// resolve is the resolver of address vectors.
func (p *Provider) resolve(node, service string) ([]netip.AddrPort, error) {
	if p.host == nil {
		return nil, core.ErrNoSys
	}
	return p.host.Resolve(node, service, false, false)
}
