package udp

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
)

// fabric is an open fabric.
type fabric struct {
	endpoint.Fabric
	p *Provider
}

func newFabric(p *Provider, info *core.Info) *fabric {
	f := &fabric{p: p}
	f.InitFabric(&names, info)
	return f
}

func (f *fabric) OpenDomain(info *core.Info) (core.DomainDriver, error) {
	d, err := openDomain(f, info)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// OpenPassiveEndpoint fails: datagrams have no connections.
func (f *fabric) OpenPassiveEndpoint(*core.Info, *core.PassiveEndpoint) (core.PassiveDriver, error) {
	return nil, opError("fi_passive_ep", f.Attr().Name, core.ErrNoSys, "udp has no connections; take tcp")
}
