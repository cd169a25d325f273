//go:build !linux || fabricbasic

package netx

import (
	"net/netip"
	"syscall"
)

// ReportErrors fails: the system does not report the destination of a datagram with an ICMP error.
func ReportErrors(FD, int) error { return syscall.ENOTSUP }

// ReadError returns no error.
func ReadError(FD) (dest netip.AddrPort, errno syscall.Errno, ok bool) {
	return netip.AddrPort{}, 0, false
}
