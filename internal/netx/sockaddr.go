// Conversion of socket addresses between netip and the kernel's form.

package netx

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"
	"syscall"
)

// Family returns the socket family for an address: syscall.AF_INET, or syscall.AF_INET6 (also for IPv4-mapped IPv6
// addresses).
func Family(a netip.Addr) int {
	if a.Is4() {
		return syscall.AF_INET
	}
	return syscall.AF_INET6
}

func toSockaddr(ap netip.AddrPort) (syscall.Sockaddr, error) {
	a := ap.Addr()
	switch {
	case a.Is4():
		return &syscall.SockaddrInet4{Port: int(ap.Port()), Addr: a.As4()}, nil
	case a.Is6():
		zone, err := zoneIndex(a.Zone())
		if err != nil {
			return nil, err
		}
		return &syscall.SockaddrInet6{Port: int(ap.Port()), ZoneId: zone, Addr: a.As16()}, nil
	}
	return nil, syscall.EAFNOSUPPORT
}

// zoneIndex returns the kernel's index for a zone: an interface's name, or its index in decimal.
func zoneIndex(zone string) (uint32, error) {
	if zone == "" {
		return 0, nil
	}
	if i, err := net.InterfaceByName(zone); err == nil {
		return uint32(i.Index), nil
	}
	n, err := strconv.ParseUint(zone, 10, 32)
	if err != nil {
		return 0, syscall.ENODEV
	}
	return uint32(n), nil
}

func fromSockaddr(sa syscall.Sockaddr) netip.AddrPort {
	switch s := sa.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(s.Addr), uint16(s.Port))
	case *syscall.SockaddrInet6:
		a := netip.AddrFrom16(s.Addr)
		if s.ZoneId != 0 {
			a = a.WithZone(zoneName(s.ZoneId))
		}
		return netip.AddrPortFrom(a, uint16(s.Port))
	}
	return netip.AddrPort{}
}

func zoneName(index uint32) string {
	if i, err := net.InterfaceByIndex(int(index)); err == nil {
		return i.Name
	}
	return strconv.FormatUint(uint64(index), 10)
}

// EndOf returns an address as 16 bytes, IPv4-mapped for IPv4, followed by its port in big-endian order. It ignores
// the zone.
func EndOf(a netip.AddrPort) (e [18]byte) {
	if ip := a.Addr(); ip.IsValid() {
		b := ip.As16()
		copy(e[:], b[:])
	}
	binary.BigEndian.PutUint16(e[16:], a.Port())
	return e
}
