//go:build !linux

package udp

import (
	"net/netip"

	"gofabric/internal/netx"
	"gofabric/internal/xdp"
)

// newXDPLink says that there is none here.
func (d *domain) newXDPLink(link, netx.FD, netip.AddrPort, int) (expressLink, error) {
	return nil, xdp.Probe("")
}
