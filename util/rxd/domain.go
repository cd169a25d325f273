package rxd

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/progress"
	"gofabric/internal/transport/datagram"
)

// domain is the layer's domain, over one of the provider of datagrams, whose lock it shares.
type domain struct {
	endpoint.Domain
	f     *fabric
	s     *settings
	below datagram.Domain
	prog  *progress.Engine
	eps   map[*rdmEndpoint]struct{} // guarded by the lock
}

func openDomain(f *fabric, info *core.Info) (*domain, error) {
	if info == nil || info.Domain == nil || info.Below() == nil {
		return nil, f.Names.Error("fi_domain", "", endpoint.NoPeer, core.ErrInval, "pass an Info from GetInfo")
	}
	if err := f.Names.CheckDomainKey(info.Domain); err != nil {
		return nil, err
	}
	under := info.Below().Dup()
	if under.Domain != nil { // the goroutine that makes progress is the one of the domain below
		under.Domain.DataProgress, under.Domain.ControlProgress = info.Domain.DataProgress, info.Domain.ControlProgress
	}
	d, err := f.Below().OpenDomain(under)
	if err != nil {
		return nil, err
	}
	below, ok := d.(datagram.Domain)
	if !ok {
		d.Close()
		return nil, f.Names.Error("fi_domain", info.Domain.Name, endpoint.NoPeer, core.ErrNoSys, "rxd stands on providers of datagrams only")
	}
	dom := &domain{f: f, s: f.p.s, below: below, prog: below.Progress(), eps: map[*rdmEndpoint]struct{}{}}
	dom.InitDomain(endpoint.DomainConfig{Names: &f.Names, Fabric: f, Info: info, Progress: dom.prog, Resolve: f.p.resolve, Forget: dom.forget, Down: below.Close})
	return dom, nil
}

// Below is the domain that this one stands on.
func (d *domain) Below() core.DomainDriver { return d.below }

// forget lets every connection go of a region that is being closed. Locked.
func (d *domain) forget(key uint64) {
	for ep := range d.eps {
		for p := range ep.eng.Each {
			p.Conn().Forget(key)
		}
	}
}

// OpenEndpoint opens an endpoint (fi_endpoint(3)).
func (d *domain) OpenEndpoint(info *core.Info, _ *core.Endpoint) (core.EndpointDriver, error) {
	ep, err := d.open("fi_endpoint", info)
	if err != nil {
		return nil, err
	}
	return ep, nil
}

func (d *domain) open(op string, info *core.Info) (*rdmEndpoint, error) {
	if info == nil || info.EP == nil || info.EP.Type != core.EPTypeRDM || info.Below() == nil {
		return nil, d.f.Names.Error(op, d.Name(), endpoint.NoPeer, core.ErrInval, "pass an Info for an RDM endpoint from GetInfo")
	}
	return openEndpoint(d, info)
}

// OpenScalable opens an endpoint with several contexts (fi_scalable_ep, fi_endpoint(3)).
func (d *domain) OpenScalable(info *core.Info, _ *core.ScalableEndpoint) (core.ScalableDriver, error) {
	ep, err := d.open("fi_scalable_ep", info)
	if err != nil {
		return nil, err
	}
	return endpoint.NewScalable(ep, d.s.rxLimits())
}

// OpenSRX opens a shared receive context (fi_srx_context, fi_endpoint(3)).
func (d *domain) OpenSRX(attr *core.RxAttr) (core.SRXDriver, error) {
	s, err := endpoint.OpenSharedRx(&d.Domain, attr, d.s.rxLimits())
	if err != nil {
		return nil, err
	}
	return s, nil
}
