package layer

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/progress"
)

// Lower is a domain that a layer can use: datagram.Domain or stream.Domain.
type Lower interface {
	core.DomainDriver
	Progress() *progress.Engine
}

// DomainOver is the domain of a layer over a domain of type L. Both share one lock and progress engine. A layer
// adds OpenEndpoint.
type DomainOver[L Lower] struct {
	endpoint.Domain
	// Lower is the domain below.
	Lower L

	names *endpoint.Names
}

// Open opens the domain below and makes d a domain of f (fi_domain(3)).
func (d *DomainOver[L]) Open(f *Fabric, info *core.Info) error {
	if err := f.check(info); err != nil {
		return err
	}
	return d.on(f, info, info.Below(), RDM{})
}

// check refuses an Info that does not come from GetInfo.
func (f *Fabric) check(info *core.Info) error {
	if info == nil || info.Domain == nil || info.Below() == nil {
		return f.names.Error("fi_domain", "", endpoint.NoPeer, core.ErrInval, "pass an Info from GetInfo")
	}
	return nil
}

// on opens the domain below with the Info under, and makes d a domain of info over it.
func (d *DomainOver[L]) on(f *Fabric, info, under *core.Info, c RDM) error {
	lower, err := f.below.OpenDomain(under)
	if err != nil {
		return err
	}
	var ok bool
	if d.Lower, ok = lower.(L); !ok {
		lower.Close()
		what := "datagrams"
		if f.base.on == core.EPTypeMsg {
			what = "connections"
		}
		return f.names.Error("fi_domain", info.Domain.Name, endpoint.NoPeer, core.ErrNoSys, f.base.name+" stands on providers of "+what+" only")
	}
	d.names = &f.names
	d.InitDomain(endpoint.DomainConfig{Names: d.names, Fabric: f, Info: info, Progress: d.Lower.Progress(), Host: f.base.host, Limits: endpoint.RxLimits{Bytes: c.UnexpBytes}, Linger: c.Linger,
		Down: d.Lower.Close})
	return nil
}

// Below returns the domain below.
func (d *DomainOver[L]) Below() core.DomainDriver { return d.Lower }

// RDM is the configuration of an RDMDomain.
type RDM struct {
	Transfers
	// AutoProgress selects automatic progress even if the domain's Info has manual progress (fi_domain(3),
	// FI_PROGRESS_AUTO).
	AutoProgress bool
	// Open opens an endpoint. info is an Info of an RDM endpoint and has an Info below.
	Open func(info *core.Info) (endpoint.Base, error)
}

// RDMDomain is the domain of a layer with RDM endpoints (FI_EP_RDM).
type RDMDomain[L Lower] struct {
	DomainOver[L]
	open func(info *core.Info) (endpoint.Base, error)
}

// Open opens the domain below and makes d a domain of f (fi_domain(3)).
func (d *RDMDomain[L]) Open(f *Fabric, info *core.Info, c RDM) error {
	if err := f.check(info); err != nil {
		return err
	}
	if err := f.names.CheckDomainKey(info.Domain); err != nil {
		return err
	}
	under := info.Below().Dup()
	if under.Domain != nil { // the domain below owns the goroutine that makes progress
		under.Domain.DataProgress, under.Domain.ControlProgress = info.Domain.DataProgress, info.Domain.ControlProgress
		if c.AutoProgress {
			under.Domain.DataProgress, under.Domain.ControlProgress = core.ProgressAuto, core.ProgressAuto
		}
	}
	d.open = c.Open
	return d.on(f, info, under, c)
}

// OpenEndpoint opens an endpoint (fi_endpoint(3)).
func (d *RDMDomain[L]) OpenEndpoint(info *core.Info, _ *core.Endpoint) (core.EndpointDriver, error) {
	return d.endpoint("fi_endpoint", info)
}

// OpenScalable opens an endpoint with several contexts (fi_scalable_ep, fi_endpoint(3)).
func (d *RDMDomain[L]) OpenScalable(info *core.Info, _ *core.ScalableEndpoint) (core.ScalableDriver, error) {
	ep, err := d.endpoint("fi_scalable_ep", info)
	if err != nil {
		return nil, err
	}
	return endpoint.NewScalable(ep)
}

func (d *RDMDomain[L]) endpoint(op string, info *core.Info) (endpoint.Base, error) {
	if info == nil || info.EP == nil || info.EP.Type != core.EPTypeRDM || info.Below() == nil {
		return nil, d.names.Error(op, d.Name(), endpoint.NoPeer, core.ErrInval, "pass an Info for an RDM endpoint from GetInfo")
	}
	return d.open(info)
}
