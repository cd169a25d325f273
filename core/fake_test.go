package core_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"gofabric/core"
)

// fakeProvider is a core provider with the given offers.
type fakeProvider struct {
	name   string
	offers []*core.Info
	opened []*core.Info
}

func (p *fakeProvider) Name() string                   { return p.name }
func (p *fakeProvider) Version() core.Version          { return core.V(206, 0) }
func (p *fakeProvider) Infos(*core.Info) []*core.Info  { return p.offers }
func (p *fakeProvider) SetDefaults(info, _ *core.Info) { info.Tx.Size = min(info.Tx.Size, 256) }
func (p *fakeProvider) OpenFabric(i *core.Info) (core.FabricDriver, error) {
	p.opened = append(p.opened, i)
	return fakeFabric{name: p.name}, nil
}

type fakeFabric struct {
	core.FabricDriver
	name string
}

func (fakeFabric) Close() error { return nil }

// fakeLayer offers RDM over endpoints of another kind.
type fakeLayer struct {
	fakeProvider
	below     core.EPType
	namedOnly bool
}

func (l *fakeLayer) Below() core.EPType { return l.below }
func (l *fakeLayer) NamedOnly() bool    { return l.namedOnly }
func (l *fakeLayer) CoreHints(_ core.Version, hints *core.Info) (*core.Info, error) {
	if hints != nil && hints.Caps&core.CapHMem != 0 {
		return nil, errors.New("caps: device memory is not offered")
	}
	return nil, nil
}
func (l *fakeLayer) Infos(base *core.Info) []*core.Info {
	i := offer(core.EPTypeRDM, core.CapMsg|core.CapTagged|core.CapSend|core.CapRecv)
	const reach = core.CapLocalComm | core.CapRemoteComm
	i.Caps = i.Caps&^reach | base.Caps&reach
	i.Domain.Caps = i.Caps & reach
	if l.namedOnly {
		i = base.Dup()
	}
	return []*core.Info{i}
}
func (l *fakeLayer) OpenFabricOver(i *core.Info, below core.FabricDriver) (core.FabricDriver, error) {
	return fakeFabric{name: below.(fakeFabric).name + ";" + l.name}, nil
}

// offer returns what a fake provider can do for one type of endpoint.
func offer(t core.EPType, caps core.Caps) *core.Info {
	caps |= core.CapLocalComm | core.CapRemoteComm
	return &core.Info{
		Caps: caps, AddrFormat: core.FormatSockaddrIP,
		Tx: &core.TxAttr{Caps: caps &^ (core.CapRecv | core.CapRemoteRead | core.CapRemoteWrite | core.CapSource),
			InjectSize: 128, Size: 1024, IOVLimit: 4, RMAIOVLimit: 4, OpFlags: core.OpCompletion | core.OpInject,
			MsgOrder: core.OrderSAS},
		Rx: &core.RxAttr{Caps: caps &^ (core.CapSend | core.CapRead | core.CapWrite), Size: 1024, IOVLimit: 4,
			OpFlags: core.OpCompletion, MsgOrder: core.OrderSAS},
		EP: &core.EPAttr{Type: t, Protocol: core.ProtoSockTCP, ProtocolVersion: 1, MaxMsgSize: 1 << 20, TxCtxCnt: 1,
			RxCtxCnt: 1, MemTagFormat: core.TagGeneric >> 16, MaxOrderRAWSize: 100, MaxOrderWAWSize: 100},
		Domain: &core.DomainAttr{Threading: core.ThreadSafe, ControlProgress: core.ProgressAuto,
			DataProgress: core.ProgressAuto, ResourceMgmt: core.RMEnabled,
			MRMode: core.MRModeBasic | core.MRModeScalable, MRKeySize: 8, CQDataSize: 8, CQCnt: 256, EPCnt: 256,
			MaxEPTxCtx: 1, MaxEPRxCtx: 1, MRIOVLimit: 1, Caps: core.CapLocalComm | core.CapRemoteComm},
		Fabric: &core.FabricAttr{},
	}
}

// fakeHost is a machine with eth0, eth1 and lo, and with a resolver that knows a few names.
type fakeHost struct {
	lookups int
	broken  error // error of Interfaces
}

func iface(name, prefix string) core.Iface {
	p := netip.MustParsePrefix(prefix)
	return core.Iface{Name: name, Addr: p.Addr(), Prefix: p.Masked()}
}

