package tcp

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/progress"
)

// domain is an open domain: settings and receive buffers, besides the parts that all domains have.
type domain struct {
	endpoint.Domain
	f    *fabric
	s    *settings
	prog *progress.Engine
	bufs *buffers
}

// OpenDomain opens a domain (fi_domain(3)).
func (f *fabric) OpenDomain(info *core.Info) (core.DomainDriver, error) {
	if info == nil || info.Domain == nil {
		return nil, opError("fi_domain", "", noPeer, core.ErrInval, "pass an Info from GetInfo")
	}
	if err := names.CheckDomainKey(info.Domain); err != nil {
		return nil, err
	}
	auto := info.Domain.DataProgress != core.ProgressManual && !f.p.s.noAutoProgress
	prog, err := progress.New(auto)
	if err != nil {
		return nil, opError("fi_domain", info.Domain.Name, noPeer, err, "descriptors may have run out (ulimit -n)")
	}
	d := &domain{f: f, s: f.p.s, prog: prog, bufs: newBuffers(f.p.s.prefetch)}
	d.bufs.faults, d.bufs.patience = f.faults, f.p.s.peerTimeout
	down := prog.Close
	if f.p.s.localSockets && f.carriers().moves {
		m := newMover(f.p.s.localMemory)
		d.bufs.mover = m
		down = func() error { m.close(); return prog.Close() }
	}
	d.InitDomain(endpoint.DomainConfig{Names: &names, Fabric: f, Info: info, Progress: prog, Host: f.p.host,
		Limits: d.s.rxLimits(), Linger: d.s.linger, Down: down})
	return d, nil
}

func (d *domain) OpenEndpoint(info *core.Info, self *core.Endpoint) (core.EndpointDriver, error) {
	if info == nil || info.EP == nil {
		return nil, opError("fi_endpoint", d.Name(), noPeer, core.ErrInval, "pass an Info from GetInfo")
	}
	switch info.EP.Type {
	case core.EPTypeMsg:
		ep, err := openMsg(d, info, self)
		if err != nil {
			return nil, err // a nil *msgEndpoint in the interface would compare unequal to nil
		}
		return ep, nil
	case core.EPTypeRDM:
		return openRDM(d, info)
	}
	return nil, opError("fi_endpoint", d.Name(), noPeer, core.ErrNoSys, "tcp has MSG and RDM endpoints")
}

// OpenScalable opens an RDM endpoint with several contexts (fi_scalable_ep, fi_endpoint(3)).
func (d *domain) OpenScalable(info *core.Info, _ *core.ScalableEndpoint) (core.ScalableDriver, error) {
	if info == nil || info.EP == nil || info.EP.Type != core.EPTypeRDM {
		return nil, opError("fi_scalable_ep", d.Name(), noPeer, core.ErrNoSys, "tcp has scalable RDM endpoints only")
	}
	ep, err := openRDM(d, info)
	if err != nil {
		return nil, err
	}
	return endpoint.NewScalable(ep)
}
