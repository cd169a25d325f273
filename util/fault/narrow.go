package fault

import (
	"net/netip"

	"gofabric/internal/transport/datagram"
)

// Narrowed implements datagram.Narrower.
func (p *port) Narrowed(dest netip.AddrPort) {
	if n, ok := p.up.(datagram.Narrower); ok {
		n.Narrowed(dest)
	}
}
