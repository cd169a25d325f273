package fabrictest

import (
	"gofabric/core"
	"gofabric/internal/dgramep"
	"gofabric/internal/endpoint"
	"gofabric/internal/progress"
	"gofabric/internal/transport/datagram"
)

// provider is "mem": datagrams inside the process.
type provider struct{ n *Node }

// providerName is the provider's name.
const providerName = "mem"

var names = endpoint.Names{Provider: providerName}

func (p *provider) Name() string          { return providerName }
func (p *provider) Version() core.Version { return core.ProviderVersion }

// Infos returns the attributes of a udp endpoint, which this provider replaces.
func (p *provider) Infos(*core.Info) []*core.Info {
	const (
		domainCaps = core.CapLocalComm | core.CapRemoteComm
		txCaps     = core.CapMsg | core.CapSend
		rxCaps     = core.CapMsg | core.CapRecv | core.CapSource
		queue      = 1024
		iovs       = 4
		objects    = 1 << 16
	)
	mtu := p.n.f.cfg.MTU
	return []*core.Info{{
		Caps:       domainCaps | txCaps | rxCaps,
		AddrFormat: core.FormatSockaddrIP,
		Tx:         &core.TxAttr{Caps: txCaps, InjectSize: mtu, Size: queue, IOVLimit: iovs},
		Rx:         &core.RxAttr{Caps: rxCaps, Size: queue, IOVLimit: iovs},
		EP:         &core.EPAttr{Type: core.EPTypeDgram, Protocol: core.ProtoUDP, MaxMsgSize: mtu, TxCtxCnt: 1, RxCtxCnt: 1},
		Domain: &core.DomainAttr{Caps: domainCaps, Threading: core.ThreadSafe, ControlProgress: core.ProgressAuto, DataProgress: core.ProgressAuto,
			ResourceMgmt: core.RMEnabled, MRMode: core.MRModeBasic | core.MRModeScalable, MRKeySize: 8, CQCnt: objects, EPCnt: objects,
			TxCtxCnt: objects, RxCtxCnt: objects, MaxEPTxCtx: 1, MaxEPRxCtx: 1},
		Fabric: &core.FabricAttr{Name: providerName, ProvName: providerName, ProvVersion: core.ProviderVersion},
	}}
}

func (p *provider) OpenFabric(info *core.Info) (core.FabricDriver, error) {
	f := &fabric{n: p.n}
	f.InitFabric(&names, info)
	return f, nil
}

// fabric is an open fabric of mem.
type fabric struct {
	endpoint.Fabric
	n *Node
}

func (f *fabric) OpenDomain(info *core.Info) (core.DomainDriver, error) {
	if info == nil || info.Domain == nil {
		return nil, names.Error("fi_domain", "", endpoint.NoPeer, core.ErrInval, "pass an Info from GetInfo")
	}
	prog := progress.NewVirtual(info.Domain.DataProgress != core.ProgressManual)
	d := &domain{n: f.n}
	d.InitDomain(endpoint.DomainConfig{Names: &names, Fabric: f, Info: info, Progress: prog, Host: f.n.Host(), Down: prog.Close})
	return d, nil
}

// domain is an open domain of mem.
type domain struct {
	endpoint.Domain
	n *Node
}

var _ datagram.Domain = (*domain)(nil)

// OpenPort opens a port at info's source address. Without one, the node chooses the port number.
func (d *domain) OpenPort(info *core.Info, r datagram.Receiver) (datagram.Port, error) {
	p, err := openPort(d, info, r)
	if err != nil {
		return nil, err // not a nil pointer in an interface, which would not equal nil
	}
	return p, nil
}

// OpenEndpoint opens a DGRAM endpoint (fi_endpoint(3)).
func (d *domain) OpenEndpoint(info *core.Info, _ *core.Endpoint) (core.EndpointDriver, error) {
	return dgramep.Open(d, &d.Domain, info)
}

func (d *domain) OpenSRX(*core.RxAttr) (core.SRXDriver, error) {
	return nil, names.Error("fi_srx_context", d.Name(), endpoint.NoPeer, core.ErrNoSys, "DGRAM endpoints have no shared receive contexts")
}
