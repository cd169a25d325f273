package fault

import (
	"sync/atomic"

	"gofabric/core"
	"gofabric/internal/layer"
	"gofabric/internal/mono"
	"gofabric/internal/transport/stream"
)

type base = layer.Base

// Provider is the layer.
type Provider struct {
	base
	s     *settings
	ports atomic.Uint64 // ports opened so far; each has random numbers of its own
}

var (
	_ core.Layer        = (*Provider)(nil)
	_ core.NamedOnly    = (*Provider)(nil)
	_ core.Parametrized = (*Provider)(nil)
)

// New returns the layer with the parameters of params, nil for the defaults, which are no faults. host resolves the
// names given to address vectors. An error names a variable with an invalid value.
func New(params *core.Params, host core.Host) (*Provider, error) {
	s, err := readSettings(params)
	if err != nil {
		return nil, err
	}
	// It works over any provider, and offers the endpoints of the provider below.
	return &Provider{base: layer.NewBase(layerName, core.EPTypeUnspec, "udp;fault or tcp;fault", defs(), host), s: s}, nil
}

// NamedOnly keeps the layer out of results of queries that do not name it.
func (p *Provider) NamedOnly() bool { return true }

// CoreHints passes the caller's hints on, without those that name this layer.
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

// Infos offers what the provider below does: a core provider, or, for datagrams, another layer of faults. Over
// other layers there is no network to disturb.
func (p *Provider) Infos(below *core.Info) []*core.Info {
	if below.EP.Type != core.EPTypeDgram && below.Below() != nil {
		return nil
	}
	return []*core.Info{below.Dup()}
}

// OpenFabricOver opens the layer's fabric over that of a provider of datagrams (fi_fabric(3)), which is closed with
// it. The fabric of a provider of connections becomes the layer's fabric: it applies the faults to its connections
// itself (stream.Impairer).
func (p *Provider) OpenFabricOver(info *core.Info, below core.FabricDriver) (core.FabricDriver, error) {
	if c, ok := below.(stream.Impairable); ok {
		if err := c.Impair(info, &maker{s: p.s, start: mono.Now()}); err != nil {
			return nil, err
		}
		return below, nil
	}
	return layer.NewFabric(&p.base, info, below, nil, p.openDomain), nil
}
