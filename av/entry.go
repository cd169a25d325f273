package av

import (
	"encoding/binary"
	"net/netip"
)

// This file has the form in which the table stores an address.

// key is an address. An IPv4 address is mapped into IPv6 (RFC 4291, section 2.5.5.2).
//
// It consists of integers: an array would pass through memory instead of registers, which doubles the time of a
// look-up.
type key struct {
	hi, lo uint64
	zone   uint32 // index into the table's zone names plus 1, 0 for no zone
	port   uint16
}

// entry is a peer. Its index is its FIAddr. uses counts its insertions, 0 if the index is free.
type entry struct {
	hi, lo uint64
	zone   uint32
	uses   uint32
	port   uint16
	is4    bool // inserted as IPv4, not as IPv4 mapped into IPv6
	hidden bool // behind a firewall
}

func (e *entry) is(k key) bool {
	return e.lo == k.lo && e.hi == k.hi && e.port == k.port && e.zone == k.zone
}

func (e *entry) key() key { return key{e.hi, e.lo, e.zone, e.port} }

func (e *entry) addrPort(z *zones) netip.AddrPort {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], e.hi)
	binary.BigEndian.PutUint64(b[8:], e.lo)
	ip := netip.AddrFrom16(b)
	if e.is4 {
		ip = ip.Unmap()
	} else if e.zone != 0 {
		ip = ip.WithZone(z.names[e.zone-1])
	}
	return netip.AddrPortFrom(ip, e.port)
}

// zones numbers the zones of link-local IPv6 addresses, which are a few interface names (RFC 4007).
type zones struct {
	names   []string
	numbers map[string]uint32
}

func (z *zones) number(name string) uint32 {
	n, ok := z.numbers[name]
	if !ok {
		if z.numbers == nil {
			z.numbers = map[string]uint32{}
		}
		z.names = append(z.names, name)
		n = uint32(len(z.names))
		z.numbers[name] = n
	}
	return n
}

// keyOf returns the key of an address, or false if its zone is unknown. t.mu is held.
func (t *Table) keyOf(ap netip.AddrPort) (key, bool) {
	ip := ap.Addr()
	b := ip.As16()
	k := key{hi: binary.BigEndian.Uint64(b[:8]), lo: binary.BigEndian.Uint64(b[8:]), port: ap.Port()}
	if k.hi>>57 == scoped && ip.Zone() != "" {
		k.zone = t.zones.numbers[ip.Zone()]
		return k, k.zone != 0
	}
	return k, true
}

// scoped is the common upper 7 bits of link-local and multicast addresses. The zone of other addresses has no
// meaning and is dropped.
const scoped = 0xfe >> 1
