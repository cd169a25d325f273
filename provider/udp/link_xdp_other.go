//go:build !linux

package udp

import (
	"net/netip"

	"gofabric/internal/netx"
	"gofabric/internal/xdp"
)

// explainXDP says that there is no such link here.
func explainXDP(netip.Addr, *settings) (string, error) { return "", xdp.Probe("", xdp.Config{}) }

// newXDPLink says that there is none here.
func (d *domain) newXDPLink(link, netx.FD, netip.AddrPort, int, uint8, func(error)) (bypassLink, error) {
	return nil, xdp.Probe("", xdp.Config{})
}

// xdpLinks is nothing here.
type xdpLinks struct{}