func (h *fakeHost) Interfaces() ([]core.Iface, error) {
	return []core.Iface{iface("eth0", "10.0.0.5/24"), iface("eth0", "fe80::5/64"), iface("eth1", "10.1.0.5/16"),
		iface("lo", "127.0.0.1/8"), iface("lo", "::1/128")}, h.broken
}

func (h *fakeHost) FilterInterfaces(list []core.Iface, spec string) (kept []core.Iface, refused []core.RefusedIface,
	err error) {
	for _, i := range list {
		if spec == i.Name {
			kept = append(kept, i)
		} else {
			refused = append(refused, core.RefusedIface{Iface: i, Reason: fmt.Sprintf("not selected by %q", spec)})
		}
	}
	return kept, refused, nil
}

func (h *fakeHost) Resolve(node, service string, numeric, passive bool) ([]netip.AddrPort, error) {
	h.lookups++
	var port uint16
	if service != "" {
		if _, err := fmt.Sscan(service, &port); err != nil {
			return nil, fmt.Errorf("service %q is unknown", service)
		}
	}
	names := map[string]string{"node7": "10.0.0.7", "self": "10.0.0.5", "both": "fd00::7 10.1.0.7", "far": "192.0.2.9"}
	if node == "" {
		node = "127.0.0.1"
		if passive {
			node = "0.0.0.0"
		}
	}
	if list, ok := names[node]; ok && !numeric {
		node = list
	}
	var out []netip.AddrPort
	for _, s := range strings.Fields(node) {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return nil, fmt.Errorf("no such host %q", s)
		}
		out = append(out, netip.AddrPortFrom(a, port))
	}
	return out, nil
}

func (h *fakeHost) SourceFor(dest netip.AddrPort) (netip.Addr, error) {
	list, _ := h.Interfaces()
	for _, i := range list {
		if i.Prefix.Contains(dest.Addr()) {
			return i.Addr, nil
		}
	}
	return netip.Addr{}, core.ErrNetUnreach
}

func (h *fakeHost) IsLocal(a netip.Addr) bool {
	list, _ := h.Interfaces()
	for _, i := range list {
		if i.Addr == a {
			return true
		}
	}
	return a.IsLoopback()
}

const tcpCaps = core.CapMsg | core.CapRMA | core.CapRead | core.CapWrite | core.CapSend | core.CapRecv |
	core.CapRemoteRead | core.CapRemoteWrite | core.CapRMAEvent

// fakes returns a registry like the real one: layers and two core providers.
func fakes() *core.Registry {
	tcp := &fakeProvider{name: "tcp", offers: []*core.Info{
		offer(core.EPTypeMsg, tcpCaps), offer(core.EPTypeRDM,
			tcpCaps|core.CapTagged|core.CapSource|core.CapDirectedRecv)}}
	udp := &fakeProvider{name: "udp", offers: []*core.Info{offer(core.EPTypeDgram,
		core.CapMsg|core.CapSend|core.CapRecv|core.CapMulticast)}}
	return core.NewRegistry(
		&fakeLayer{fakeProvider: fakeProvider{name: "ofi_rxm"}, below: core.EPTypeMsg},
		&fakeLayer{fakeProvider: fakeProvider{name: "ofi_rxd"}, below: core.EPTypeDgram},
		&fakeLayer{fakeProvider: fakeProvider{name: "fault"}, below: core.EPTypeDgram, namedOnly: true},
		udp, tcp)
}

func env(pairs ...string) *core.Params {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	p, err := core.NewParams(func(k string) (string, bool) { v, ok := m[k]; return v, ok }, "")
	if err != nil {
		panic(err)
	}
	return p
}

// brief returns "provider type domain src>dest" for each Info.
func brief(infos []*core.Info) string {
	var b strings.Builder
	for _, i := range infos {
		fmt.Fprintf(&b, "%s %s %s", i.Fabric.ProvName, strings.TrimPrefix(i.EP.Type.String(), "FI_EP_"), i.Domain.Name)
		if !i.SrcAddr.IsZero() {
			fmt.Fprintf(&b, " %s", i.SrcAddr.IP)
		}
		if !i.DestAddr.IsZero() {
			fmt.Fprintf(&b, ">%s", i.DestAddr.IP)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
