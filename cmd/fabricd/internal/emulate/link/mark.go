package link

import "encoding/binary"

// Ethernet's types, and the two bits of ECN (RFC 3168, section 5).
const (
	typeIPv4 = 0x0800
	typeIPv6 = 0x86dd
	typeVLAN = 0x8100

	congested = 3
)

// mark sets Congestion Experienced in a frame whose sender supports ECN, and reports whether it did. It reads the
// bytes itself: gopacket would decode all layers of each frame in a full queue for two bits.
func mark(b []byte) bool {
	if len(b) < header {
		return false
	}
	kind, ip := binary.BigEndian.Uint16(b[12:]), b[header:]
	if kind == typeVLAN && len(ip) >= 4 {
		kind, ip = binary.BigEndian.Uint16(ip[2:]), ip[4:]
	}
	switch {
	case kind == typeIPv4 && len(ip) >= 20 && ip[0]>>4 == 4:
		return mark4(ip)
	case kind == typeIPv6 && len(ip) >= 40 && ip[0]>>4 == 6:
		return mark6(ip)
	}
	return false
}

// mark4 marks an IPv4 header and updates its checksum (RFC 1624, equation 3).
func mark4(ip []byte) bool {
	if ip[1]&congested == 0 {
		return false
	}
	before := binary.BigEndian.Uint16(ip)
	ip[1] |= congested
	sum := uint32(^binary.BigEndian.Uint16(ip[10:])) + uint32(^before) + uint32(binary.BigEndian.Uint16(ip))
	sum = sum&0xffff + sum>>16
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum))
	return true
}

// mark6 marks an IPv6 header, whose traffic class spans its first two bytes (RFC 8200, section 3).
func mark6(ip []byte) bool {
	if ip[1]>>4&congested == 0 {
		return false
	}
	ip[1] |= congested << 4
	return true
}
