//go:build !linux

package udp

import (
	"net/netip"

	"gofabric/internal/netx"
	"gofabric/internal/xdp"
)

// explainXDP returns the error that this system has no AF_XDP.
func explainXDP(netip.Addr, *settings) (string, error) { return "", xdp.Probe("", xdp.Config{}) }

// newXDPLink fails: this system has no AF_XDP.
func (d *domain) newXDPLink(link, netx.FD, netip.AddrPort, int, uint8, func(error)) (bypassLink, error) {
	return nil, xdp.Probe("", xdp.Config{})
}

// xdpLinks is empty on this system.
type xdpLinks struct{}
