//go:build !linux

package udp

import (
	"net/netip"

	"gofabric/internal/netx"
	"gofabric/internal/xdp"
)

// explainXDP returns the error that this system has no AF_XDP.
func explainXDP(netip.Addr, *settings) (string, error) { return "", xdp.Probe("", xdp.Config{}) }

// newXDPDatapath fails: this system has no AF_XDP.
func (d *domain) newXDPDatapath(datapath, netx.FD, netip.AddrPort, int, uint8, func(error)) (bypassDatapath, error) {
	return nil, xdp.Probe("", xdp.Config{})
}

// xdpDatapaths is empty on this system.
type xdpDatapaths struct{}
