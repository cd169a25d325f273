package fault

import (
	"net/netip"

	"gofabric/internal/dgram"
)

// Narrowed implements dgram.Narrower.
func (p *port) Narrowed(dest netip.AddrPort) {
	if n, ok := p.up.(dgram.Narrower); ok {
		n.Narrowed(dest)
	}
}
