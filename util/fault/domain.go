package fault

import (
	"gofabric/core"
	"gofabric/internal/dgramep"
	"gofabric/internal/layer"
	"gofabric/internal/transport/datagram"
)

// domain is the layer's domain. It implements datagram.Domain: layers above use its ports, and run under the lock
// of the domain below.
type domain struct {
	layer.DomainOver[datagram.Domain]
	p     *Provider
	ports map[*port]struct{} // open; guarded by the lock
	gone  Stats              // of closed ports; guarded by the lock
}

var _ datagram.Domain = (*domain)(nil)

func (p *Provider) openDomain(f *layer.Fabric, info *core.Info) (core.DomainDriver, error) {
	d := &domain{p: p, ports: map[*port]struct{}{}}
	if err := d.Open(f, info); err != nil {
		return nil, err
	}
	return d, nil
}

// Opaque implements datagram.Opaque: all data must pass the faults.
func (d *domain) Opaque() {}

// OpenEndpoint opens a DGRAM endpoint (fi_endpoint(3)).
func (d *domain) OpenEndpoint(info *core.Info, _ *core.Endpoint) (core.EndpointDriver, error) {
	return dgramep.Open(d, &d.Domain, info)
}

// OpenSRX opens a shared receive context (fi_srx_context(3)).
func (d *domain) OpenSRX(attr *core.RxAttr) (core.SRXDriver, error) {
	return dgramep.OpenSRX(&d.Domain, attr)
}

// OpenPort opens a port below, and applies the faults to what is sent on it.
func (d *domain) OpenPort(info *core.Info, r datagram.Receiver) (datagram.Port, error) {
	return openPort(d, info, r)
}

// Faults adds up the counters of the domain's ports, including closed ones. Not locked.
func (d *domain) Faults() Stats {
	d.Progress().Lock()
	defer d.Progress().Unlock()
	sum := d.gone
	for p := range d.ports {
		sum.Add(p.link.Stats())
	}
	return sum
}
