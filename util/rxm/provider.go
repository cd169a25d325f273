package rxm

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/layer"
)

// layerName is the layer's name in provider strings.
const layerName = "ofi_rxm"

type base = layer.Base

// Provider is the layer.
type Provider struct {
	base
	s *settings
}

var (
	_ core.Layer        = (*Provider)(nil)
	_ core.Defaulter    = (*Provider)(nil)
	_ core.Parametrized = (*Provider)(nil)
)

// New returns the layer with the parameters of params, nil for the defaults. host resolves the names given to
// address vectors. An error names a variable with an invalid value.
func New(params *core.Params, host core.Host) (*Provider, error) {
	s, err := readSettings(params)
	if err != nil {
		return nil, err
	}
	return &Provider{layer.NewBase(layerName, core.EPTypeMsg, "tcp;ofi_rxm", defs(), host), s}, nil
}

// CoreHints asks the provider below for connections with messages and RMA, and for a shared receive context, into
// which connections of this layer receive. The layer adds everything else.
func (p *Provider) CoreHints(_ core.Version, hints *core.Info) (*core.Info, error) {
	h := layer.HintsBelow(core.CapMsg|core.CapRMA, hints)
	h.EP = &core.EPAttr{RxCtxCnt: core.SharedContext}
	return h, nil
}

// txSizeMax is the most transmits that an endpoint can be asked for, unless the variable allows more.
const txSizeMax = 16384

// Infos returns what the layer offers over below (fi_rxm(7)). It offers nothing over connections that cannot share
// a receive context.
func (p *Provider) Infos(below *core.Info) []*core.Info {
	if below.EP.RxCtxCnt != core.SharedContext {
		return nil
	}
	i := layer.Info(&p.base, below, layer.Offer{Protocol: core.ProtoRXM, Extended: p.s.Extensions, InjectSize: min(p.s.bufferSize, layer.StagingMax), TxSize: max(txSizeMax, p.s.txSize),
		MaxMsgSize: below.EP.MaxMsgSize, CQs: 1 << 16, EPs: 1 << 15})
	if p.s.conns > 1 {
		spread(i)
	}
	return []*core.Info{i}
}

// spreadOrder are the orders that hold when a peer has several connections: messages and atomics use one of them
// (native's RXM_MQP_MSG_ORDER).
const spreadOrder = core.OrderSAS | core.OrderAtomicRAR | core.OrderAtomicRAW | core.OrderAtomicWAR | core.OrderAtomicWAW

// spread clears the attributes of info that several connections per peer cannot provide.
func spread(info *core.Info) {
	info.Tx.MsgOrder &= spreadOrder
	info.Rx.MsgOrder &= spreadOrder
	info.EP.MaxOrderRAWSize, info.EP.MaxOrderWARSize, info.EP.MaxOrderWAWSize = 0, 0, 0
	info.Caps &^= core.CapFence
	info.Tx.Caps &^= core.CapFence
}

// SetDefaults replaces the limits by the default sizes, as native does, and clears orders that the hints do not ask
// for.
func (p *Provider) SetDefaults(info, hints *core.Info) {
	endpoint.RelaxOrder(info, hints)
	info.Tx.Size, info.Rx.Size = p.s.txSize, p.s.rxSize
	if below := info.Below(); below != nil && below.Tx != nil && below.Tx.InjectSize > 0 {
		// Native subtracts its header. Between gofabric peers there is no such header, and to a native peer it is
		// copied anyway.
		info.Tx.InjectSize = min(below.Tx.InjectSize, info.Tx.InjectSize)
	}
}

// OpenFabricOver opens the layer's fabric over that of a provider of connections (fi_fabric(3)). The fabric below
// is closed with it.
func (p *Provider) OpenFabricOver(info *core.Info, below core.FabricDriver) (core.FabricDriver, error) {
	return layer.NewFabric(&p.base, info, below, hints, p.openDomain), nil
}

// hints says what the user can do about errors, where the layer knows more than package endpoint.
var hints = map[core.Errno]string{
	core.ErrConnRefused: "is an rxm endpoint listening there, with the same FI_OFI_RXM_BUFFER_SIZE and byte order?",
	core.ErrTimedOut:    "check the address, the route and the firewall, or raise FI_OFI_RXM_CONNECT_TIMEOUT",
}
