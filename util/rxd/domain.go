package rxd

import (
	"gofabric/core"
	"gofabric/internal/layer"
	"gofabric/internal/transport/datagram"
)

// domain is the layer's domain, over a domain of the provider of datagrams.
type domain struct {
	layer.RDMDomain[datagram.Domain]
	p *Provider
	s *settings
}

func (p *Provider) openDomain(f *layer.Fabric, info *core.Info) (core.DomainDriver, error) {
	d := &domain{p: p, s: p.s}
	err := d.Open(f, info, layer.RDM{Transfers: p.s.Transfers, Open: d.openEndpoint})
	if err != nil {
		return nil, err
	}
	return d, nil
}
