package rxm

import (
	"gofabric/core"
	"gofabric/internal/layer"
	"gofabric/internal/transport/stream"
	"gofabric/internal/xnet/engine"
)

// domain is the layer's domain, over a domain of the provider of connections.
type domain struct {
	layer.RDMDomain[stream.Domain]
	s *settings

	// Scratch for connections to native peers: their pool, and the operation that is being posted to one.
	pool  engine.Pool
	lower *engine.Config
	send  engine.Send
}

func (p *Provider) openDomain(f *layer.Fabric, info *core.Info) (core.DomainDriver, error) {
	d := &domain{s: p.s, lower: p.s.lower()}
	err := d.Open(f, info, layer.RDM{Transfers: p.s.Transfers, AutoProgress: p.s.autoProgress, Open: d.openEndpoint})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// conn returns the configuration of an endpoint's connections. Single copies are off over a network with faults,
// which they would bypass.
func (d *domain) conn(info *core.Info) *engine.Config {
	c := d.s.conn(max(info.Tx.Size, 1), info.Tx.InjectSize)
	if x, ok := d.Lower.(stream.Impaired); ok {
		if _, on := x.Faults(); on {
			c.CMA = nil
		}
	}
	return c
}
