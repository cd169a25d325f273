//go:build unix && (!linux || fabricbasic)

// recvmsg(2) and sendmsg(2) for datagrams.

package netx

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// SockAddr is a peer's address in the form that the kernel takes. The zero SockAddr is no address.
type SockAddr struct{ sa unix.Sockaddr }

// Set makes a the address ap for a socket of the given family. scope is the index of the interface that a
// link-local address belongs to (ZoneIndex), 0 for other addresses. An IPv4 address fits both families. Set returns
// syscall.EAFNOSUPPORT when the address does not fit the family.
func (a *SockAddr) Set(ap netip.AddrPort, family int, scope uint32) error {
	ip := ap.Addr().Unmap()
	switch {
	case family == syscall.AF_INET && ip.Is4():
		a.sa = &unix.SockaddrInet4{Port: int(ap.Port()), Addr: ip.As4()}
	case family == syscall.AF_INET6 && ip.IsValid():
		a.sa = &unix.SockaddrInet6{Port: int(ap.Port()), ZoneId: scope, Addr: ip.As16()}
	default:
		return syscall.EAFNOSUPPORT
	}
	return nil
}

// AddrPort returns the address and its scope. An IPv4-mapped IPv6 address is returned as IPv4. The address has no
// zone. If a is no address, the zero AddrPort is returned.
func (a *SockAddr) AddrPort() (ap netip.AddrPort, scope uint32) {
	switch s := a.sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(s.Addr), uint16(s.Port)), 0
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(s.Addr).Unmap(), uint16(s.Port)), s.ZoneId
	}
	return netip.AddrPort{}, 0
}

// recvFrom receives one datagram.
func recvFrom(fd FD, b []byte, from *SockAddr) (n int, truncated bool, errno syscall.Errno) {
	bufs := [1][]byte{b}
	n, _, flags, sa, err := unix.RecvmsgBuffers(int(fd), bufs[:], nil, unix.MSG_DONTWAIT)
	from.sa = sa
	n, errno = result(max(n, 0), err)
	return n, flags&unix.MSG_TRUNC != 0, errno
}

// sendTo sends one datagram.
func sendTo(fd FD, to *SockAddr, vec []iovec) syscall.Errno {
	_, errno := result(unix.SendmsgBuffers(int(fd), buffers(vec), nil, to.sa, sendFlags))
	return errno
}
