//go:build !linux

package udp

import (
	"net/netip"

	"gofabric/internal/netx"
	"gofabric/internal/xdp"
)

// probeXDP says that there is no such link here.
func probeXDP(netip.Addr) error { return xdp.Probe("") }

// newXDPLink says that there is none here.
func (d *domain) newXDPLink(link, netx.FD, netip.AddrPort, int) (expressLink, error) {
	return nil, xdp.Probe("")
}
