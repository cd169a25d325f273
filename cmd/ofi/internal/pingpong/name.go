package pingpong

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"

	"gofabric/core"
)

// This file converts endpoint addresses to the bytes that fi_getname(3) returns to a C program and back, since the
// control connection carries these bytes: a Linux struct sockaddr_in or sockaddr_in6 in the host's byte order, or a
// string that ends in a zero byte.

const (
	afInet       = 2  // AF_INET, Linux
	afInet6      = 10 // AF_INET6, Linux
	sockaddrLen  = 16 // sizeof(struct sockaddr_in)
	sockaddr6Len = 28 // sizeof(struct sockaddr_in6)
	maxNameLen   = 1024
)

// encodeName returns the bytes of a, for any format that this module's providers use.
func encodeName(a core.Addr) ([]byte, error) {
	if a.Format == core.FormatStr {
		return append([]byte(a.Str), 0), nil
	}
	ip := a.IP.Addr()
	switch {
	case ip.Is4():
		b := make([]byte, sockaddrLen)
		binary.NativeEndian.PutUint16(b, afInet)
		binary.BigEndian.PutUint16(b[2:], a.IP.Port())
		copy(b[4:], ip.AsSlice())
		return b, nil
	case ip.Is6():
		b := make([]byte, sockaddr6Len)
		binary.NativeEndian.PutUint16(b, afInet6)
		binary.BigEndian.PutUint16(b[2:], a.IP.Port())
		copy(b[8:], ip.AsSlice())
		if zone := ip.Zone(); zone != "" {
			// Interface numbers have no meaning on another machine, and the peer knows its own: send none, as for a
			// global address.
			clear(b[24:])
		}
		return b, nil
	}
	return nil, fmt.Errorf("the endpoint's address %v has a format that the control protocol cannot carry", a)
}

// decodeName reads a peer's name. The format is the peer's fi_info.addr_format. For socket addresses the address
// family has precedence.
func decodeName(format core.AddrFormat, b []byte) (core.Addr, error) {
	if format == core.FormatStr {
		s, _, found := bytes.Cut(b, []byte{0})
		if !found || len(s) == 0 {
			return core.Addr{}, fmt.Errorf("the peer's address string of %d bytes is empty or does not end", len(b))
		}
		return core.Addr{Format: core.FormatStr, Str: string(s)}, nil
	}
	if len(b) < 2 {
		return core.Addr{}, fmt.Errorf("the peer's address has %d bytes: too short", len(b))
	}
	family := binary.NativeEndian.Uint16(b)
	switch {
	case family == afInet && len(b) >= sockaddrLen:
		return core.IPAddr(netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[2:]))), nil
	case family == afInet6 && len(b) >= sockaddr6Len:
		return core.IPAddr(netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), binary.BigEndian.Uint16(b[2:]))), nil
	}
	return core.Addr{}, fmt.Errorf("the peer's address has format %d, family %d and %d bytes: not an IPv4 or IPv6 socket address",
		format, family, len(b))
}
