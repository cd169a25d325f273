package frame

import (
	"bytes"
	"net/netip"
	"testing"
)

// golden has the contents of each frame in testdata/veth.pcap, which tcpdump has recorded at the other end of a veth
// pair. A frame with a config is also built, and compared byte for byte.
var golden = []struct {
	name    string
	why     Reason
	config  func(*Config)
	v6      bool
	payload []byte
	change  func(*Datagram) // changes the expected datagram
}{
	{name: "four bytes", config: same, payload: []byte("four")},
	{name: "64 bytes", config: same, payload: count(64, 1)},
	{name: "odd and full", config: same, payload: count(1471, 7)},
	{name: "empty", config: same},
	{name: "class and hop limit", config: func(c *Config) { c.TrafficClass, c.HopLimit = 0xb8, 3 },
		payload: []byte("class and hop limit"), change: func(d *Datagram) { d.TrafficClass, d.HopLimit = 0xb8, 3 }},
	{name: "no checksum", config: func(c *Config) { c.NoChecksum = true }, payload: []byte("no checksum")},
	{name: "group", config: func(c *Config) { c.Dst, c.DstMAC = group4, MAC{1, 0, 0x5e, 1, 2, 3} },
		payload: []byte("to a group"), change: func(d *Datagram) {
			d.Dst, d.DstMAC, d.Link, d.Cast = group4, MAC{1, 0, 0x5e, 1, 2, 3}, Multicast, Multicast
		}},
	{name: "directed broadcast", config: func(c *Config) { c.Dst, c.DstMAC = cast4, all },
		payload: []byte("to everybody"), change: func(d *Datagram) { d.Dst, d.DstMAC, d.Link = cast4, all, Broadcast }},
	{name: "first fragment", why: Fragment},
	{name: "last fragment", why: Fragment},
	{name: "options", why: Options},
	{name: "IPv6", config: same, v6: true, payload: []byte("six")},
	{name: "IPv6, 64 bytes", config: same, v6: true, payload: count(64, 1)},
	{name: "IPv6, class and hop limit", config: func(c *Config) { c.TrafficClass, c.HopLimit = 0xb8, 9 }, v6: true,
		payload: []byte("class and hop limit"), change: func(d *Datagram) { d.TrafficClass, d.HopLimit = 0xb8, 9 }},
	{name: "flow label", config: func(c *Config) { c.FlowLabel = 0x20128 }, v6: true, payload: []byte("flow label")},
	{name: "IPv6 group", config: func(c *Config) { c.Dst, c.DstMAC = group6, MAC{0x33, 0x33, 0, 0, 0, 0x42} }, v6: true,
		payload: []byte("to a group"), change: func(d *Datagram) {
			d.Dst, d.DstMAC, d.Link, d.Cast = group6, MAC{0x33, 0x33, 0, 0, 0, 0x42}, Multicast, Multicast
		}},
	{name: "IPv6, first fragment", why: Extension},
	{name: "IPv6, last fragment", why: Extension},
	{name: "to be tagged", config: same, payload: vlanText},
	{name: "IPv6, to be tagged", config: same, v6: true, payload: vlanText},
	{name: "802.1Q", config: func(c *Config) { c.Tags[0] = Tag{TagC, 3<<13 | 42} }, payload: vlanText,
		change: func(d *Datagram) { d.Tags[0] = Tag{TagC, 3<<13 | 42} }},
	{name: "IPv6, 802.1Q", config: func(c *Config) { c.Tags[0] = Tag{TagC, 42} }, v6: true, payload: vlanText,
		change: func(d *Datagram) { d.Tags[0] = Tag{TagC, 42} }},
	{name: "802.1ad", config: func(c *Config) { c.Tags = [2]Tag{{TagS, 7}, {TagC, 9}} }, payload: vlanText,
		change: func(d *Datagram) { d.Tags = [2]Tag{{TagS, 7}, {TagC, 9}} }},
	{name: "three tags", why: EtherType},
	{name: "padded", payload: vlanText},
	{name: "unfinished", why: Unfinished, payload: []byte("left to hardware")},
	{name: "IPv6, unfinished", why: Unfinished, v6: true, payload: []byte("left to hardware")},
}

var (
	group4   = netip.MustParseAddrPort("239.1.2.3:7001")
	cast4    = netip.MustParseAddrPort("10.9.0.255:7001")
	group6   = netip.MustParseAddrPort("[ff15::42]:7001")
	vlanText = []byte("in a VLAN")
)

func same(*Config) {}

func count(n, step int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * step)
	}
	return b
}

func TestGolden(t *testing.T) {
	frames := captured(t, "testdata/veth.pcap")
	if len(frames) != len(golden) {
		t.Fatalf("%d frames, want %d", len(frames), len(golden))
	}
	for i, g := range golden {
		t.Run(g.name, func(t *testing.T) {
			c := config4()
			if g.v6 {
				c = config6()
			}
			want := Datagram{Src: c.Src, Dst: c.Dst, DstMAC: macB, Len: len(g.payload), HopLimit: 64}
			if g.change != nil {
				g.change(&want)
			}
			var d Datagram
			if why := (&Rules{MAC: macB}).Parse(&d, frames[i]); why != g.why {
				t.Fatalf("%v, want %v", why, g.why)
			}
			if g.why == Unfinished {
				if why := (&Rules{Unfinished: true}).Parse(&d, frames[i]); why != Accepted {
					t.Fatalf("%v, although unfinished checksums are permitted", why)
				}
			} else if g.why != Accepted {
				return
			}
			checkDatagram(t, &d, want, g.payload)
			if g.config == nil {
				return
			}
			g.config(&c)
			if b := put(t, c, g.payload); !bytes.Equal(b, frames[i]) {
				t.Errorf("built\n%x, want\n%x", b, frames[i])
			}
		})
	}
}

// checkDatagram compares all fields of d.
func checkDatagram(t testing.TB, d *Datagram, want Datagram, payload []byte) {
	t.Helper()
	if !bytes.Equal(d.Payload, payload) {
		t.Errorf("payload %x, want %x", d.Payload, payload)
	}
	got := *d
	got.Payload, want.Payload = nil, nil
	if !equal(&got, &want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func equal(a, b *Datagram) bool {
	return a.Src == b.Src && a.Dst == b.Dst && a.Len == b.Len && a.DstMAC == b.DstMAC && a.Link == b.Link &&
		a.Cast == b.Cast &&
		a.TrafficClass == b.TrafficClass && a.HopLimit == b.HopLimit && a.Tags == b.Tags
}
