//go:build !linux

package netx

import "net/netip"

// PortUser does not know.
func PortUser(netip.AddrPort) (uid int, ok bool) { return 0, false }
