package rxd

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/layer"
)

// layerName is the layer's name in provider strings.
const layerName = "ofi_rxd"

type base = layer.Base

// Provider is the layer.
type Provider struct {
	base
	s    *settings
	host core.Host // knows how a peer is reached; may be nil
}

var (
	_ core.Layer        = (*Provider)(nil)
	_ core.Defaulter    = (*Provider)(nil)
	_ core.Parametrized = (*Provider)(nil)
)

// New returns the layer with the parameters of params, nil for the defaults. host resolves the names given to
// address vectors, and knows how a peer is reached. An error names a variable with an invalid value.
func New(params *core.Params, host core.Host) (*Provider, error) {
	s, err := readSettings(params)
	if err != nil {
		return nil, err
	}
	return &Provider{base: layer.NewBase(layerName, core.EPTypeDgram, "udp;ofi_rxd", defs(), host), s: s, host: host}, nil
}

// CoreHints asks the provider below for datagrams only. The layer adds everything else.
func (p *Provider) CoreHints(_ core.Version, hints *core.Info) (*core.Info, error) {
	return layer.HintsBelow(core.CapMsg, hints), nil
}

// The longest native packet, and the bytes of an inject that native subtracts for its headers. Native counts the
// remote ranges twice (rxd_init.c).
const (
	nativeMax      = 4096
	nativeOverhead = 216
)

// ctxSize is the number of transmits of an endpoint. It is also the number of receives, unless the hints ask for
// more.
const ctxSize = 1024

// Infos returns what the layer offers over below (fi_rxd(7)).
func (p *Provider) Infos(below *core.Info) []*core.Info {
	o := layer.Offer{Protocol: core.ProtoRXD, Extended: p.s.Extensions, TxSize: ctxSize, MaxMsgSize: core.MaxSize, CQs: 128, EPs: 128}
	if below.EP != nil {
		o.InjectSize = max(min(below.EP.MaxMsgSize, nativeMax)-nativeOverhead, 0)
	}
	i := layer.Info(&p.base, below, o)
	if !p.s.Extensions {
		i.EP.AuthKeySize, i.Domain.AuthKeySize, i.Domain.MaxEPAuthKey = 0, 0, 0
	}
	return []*core.Info{i}
}

// SetDefaults replaces the limit on receives by their default number, and clears orders that the hints do not ask
// for.
func (p *Provider) SetDefaults(info, hints *core.Info) {
	endpoint.RelaxOrder(info, hints)
	info.Rx.Size = ctxSize
}

// OpenFabricOver opens the layer's fabric over that of a provider of datagrams (fi_fabric(3)). The fabric below is
// closed with it.
func (p *Provider) OpenFabricOver(info *core.Info, below core.FabricDriver) (core.FabricDriver, error) {
	return layer.NewFabric(&p.base, info, below, hints, p.openDomain), nil
}

// hints says what the user can do about errors, where the layer knows more than package endpoint.
var hints = map[core.Errno]string{
	core.ErrTimedOut:    "is an endpoint at that address, and does the firewall let UDP through both ways?",
	core.ErrConnRefused: "is an endpoint at that address, and does the firewall let UDP through both ways?",
}
