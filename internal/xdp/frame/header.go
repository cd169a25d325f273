package frame

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math/bits"
	"net/netip"
)

// MAC is an Ethernet address.
type MAC [6]byte

// Tag is a VLAN tag: its protocol (TPID), TagC or TagS, and its 16 bits of priority, DEI and VLAN number (TCI). If
// Proto is zero there is no tag.
type Tag struct{ Proto, TCI uint16 }

// These are the protocols of tags.
const (
	TagC uint16 = 0x8100 // IEEE 802.1Q
	TagS uint16 = 0x88a8 // IEEE 802.1ad
)

// TagsMax is the largest number of tags of a frame.
const TagsMax = 2

// These are the lengths of headers in bytes.
const (
	EthernetLen = 14
	TagLen      = 4
	IPv4Len     = 20
	IPv6Len     = 40
	UDPLen      = 8
	HeaderMax   = EthernetLen + TagsMax*TagLen + IPv6Len + UDPLen
)

const (
	typeIPv4 = 0x0800
	typeIPv6 = 0x86dd

	dontFragment    = 0x4000
	moreOrOffset    = 0x3fff // more fragments follow, or this is not the first one (RFC 791)
	protoUDP        = 17
	defaultHopLimit = 64 // the kernel's default for unicast (IPDEFTTL, ipv6_devconf hop_limit)
	lengthMax       = 0xffff
)

// Config has the fields of a Header.
type Config struct {
	SrcMAC, DstMAC MAC
	// Tags are the VLAN tags, the outer one first.
	Tags [TagsMax]Tag
	// Src and Dst are the ends, of the same family. IPv4-mapped addresses count as IPv4. Zones are ignored.
	Src, Dst netip.AddrPort
	// TrafficClass is the byte of DSCP and ECN.
	TrafficClass uint8
	// HopLimit is the time to live; 0 means 64.
	HopLimit uint8
	// FlowLabel is IPv6's, 20 bits.
	FlowLabel uint32
	// NoChecksum omits the UDP checksum, which IPv4 allows (RFC 768). It has no effect with IPv6 (RFC 8200, 8.1).
	NoChecksum bool
}

// These are the errors of Init.
var (
	ErrAddress = errors.New("frame: source and destination are not two IP addresses of one family")
	ErrTags    = errors.New("frame: an outer VLAN tag is missing, or a tag's protocol is unknown")
)

// Header has all headers before the payload of the datagrams to one destination. IPv4 datagrams have "don't fragment"
// set.
type Header struct {
	b      [HeaderMax]byte
	n      uint8 // bytes of b in use
	ip     uint8 // offset of the IP header
	v6     bool
	noSum  bool
	ipSum  uint32 // of the IPv4 header without length, identification and checksum
	udpSum uint32 // of the pseudo header and the UDP header, without lengths and checksum
}

// Init builds the header. After an error it is not usable.
func (h *Header) Init(c *Config) error {
	src, dst := c.Src.Addr().Unmap(), c.Dst.Addr().Unmap()
	*h = Header{}
	if !src.IsValid() || !dst.IsValid() || src.Is4() != dst.Is4() {
		return ErrAddress
	}
	be := binary.BigEndian
	copy(h.b[0:], c.DstMAC[:])
	copy(h.b[6:], c.SrcMAC[:])
	at := 12
	for i, t := range c.Tags {
		if t.Proto == 0 {
			continue
		}
		if t.Proto != TagC && t.Proto != TagS || i > 0 && c.Tags[i-1].Proto == 0 {
			return ErrTags
		}
		be.PutUint16(h.b[at:], t.Proto)
		be.PutUint16(h.b[at+2:], t.TCI)
		at += TagLen
	}
	h.ip = uint8(at + 2)
	ip := h.b[h.ip:]
	limit := cmp.Or(c.HopLimit, defaultHopLimit)
	var udp []byte
	var addrs uint64
	if src.Is4() {
		be.PutUint16(h.b[at:], typeIPv4)
		s, d := src.As4(), dst.As4()
		ip[0], ip[1] = 4<<4|IPv4Len/4, c.TrafficClass
		be.PutUint16(ip[6:], dontFragment)
		ip[8], ip[9] = limit, protoUDP
		copy(ip[12:], s[:])
		copy(ip[16:], d[:])
		h.ipSum = uint32(fold(add(0, ip[:IPv4Len])))
		addrs = add(0, ip[12:IPv4Len])
		udp, h.noSum = ip[IPv4Len:], c.NoChecksum
	} else {
		be.PutUint16(h.b[at:], typeIPv6)
		s, d := src.As16(), dst.As16()
		be.PutUint32(ip, 6<<28|uint32(c.TrafficClass)<<20|c.FlowLabel&0xfffff)
		ip[6], ip[7] = protoUDP, limit
		copy(ip[8:], s[:])
		copy(ip[24:], d[:])
		addrs = add(0, ip[8:IPv6Len])
		udp, h.v6 = ip[IPv6Len:], true
	}
	be.PutUint16(udp, c.Src.Port())
	be.PutUint16(udp[2:], c.Dst.Port())
	h.udpSum = uint32(fold(add(addrs, []byte{0, protoUDP, udp[0], udp[1], udp[2], udp[3]})))
	h.n = uint8(HeaderMax - len(udp) + UDPLen)
	return nil
}

