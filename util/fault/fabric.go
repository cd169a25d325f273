package fault

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
)

// fabric is the layer's fabric.
type fabric struct {
	endpoint.LayerFabric
	p *Provider
}

// OpenDomain opens a domain, and the one below it (fi_domain(3)).
func (f *fabric) OpenDomain(info *core.Info) (core.DomainDriver, error) {
	d, err := openDomain(f, info)
	if err != nil {
		return nil, err // and not a typed nil, which would compare unequal to nil
	}
	return d, nil
}
