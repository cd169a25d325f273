//go:build !fabricbasic

// A peer's address in the kernel's form, and what comes beside a datagram.

package netx

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// SockAddr is a peer's address in the form that the kernel takes. The zero SockAddr is none.
type SockAddr struct {
	raw unix.RawSockaddrInet6 // or, in its first 16 bytes, a RawSockaddrInet4: Flowinfo is where that has the address
	len uint32
}

// Set makes a the address ap for a socket of family; scope is the interface that a link-local address belongs to (ZoneIndex), 0 for others. An IPv4
// address suits both families. unix.EAFNOSUPPORT when the address does not suit the family.
func (a *SockAddr) Set(ap netip.AddrPort, family int, scope uint32) error {
	ip := ap.Addr().Unmap()
	port := [2]byte{byte(ap.Port() >> 8), byte(ap.Port())}
	switch {
	case family == unix.AF_INET && ip.Is4():
		b := ip.As4()
		a.raw = unix.RawSockaddrInet6{Family: unix.AF_INET, Flowinfo: binary.NativeEndian.Uint32(b[:])}
		a.len = unix.SizeofSockaddrInet4
	case family == unix.AF_INET6 && ip.IsValid():
		a.raw = unix.RawSockaddrInet6{Family: unix.AF_INET6, Addr: ip.As16(), Scope_id: scope}
		a.len = unix.SizeofSockaddrInet6
	default:
		return unix.EAFNOSUPPORT
	}
	a.raw.Port = binary.NativeEndian.Uint16(port[:])
	return nil
}

// AddrPort is the address, IPv4 where it is IPv4 mapped into IPv6, and its scope; it has no zone. The zero AddrPort if a is none.
func (a *SockAddr) AddrPort() (ap netip.AddrPort, scope uint32) {
	var port [2]byte
	binary.NativeEndian.PutUint16(port[:], a.raw.Port)
	switch {
	case a.len >= unix.SizeofSockaddrInet4 && a.raw.Family == unix.AF_INET:
		var b [4]byte
		binary.NativeEndian.PutUint32(b[:], a.raw.Flowinfo)
		return netip.AddrPortFrom(netip.AddrFrom4(b), binary.BigEndian.Uint16(port[:])), 0
	case a.len >= unix.SizeofSockaddrInet6 && a.raw.Family == unix.AF_INET6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.raw.Addr).Unmap(), binary.BigEndian.Uint16(port[:])), a.raw.Scope_id
	}
	return netip.AddrPort{}, 0
}

// segmentOf finds the size of a run's datagrams among the control messages, 0 if there is none.
func segmentOf(control []byte) int {
	for len(control) > 0 {
		h, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			break
		}
		if h.Level == unix.SOL_UDP && h.Type == unix.UDP_GRO && len(data) >= 4 {
			return int(binary.NativeEndian.Uint32(data))
		}
		control = rest
	}
	return 0
}

// Batches tells whether RecvBatch and SendBurst pass many datagrams with one call.
const Batches = true

// batchVecs is a Batch in the form that recvmmsg takes.
type batchVecs struct {
	hdrs []unix.Mmsghdr
	iovs []unix.Iovec
}

// burstVecs is a Burst in the form that sendmmsg takes.
type burstVecs struct{ hdrs []unix.Mmsghdr }