// Len returns the length of the header in bytes, or 0 if it was not built.
func (h *Header) Len() int { return int(h.n) }

// MaxPayload returns the largest payload of a datagram if packets, without Ethernet's header and tags, may have mtu
// bytes.
func (h *Header) MaxPayload(mtu int) int {
	n := min(mtu, lengthMax) - (IPv4Len + UDPLen)
	if h.v6 {
		n = min(mtu-(IPv6Len+UDPLen), lengthMax-UDPLen)
	}
	return max(n, 0)
}

// Put writes header and payload into dst and returns the length of the frame. It returns 0 if dst is too short or the
// payload is too long for UDP. Payload that is already at dst[h.Len():] stays there. id is the identification of an
// IPv4 packet. It has no meaning for packets that are not fragmented (RFC 6864). Put does not pad short frames, as
// the kernel does not: drivers and hardware do that.
func (h *Header) Put(dst, payload []byte, id uint16) int {
	at := int(h.n)
	if len(dst) < at+len(payload) || at == 0 {
		return 0
	}
	n := len(payload)
	if n > 0 && &payload[0] != &dst[at] {
		copy(dst[at:], payload)
	}
	var sum uint64
	if !h.noSum {
		sum = add(0, dst[at:at+n])
	}
	return h.put(dst, n, sum, id)
}

// Seal writes the header of a datagram of n bytes of payload with the given sum into dst, and returns its length. It
// returns 0 if dst is too short for the header or n is too large. Seal is for payload in several buffers of a frame.
// If there is no checksum (Checksummed), sum is not used.
func (h *Header) Seal(dst []byte, n int, sum *Sum, id uint16) int {
	if len(dst) < int(h.n) || h.n == 0 || h.put(dst, n, sum.sum, id) == 0 {
		return 0
	}
	return int(h.n)
}

// Checksummed reports whether datagrams have a UDP checksum, so that Seal needs the sum of the payload.
func (h *Header) Checksummed() bool { return !h.noSum }

// put writes the header for n bytes with the given sum, and returns the length of the frame. dst must have room for
// the header.
func (h *Header) put(dst []byte, n int, sum uint64, id uint16) int {
	be, le := binary.BigEndian, binary.LittleEndian
	if n > lengthMax-UDPLen || !h.v6 && n > lengthMax-UDPLen-IPv4Len {
		return 0
	}
	b := dst[:h.n]
	copy(b, h.b[:])
	ip := b[h.ip:]
	var udp []byte
	udpLen := uint16(n + UDPLen)
	if h.v6 {
		be.PutUint16(ip[4:], udpLen)
		udp = ip[IPv6Len:]
	} else {
		total := udpLen + IPv4Len
		be.PutUint16(ip[2:], total)
		be.PutUint16(ip[4:], id)
		le.PutUint16(ip[10:], ^fold(uint64(h.ipSum)+uint64(bits.ReverseBytes16(total))+uint64(bits.ReverseBytes16(id))))
		udp = ip[IPv4Len:]
	}
	be.PutUint16(udp[4:], udpLen)
	if !h.noSum {
		// The length counts twice: in the pseudo header and in the UDP header.
		c := ^fold(plus(sum, uint64(h.udpSum)+2*uint64(bits.ReverseBytes16(udpLen))))
		if c == 0 {
			c = 0xffff // 0 would mean that there is no checksum (RFC 768)
		}
		le.PutUint16(udp[6:], c)
	}
	return len(b) + n
}
