package rxd

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/endpoint"
)

// layerName is the layer's name in provider strings.
const layerName = "ofi_rxd"

// Provider is the layer.
type Provider struct {
	s    *settings
	host core.Host
}

var (
	_ core.Layer        = (*Provider)(nil)
	_ core.Defaulter    = (*Provider)(nil)
	_ core.Parametrized = (*Provider)(nil)
)

// New returns the layer with the parameters of params, nil for the defaults; host resolves the names given to address vectors and says from where a peer is
// reached. An error names a variable that makes no sense.
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

// Params defines the variables FI_OFI_RXD_*.
func (p *Provider) Params() []core.Param { return params() }

// Name is "ofi_rxd".
func (p *Provider) Name() string { return layerName }

// Version is that of the other providers.
func (p *Provider) Version() core.Version { return core.ProviderVersion }

// Below says that the layer stands on datagrams.
func (p *Provider) Below() core.EPType { return core.EPTypeDgram }

// CoreHints asks the provider below for datagrams and nothing else: the rest is made here.
func (p *Provider) CoreHints(_ core.Version, hints *core.Info) (*core.Info, error) {
	h := &core.Info{Caps: core.CapMsg}
	if hints == nil {
		return h, nil
	}
	h.AddrFormat = hints.AddrFormat
	h.Caps |= hints.Caps & (core.CapLocalComm | core.CapRemoteComm)
	if hints.Domain != nil {
		h.Domain = &core.DomainAttr{Threading: hints.Domain.Threading, ControlProgress: hints.Domain.ControlProgress, DataProgress: hints.Domain.DataProgress}
	}
	return h, nil
}

// Infos says what the layer makes of base.
func (p *Provider) Infos(base *core.Info) []*core.Info { return []*core.Info{p.s.info(base)} }

// SetDefaults puts the default number of receives in place of the limit, and takes away orders that nobody asked for.
func (p *Provider) SetDefaults(info, hints *core.Info) {
	endpoint.RelaxOrder(info, hints)
	info.Rx.Size = ctxSize
}

// OpenFabric is not called, for a layer needs something below it.
func (p *Provider) OpenFabric(*core.Info) (core.FabricDriver, error) {
	return nil, &core.OpError{Op: "fi_fabric", Provider: layerName, Err: core.ErrNoSys, Hint: "name the provider below, as in udp;ofi_rxd"}
}

// OpenFabricOver opens the layer's fabric over that of a provider of datagrams (fi_fabric(3)). The fabric below is closed with it.
func (p *Provider) OpenFabricOver(info *core.Info, below core.FabricDriver) (core.FabricDriver, error) {
	f := &fabric{p: p}
	f.InitLayer(info, below, hints)
	return f, nil
}

// resolve is the resolver of address vectors.
func (p *Provider) resolve(node, service string) ([]netip.AddrPort, error) {
	if p.host == nil {
		return nil, core.ErrNoSys
	}
	return p.host.Resolve(node, service, false, false)
}

// hints is what to do about errors, where the layer knows better than package endpoint.
var hints = map[core.Errno]string{
	core.ErrTimedOut:    "is an endpoint at that address, and does the firewall let UDP through both ways?",
	core.ErrConnRefused: "is an endpoint at that address, and does the firewall let UDP through both ways?",
}
