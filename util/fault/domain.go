package fault

import (
	"gofabric/core"
	"gofabric/internal/dgramep"
	"gofabric/internal/endpoint"
	"gofabric/internal/transport/datagram"
)

// domain is the layer's domain. It implements datagram.Domain: what stands above sees ports, and runs under the lock of the domain below.
type domain struct {
	endpoint.Domain
	f     *fabric
	below datagram.Domain
	ports map[*port]struct{} // open; guarded by the lock
	gone  Stats              // of ports that were closed; guarded by the lock
}

var _ datagram.Domain = (*domain)(nil)

func openDomain(f *fabric, info *core.Info) (*domain, error) {
	if info == nil || info.Domain == nil || info.Below() == nil {
		return nil, f.Names.Error("fi_domain", "", endpoint.NoPeer, core.ErrInval, "pass an Info from GetInfo")
	}
	d, err := f.Below().OpenDomain(info.Below())
	if err != nil {
		return nil, err
	}
	below, ok := d.(datagram.Domain)
	if !ok {
		d.Close()
		return nil, f.Names.Error("fi_domain", info.Domain.Name, endpoint.NoPeer, core.ErrNoSys, "the layer fault stands on providers of datagrams only")
	}
	dom := &domain{f: f, below: below, ports: map[*port]struct{}{}}
	dom.InitDomain(endpoint.DomainConfig{Names: &f.Names, Fabric: f, Info: info, Progress: below.Progress(), Resolve: f.p.resolve, Down: below.Close})
	return dom, nil
}

// Opaque implements datagram.Opaque: the faults are for all that is sent.
func (d *domain) Opaque() {}

// Below is the domain that this one stands on.
func (d *domain) Below() core.DomainDriver { return d.below }

// OpenEndpoint opens a DGRAM endpoint (fi_endpoint(3)).
func (d *domain) OpenEndpoint(info *core.Info, _ *core.Endpoint) (core.EndpointDriver, error) {
	return dgramep.Open(d, &d.Domain, info)
}

// OpenSRX opens a shared receive context (fi_srx_context(3)).
func (d *domain) OpenSRX(attr *core.RxAttr) (core.SRXDriver, error) {
	return dgramep.OpenSRX(&d.Domain, attr)
}

// OpenPort opens a port below and puts the faults in front of it.
func (d *domain) OpenPort(info *core.Info, r datagram.Receiver) (datagram.Port, error) {
	return openPort(d, info, r)
}

// Faults adds up what happened on the domain's ports, closed ones included. Not locked.
func (d *domain) Faults() Stats {
	d.Progress().Lock()
	defer d.Progress().Unlock()
	sum := d.gone
	for p := range d.ports {
		sum.Add(p.link.Stats())
	}
	return sum
}
