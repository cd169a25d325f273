package wire

import (
	"encoding/binary"
	"net/netip"
)

// Socket addresses in the layout of Linux on a little-endian machine (ip(7), ipv6(7)), which native copies into
// RTS. This machine's own layout may differ.
const (
	familyINET  = 2  // AF_INET: family u16, port u16 big-endian, address 4, zero 8
	familyINET6 = 10 // AF_INET6: family u16, port u16 big-endian, flow info 4, address 16, scope id u32
)

// parseSockaddr reads a socket address. scope is the scope id of an IPv6 address.
func parseSockaddr(b *[SourceLen]byte) (a netip.AddrPort, scope uint32, err error) {
	port := binary.BigEndian.Uint16(b[2:])
	switch le.Uint16(b[:]) {
	case familyINET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port), 0, nil
	case familyINET6:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), port), le.Uint32(b[24:]), nil
	}
	return netip.AddrPort{}, 0, ErrAddress
}

// zeros is padding.
var zeros [SourceLen]byte

// appendSockaddr appends a socket address of SourceLen bytes.
func appendSockaddr(dst []byte, a netip.AddrPort, scope uint32) []byte {
	n := len(dst)
	dst = append(dst, zeros[:]...)
	b := dst[n:]
	binary.BigEndian.PutUint16(b[2:], a.Port())
	switch ip := a.Addr(); {
	case ip.Is4():
		le.PutUint16(b, familyINET)
		v := ip.As4()
		copy(b[4:], v[:])
	case ip.Is6():
		le.PutUint16(b, familyINET6)
		v := ip.As16()
		copy(b[8:], v[:])
		le.PutUint32(b[24:], scope)
	default:
		panic("rxd: an RTS without a source address")
	}
	return dst
}
