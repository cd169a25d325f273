package rxm

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/endpoint"
)

// layerName is the layer's name in provider strings.
const layerName = "ofi_rxm"

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

// New returns the layer with the parameters of params, nil for the defaults; host resolves the names given to address vectors. An error names a variable that
// makes no sense.
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

// Params defines the variables FI_OFI_RXM_*.
func (p *Provider) Params() []core.Param { return params() }

// Name is "ofi_rxm".
func (p *Provider) Name() string { return layerName }

// Version is that of the other providers.
func (p *Provider) Version() core.Version { return core.ProviderVersion }

// Below says that the layer stands on connections.
func (p *Provider) Below() core.EPType { return core.EPTypeMsg }

// CoreHints asks the provider below for connections with messages and RMA, and a shared receive context, which is how connections receive here: the rest
// is made here.
func (p *Provider) CoreHints(_ core.Version, hints *core.Info) (*core.Info, error) {
	h := &core.Info{Caps: core.CapMsg | core.CapRMA, EP: &core.EPAttr{RxCtxCnt: core.SharedContext}}
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

// Infos says what the layer makes of base: nothing of connections that receive each into buffers of its own.
func (p *Provider) Infos(base *core.Info) []*core.Info {
	if base.EP.RxCtxCnt != core.SharedContext {
		return nil
	}
	return []*core.Info{p.s.info(base)}
}

// SetDefaults puts the default sizes in place of the limits, as native does, and takes away orders that nobody asked for.
func (p *Provider) SetDefaults(info, hints *core.Info) {
	endpoint.RelaxOrder(info, hints)
	p.s.defaults(info)
}

// OpenFabric is not called, for a layer needs something below it.
func (p *Provider) OpenFabric(*core.Info) (core.FabricDriver, error) {
	return nil, &core.OpError{Op: "fi_fabric", Provider: layerName, Err: core.ErrNoSys, Hint: "name the provider below, as in tcp;ofi_rxm"}
}

// OpenFabricOver opens the layer's fabric over that of a provider of connections (fi_fabric(3)). The fabric below is closed with it.
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
	core.ErrConnRefused: "is an rxm endpoint listening there, with the same FI_OFI_RXM_BUFFER_SIZE and byte order?",
	core.ErrTimedOut:    "check the address, the route and the firewall, or raise FI_OFI_RXM_CONNECT_TIMEOUT",
}
