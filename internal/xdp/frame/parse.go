package frame

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// Rules has the conditions for a frame to be valid, besides its own contents.
type Rules struct {
	// MAC is the interface's address. Frames to other stations are refused. Zero: none are refused.
	MAC MAC
	// Loopback accepts loopback addresses, as on lo.
	Loopback bool
	// Unfinished accepts datagrams whose checksum field has only the sum of the pseudo header. A sender in the same
	// kernel leaves the rest to hardware (CHECKSUM_PARTIAL, Documentation/networking/checksum-offloads.rst). On veth
	// and lo a frame never reaches hardware, so the checksum stays unfinished. On other interfaces Unfinished would
	// only accept one damaged datagram in 65,536.
	Unfinished bool
	// Own has the addresses of this host, nil if they are not known. The kernel refuses IPv4 packets from one of them
	// (net/ipv4/fib_frontend.c, __fib_validate_source), unless accept_local allows them
	// (Documentation/networking/ip-sysctl.rst). It accepts such IPv6 packets.
	Own map[netip.Addr]struct{}

	unknownSource uint32 // the last IPv4 address that was not in Own
	asked         bool   // unknownSource is set
}

// SetOwn replaces Own.
func (r *Rules) SetOwn(own map[netip.Addr]struct{}) { r.Own, r.asked = own, false }

// Datagram is a UDP datagram in a frame.
type Datagram struct {
	Src, Dst netip.AddrPort // without zones
	Payload  []byte         // in the frame; of a frame in several buffers, the part in the first one
	Len      int            // bytes of payload in all buffers
	DstMAC   MAC
	Link     Cast // kind of DstMAC
	Cast     Cast // kind of Dst
	// TrafficClass is the byte of DSCP and ECN.
	TrafficClass uint8
	HopLimit     uint8
	Tags         [TagsMax]Tag // the outer tag first
}

// Parse sets d from a frame. d refers to the frame's bytes. If the Reason is not Accepted, d is not valid.
func (r *Rules) Parse(d *Datagram, frame []byte) Reason {
	return r.parse(d, frame, nil, len(frame))
}

// ParseList is Parse for a frame in several buffers. The first one must have all headers. AppendParts returns the
// payload.
func (r *Rules) ParseList(d *Datagram, frame [][]byte) Reason {
	if len(frame) == 0 {
		return Short
	}
	n := 0
	for _, b := range frame {
		n += len(b)
	}
	return r.parse(d, frame[0], frame[1:], n)
}

// AppendParts appends the parts of the payload of the frame that d was parsed from, and returns the extended slice.
func (d *Datagram) AppendParts(parts, frame [][]byte) [][]byte {
	parts = append(parts, d.Payload)
	left := d.Len - len(d.Payload)
	for _, b := range frame[1:] {
		if left == 0 {
			break
		}
		b = b[:min(left, len(b))]
		left -= len(b)
		parts = append(parts, b)
	}
	return parts
}

// parse checks a frame of n bytes. head has the first bytes and rest the others.
func (r *Rules) parse(d *Datagram, head []byte, rest [][]byte, n int) Reason {
	be := binary.BigEndian
	if len(head) < EthernetLen {
		return Short
	}
	d.DstMAC = MAC(head)
	d.Link = castOf(d.DstMAC)
	if d.Link == Unicast && d.DstMAC != r.MAC && r.MAC != (MAC{}) {
		return OtherHost
	}
	d.Tags = [TagsMax]Tag{}
	kind, at := be.Uint16(head[12:]), EthernetLen
	for i := 0; (kind == TagC || kind == TagS) && i < TagsMax; i++ {
		if len(head) < at+TagLen {
			return Short
		}
		d.Tags[i] = Tag{kind, be.Uint16(head[at:])}
		kind = be.Uint16(head[at+2:])
		at += TagLen
	}
	switch kind {
	case typeIPv4:
		return r.parseIPv4(d, head[at:], rest, n-at)
	case typeIPv6:
		return r.parseIPv6(d, head[at:], rest, n-at)
	}
	return EtherType
}

func castOf(a MAC) Cast {
	switch {
	case a[0]&1 == 0:
		return Unicast
	case a == MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}:
		return Broadcast
	}
	return Multicast
}

// parseIPv4 checks a packet of n bytes, with padding. ip has the first bytes.
func (r *Rules) parseIPv4(d *Datagram, ip []byte, rest [][]byte, n int) Reason {
	be, le := binary.BigEndian, binary.LittleEndian
	if len(ip) < IPv4Len {
		return Short
	}
	total := int(be.Uint16(ip[2:]))
	addrs := le.Uint64(ip[12:])
	switch {
	case ip[0]>>4 != 4 || ip[0]&15 < IPv4Len/4:
		return Version
	case ip[0]&15 > IPv4Len/4:
		return Options
	case fold(plus(plus(le.Uint64(ip), addrs), uint64(le.Uint32(ip[8:])))) != 0xffff:
		return HeaderChecksum
	case total > n || total < IPv4Len:
		return TotalLength
	case be.Uint16(ip[6:])&moreOrOffset != 0:
		return Fragment
	case ip[9] != protoUDP:
		return Protocol
	}
	src, dst := be.Uint32(ip[12:]), be.Uint32(ip[16:])
	var why Reason
	if d.Cast, why = castIPv4(src, dst); why != Accepted {
		return why
	}
	if !r.Loopback && (src>>24 == 127 || dst>>24 == 127) {
		return Loopback
	}
	if !r.Loopback && (src == dst || (src != r.unknownSource || !r.asked) && r.isOwn(src)) {
		return Source
	}
	d.TrafficClass, d.HopLimit = ip[1], ip[8]
	if why = r.parseUDP(d, ip[IPv4Len:], rest, total-IPv4Len, addrs, false); why != Accepted {
		return why
	}
	udp := ip[IPv4Len:]
	d.Src = netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip[12:])), be.Uint16(udp))
	d.Dst = netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip[16:])), be.Uint16(udp[2:]))
	return Accepted
}

