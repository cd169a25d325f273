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
