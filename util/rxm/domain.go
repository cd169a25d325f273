package rxm

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/progress"
	"gofabric/internal/transport/stream"
	"gofabric/internal/xnet/engine"
)

// domain is the layer's domain, over one of the provider of connections, whose lock it shares.
type domain struct {
	endpoint.Domain
	f     *fabric
	s     *settings
	below stream.Domain
	prog  *progress.Engine
	eps   map[*rdmEndpoint]struct{} // guarded by the lock

	// Of connections to native peers: what they are made with, and the operation being posted to one.
	pool  engine.Pool
	lower *engine.Config
	send  engine.Send
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
		if f.p.s.autoProgress {
			under.Domain.DataProgress, under.Domain.ControlProgress = core.ProgressAuto, core.ProgressAuto
		}
	}
	d, err := f.Below().OpenDomain(under)
	if err != nil {
		return nil, err
	}
	below, ok := d.(stream.Domain)
	if !ok {
		d.Close()
		return nil, f.Names.Error("fi_domain", info.Domain.Name, endpoint.NoPeer, core.ErrNoSys, "rxm stands on providers of connections only")
	}
	dom := &domain{f: f, s: f.p.s, below: below, prog: below.Progress(), eps: map[*rdmEndpoint]struct{}{}, lower: f.p.s.lower()}
	dom.InitDomain(endpoint.DomainConfig{Names: &f.Names, Fabric: f, Info: info, Progress: dom.prog, Resolve: f.p.resolve, Forget: dom.forget, Down: below.Close})
	return dom, nil
}

// Below is the domain that this one stands on.
func (d *domain) Below() core.DomainDriver { return d.below }

// conn is what connections of an endpoint need to know. Nothing goes around a network with faults.
func (d *domain) conn(info *core.Info) *engine.Config {
	c := d.s.conn(max(info.Tx.Size, 1), info.Tx.InjectSize)
	if x, ok := d.below.(stream.Impaired); ok {
		if _, on := x.Faults(); on {
			c.CMA = nil
		}
	}
	return c
}

// forget lets every connection go of a region that is being closed. Locked.
func (d *domain) forget(key uint64) {
	for ep := range d.eps {
		ep.Set.Forget(key)
		for p := range ep.Each {
			for _, u := range []any{p.User, p.Leaving()} {
				if n, ok := u.(*native); ok {
					n.lanes[0].conn.Forget(key)
				}
			}
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