// isOwn reports whether an IPv4 address belongs to this host. Consecutive datagrams often have the same source.
func (r *Rules) isOwn(a uint32) bool {
	_, own := r.Own[netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)})]
	if !own {
		r.unknownSource, r.asked = a, true
	}
	return own
}

// castIPv4 checks the addresses as ip_route_input_slow and ip_mc_validate_source of the kernel do.
func castIPv4(src, dst uint32) (Cast, Reason) {
	const limitedBroadcast = 0xffffffff
	cast := Unicast
	switch {
	case dst == limitedBroadcast, dst|src == 0:
		cast = Broadcast
	case dst>>28 == 0xe:
		cast = Multicast
	}
	switch {
	case src>>28 == 0xe, src == limitedBroadcast:
		return cast, Source
	case src>>24 == 0 && cast != Broadcast && !(cast == Multicast && dst>>8 == 0xe00000):
		// 0.0.0.0/8 is for hosts that do not know their address yet. They broadcast, or use the groups of the local
		// network.
		return cast, Source
	case dst>>24 == 0 && cast != Broadcast:
		return cast, Destination
	}
	return cast, Accepted
}

// parseIPv6 checks a packet of n bytes, with padding. ip has the first bytes.
func (r *Rules) parseIPv6(d *Datagram, ip []byte, rest [][]byte, n int) Reason {
	be, le := binary.BigEndian, binary.LittleEndian
	if len(ip) < IPv6Len {
		return Short
	}
	length := int(be.Uint16(ip[4:]))
	switch {
	case ip[0]>>4 != 6:
		return Version
	case isExtension(ip[6]):
		return Extension
	case length > n-IPv6Len:
		return TotalLength
	case ip[6] != protoUDP:
		return Protocol
	}
	src, dst := netip.AddrFrom16([16]byte(ip[8:])), netip.AddrFrom16([16]byte(ip[24:]))
	d.Cast = Unicast
	if ip[24] == 0xff {
		d.Cast = Multicast
	}
	// These are the checks of ip6_rcv_core.
	switch {
	case ip[8] == 0xff, src.Is4In6():
		return Source
	case dst.Is4In6(), dst == netip.IPv6Unspecified(), d.Cast == Multicast && ip[25]&15 == 0:
		return Destination
	case r.Loopback:
	case src == netip.IPv6Loopback(), dst == netip.IPv6Loopback(), d.Cast == Multicast && ip[25]&15 == 1:
		return Loopback
	}
	d.TrafficClass, d.HopLimit = ip[0]<<4|ip[1]>>4, ip[7]
	addrs := plus(plus(le.Uint64(ip[8:]), le.Uint64(ip[16:])), plus(le.Uint64(ip[24:]), le.Uint64(ip[32:])))
	if why := r.parseUDP(d, ip[IPv6Len:], rest, length, addrs, true); why != Accepted {
		return why
	}
	udp := ip[IPv6Len:]
	d.Src = netip.AddrPortFrom(src, be.Uint16(udp))
	d.Dst = netip.AddrPortFrom(dst, be.Uint16(udp[2:]))
	return Accepted
}

// isExtension distinguishes the extension headers (IANA, IPv6 Extension Header Types) from other protocols.
func isExtension(next byte) bool {
	switch next {
	case 0, 43, 44, 50, 51, 60, 135, 139, 140, 253, 254:
		return true
	}
	return false
}

// parseUDP checks the payload of an IP packet: n bytes, perhaps with padding after them. udp has the first bytes.
// addrs is the sum of the addresses.
func (r *Rules) parseUDP(d *Datagram, udp []byte, rest [][]byte, n int, addrs uint64, v6 bool) Reason {
	be, le := binary.BigEndian, binary.LittleEndian
	if n < UDPLen {
		return UDPLength
	}
	if len(udp) < UDPLen {
		return Short
	}
	length := int(be.Uint16(udp[4:]))
	if length > n || length < UDPLen {
		return UDPLength
	}
	udp = udp[:min(length, len(udp))]
	d.Len, d.Payload = length-UDPLen, udp[UDPLen:len(udp):len(udp)]
	check := le.Uint16(udp[6:])
	if check == 0 {
		if v6 {
			return NoChecksum
		}
		return Accepted
	}
	pseudo := plus(addrs, uint64(protoUDP<<8)+uint64(bits.ReverseBytes16(uint16(length))))
	sum := add(pseudo, udp)
	if left := length - len(udp); left > 0 {
		sum = addRest(sum, len(udp), rest, left)
	}
	switch {
	case fold(sum) == 0xffff:
		return Accepted
	case check != fold(pseudo):
		return UDPChecksum
	case !r.Unfinished:
		return Unfinished
	}
	return Accepted
}

// addRest adds left bytes of rest, which follow n other bytes.
func addRest(sum uint64, n int, rest [][]byte, left int) uint64 {
	s := Sum{sum, n%2 != 0}
	for _, b := range rest {
		b = b[:min(left, len(b))]
		left -= len(b)
		s.Add(b)
	}
	return s.sum
}
