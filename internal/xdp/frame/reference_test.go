package frame

import (
	"bytes"
	"net"
	"net/netip"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"pgregory.net/rapid"
)

// drawn returns a random datagram.
func drawn(t *rapid.T) (Config, []byte) {
	c := Config{
		SrcMAC:       MAC{2, rapid.Byte().Draw(t, "src"), 3, 4, 5, 6},
		DstMAC:       MAC{2, rapid.Byte().Draw(t, "dst"), 7, 8, 9, 10},
		TrafficClass: rapid.Byte().Draw(t, "class"),
		HopLimit:     rapid.Uint8Min(1).Draw(t, "hops"),
	}
	if rapid.Bool().Draw(t, "tagged") {
		c.Tags[0] = Tag{TagC, rapid.Uint16().Draw(t, "tag")}
		if rapid.Bool().Draw(t, "twice") {
			c.Tags = [2]Tag{{TagS, rapid.Uint16().Draw(t, "outer")}, c.Tags[0]}
		}
	}
	addr := func(name string, v6 bool) netip.AddrPort {
		a := netip.AddrFrom4([4]byte{10, 1, rapid.Byte().Draw(t, name), rapid.Byte().Draw(t, name)})
		if v6 {
			b := [16]byte{0xfd, 1, 2}
			copy(b[8:], rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, name))
			a = netip.AddrFrom16(b)
		}
		return netip.AddrPortFrom(a, rapid.Uint16().Draw(t, name+" port"))
	}
	v6 := rapid.Bool().Draw(t, "IPv6")
	c.Src, c.Dst = addr("from", v6), addr("to", v6)
	if c.Src.Addr() == c.Dst.Addr() {
		t.Skip("source and destination are equal")
	}
	if v6 {
		c.FlowLabel = rapid.Uint32Max(1<<20-1).Draw(t, "flow")
	}
	return c, rapid.SliceOfN(rapid.Byte(), 0, 1500).Draw(t, "payload")
}

// tagLayers returns Ethernet and the tags for a packet of a type.
func tagLayers(c *Config, kind layers.EthernetType) []gopacket.SerializableLayer {
	eth := &layers.Ethernet{SrcMAC: c.SrcMAC[:], DstMAC: c.DstMAC[:], EthernetType: kind}
	list := []gopacket.SerializableLayer{eth}
	next := &eth.EthernetType
	for _, tag := range c.Tags {
		if tag.Proto == 0 {
			break
		}
		*next = layers.EthernetType(tag.Proto)
		q := &layers.Dot1Q{Priority: uint8(tag.TCI >> 13), DropEligible: tag.TCI&0x1000 != 0,
			VLANIdentifier: tag.TCI & 0xfff, Type: kind}
		next = &q.Type
		list = append(list, q)
	}
	return list
}

// reference builds the frame with gopacket.
func reference(t *rapid.T, c *Config, payload []byte, id uint16) []byte {
	udp := &layers.UDP{SrcPort: layers.UDPPort(c.Src.Port()), DstPort: layers.UDPPort(c.Dst.Port())}
	src, dst := net.IP(c.Src.Addr().AsSlice()), net.IP(c.Dst.Addr().AsSlice())
	var list []gopacket.SerializableLayer
	if c.Src.Addr().Is4() {
		ip := &layers.IPv4{Version: 4, IHL: 5, TOS: c.TrafficClass, Id: id, Flags: layers.IPv4DontFragment,
			TTL: c.HopLimit, Protocol: layers.IPProtocolUDP, SrcIP: src, DstIP: dst}
		udp.SetNetworkLayerForChecksum(ip)
		list = append(tagLayers(c, layers.EthernetTypeIPv4), ip)
	} else {
		ip := &layers.IPv6{Version: 6, TrafficClass: c.TrafficClass, FlowLabel: c.FlowLabel, HopLimit: c.HopLimit,
			NextHeader: layers.IPProtocolUDP, SrcIP: src, DstIP: dst}
		udp.SetNetworkLayerForChecksum(ip)
		list = append(tagLayers(c, layers.EthernetTypeIPv6), ip)
	}
	buf := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buf, opts, append(list, udp, gopacket.Payload(payload))...); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestReference compares with gopacket, an independent implementation: Put builds the same frames, and Parse reads
// them.
func TestReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, payload := drawn(t)
		id := rapid.Uint16().Draw(t, "id")
		var h Header
		if err := h.Init(&c); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, HeaderMax+len(payload))
		got = got[:h.Put(got, payload, id)]
		want := reference(t, &c, payload, id)
		if check := want[h.Len()-2 : h.Len()]; check[0]|check[1] == 0 { // gopacket does not know that 0 means none
			check[0], check[1] = 0xff, 0xff
		}
		if len(got) < 60 { // gopacket pads short frames
			want = want[:len(got)]
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("built\n%x, want\n%x", got, want)
		}
		var d Datagram
		if why := (&Rules{MAC: c.DstMAC}).Parse(&d, want); why != Accepted {
			t.Fatal(why)
		}
		if d.Src != c.Src || d.Dst != c.Dst || !bytes.Equal(d.Payload, payload) || d.Tags != c.Tags ||
			d.HopLimit != c.HopLimit || d.TrafficClass != c.TrafficClass {
			t.Fatalf("%+v, want %+v", d, c)
		}
	})
}
