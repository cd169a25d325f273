//go:build !linux || fabricbasic

package netx

import (
	"net/netip"
	"syscall"
)

// ReportErrors is not to be had here: what ICMP says of a datagram is not told with its destination.
func ReportErrors(FD, int) error { return syscall.ENOTSUP }

// ReadError finds nothing.
func ReadError(FD) (dest netip.AddrPort, errno syscall.Errno, ok bool) {
	return netip.AddrPort{}, 0, false
}
