package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// Proto is the transport protocol of a Packet.
type Proto uint8

// The transport protocols. Other is everything that is neither.
const (
	Other Proto = iota
	TCP
	UDP
)

// Packet is a captured packet. Payload points into a buffer of its own and may be kept.
type Packet struct {
	Time          time.Time
	Proto         Proto
	Src, Dst      netip.AddrPort
	Seq           uint32 // TCP
	SYN, FIN, RST bool   // TCP
	Payload       []byte
	Missing       int // bytes of payload that were sent and not captured (tcpdump -s)
}

// Link types of the registry that gopacket, which has 8 bits for them, does not know are given numbers that the
// registry uses for nothing that carries IP.
const (
	registrySLL2 = 276 // LINKTYPE_LINUX_SLL2: what tcpdump -i any writes
	linkSLL2     = 255
	linkUnknown  = 254
	sll2Header   = 20
)

// shortLink turns a link type of the registry into 8 bits.
func shortLink(registry uint32) uint8 {
	switch {
	case registry == registrySLL2:
		return linkSLL2
	case registry >= linkUnknown:
		return linkUnknown
	}
	return uint8(registry)
}

// decode finds addresses and payload in a frame. A frame of another protocol is not an error. Frames are untrusted:
// if gopacket panics on one, the next is looked at all the same.
func decode(link uint8, data []byte, info gopacket.CaptureInfo) (p Packet, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("capture: undecodable frame of %d bytes: %v", len(data), r)
		}
	}()
	p.Time = info.Timestamp
	var first gopacket.Decoder = layers.LinkType(link)
	switch {
	case link == linkSLL2 && len(data) >= sll2Header:
		first = layers.EthernetType(binary.BigEndian.Uint16(data))
		data = data[sll2Header:]
	case link == linkSLL2:
		return p, fmt.Errorf("capture: a frame of %d bytes is shorter than its link header", len(data))
	case link == linkUnknown || layers.LinkTypeMetadata[link].DecodeWith == nil:
		return p, errors.New("capture: this kind of link is not supported; capture on Ethernet, loopback or any")
	}
	pkt := gopacket.NewPacket(data, first, gopacket.DecodeOptions{NoCopy: true})
	var src, dst netip.Addr
	switch ip := pkt.NetworkLayer().(type) {
	case *layers.IPv4:
		src, _ = netip.AddrFromSlice(ip.SrcIP)
		dst, _ = netip.AddrFromSlice(ip.DstIP)
	case *layers.IPv6:
		src, _ = netip.AddrFromSlice(ip.SrcIP)
		dst, _ = netip.AddrFromSlice(ip.DstIP)
	default:
		return p, nil
	}
	p.Missing = max(0, info.Length-info.CaptureLength)
	switch t := pkt.TransportLayer().(type) {
	case *layers.TCP:
		p.Proto, p.Payload = TCP, t.Payload
		p.Src, p.Dst = netip.AddrPortFrom(src, uint16(t.SrcPort)), netip.AddrPortFrom(dst, uint16(t.DstPort))
		p.Seq, p.SYN, p.FIN, p.RST = t.Seq, t.SYN, t.FIN, t.RST
	case *layers.UDP:
		p.Proto, p.Payload = UDP, t.Payload
		p.Src, p.Dst = netip.AddrPortFrom(src, uint16(t.SrcPort)), netip.AddrPortFrom(dst, uint16(t.DstPort))
	}
	return p, nil
}
