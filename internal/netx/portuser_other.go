//go:build !linux

package netx

import "net/netip"

// PortUser fails: only Linux reports it.
func PortUser(netip.AddrPort) (uid int, ok bool) { return 0, false }
