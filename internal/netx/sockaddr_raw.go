//go:build windows || (linux && !fabricbasic)

// A peer's address in the kernel's form.

package netx

import (
	"encoding/binary"
	"net/netip"
	"syscall"
)

// Sizes of struct sockaddr_in and sockaddr_in6.
const (
	sizeofInet4 = 16
	sizeofInet6 = 28
)

// SockAddr is a peer's address in the form that the kernel takes. The zero SockAddr is no address.
type SockAddr struct {
	raw syscall.RawSockaddrInet6 // or, in its first 16 bytes, a RawSockaddrInet4, whose address is at Flowinfo
	len uint32
}

// Set makes a the address ap for a socket of the given family. scope is the index of the interface that a
// link-local address belongs to (ZoneIndex), 0 for other addresses. An IPv4 address fits both families. Set returns
// syscall.EAFNOSUPPORT when the address does not fit the family.
func (a *SockAddr) Set(ap netip.AddrPort, family int, scope uint32) error {
	ip := ap.Addr().Unmap()
	port := [2]byte{byte(ap.Port() >> 8), byte(ap.Port())}
	switch {
	case family == syscall.AF_INET && ip.Is4():
		b := ip.As4()
		a.raw = syscall.RawSockaddrInet6{Family: syscall.AF_INET, Flowinfo: binary.NativeEndian.Uint32(b[:])}
		a.len = sizeofInet4
	case family == syscall.AF_INET6 && ip.IsValid():
		a.raw = syscall.RawSockaddrInet6{Family: syscall.AF_INET6, Addr: ip.As16(), Scope_id: scope}
		a.len = sizeofInet6
	default:
		return syscall.EAFNOSUPPORT
	}
	a.raw.Port = binary.NativeEndian.Uint16(port[:])
	return nil
}

// AddrPort returns the address and its scope. An IPv4-mapped IPv6 address is returned as IPv4. The address has no
// zone. If a is no address, the zero AddrPort is returned.
func (a *SockAddr) AddrPort() (ap netip.AddrPort, scope uint32) {
	var port [2]byte
	binary.NativeEndian.PutUint16(port[:], a.raw.Port)
	switch {
	case a.len >= sizeofInet4 && a.raw.Family == syscall.AF_INET:
		var b [4]byte
		binary.NativeEndian.PutUint32(b[:], a.raw.Flowinfo)
		return netip.AddrPortFrom(netip.AddrFrom4(b), binary.BigEndian.Uint16(port[:])), 0
	case a.len >= sizeofInet6 && a.raw.Family == syscall.AF_INET6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.raw.Addr).Unmap(), binary.BigEndian.Uint16(port[:])), a.raw.Scope_id
	}
	return netip.AddrPort{}, 0
}
