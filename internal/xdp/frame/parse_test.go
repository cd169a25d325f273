package frame

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"
	"testing"
)

// resum4 corrects the header checksum of an untagged IPv4 frame.
func resum4(f []byte) []byte {
	ip := f[EthernetLen:]
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint16(ip[10:], ^slowSum(ip[:IPv4Len]))
	return f
}

func from4(s string) func(*Config) {
	return func(c *Config) { c.Src = netip.MustParseAddrPort(s + ":7000") }
}
func to4(s string) func(*Config) {
	return func(c *Config) { c.Dst = netip.MustParseAddrPort(s + ":7001") }
}
func ends6(src, dst string) func(*Config) {
	return func(c *Config) {
		c.Src, c.Dst = netip.AddrPortFrom(netip.MustParseAddr(src), 1), netip.AddrPortFrom(netip.MustParseAddr(dst), 2)
	}
}

// set returns a change of one byte after the Ethernet header, which corrects the IPv4 header's checksum.
func set(at int, v byte) func([]byte) []byte {
	return func(f []byte) []byte { f[EthernetLen+at] = v; return resum4(f) }
}

// set6 is set for IPv6.
func set6(at int, v byte) func([]byte) []byte {
	return func(f []byte) []byte { f[EthernetLen+at] = v; return f }
}

var parseTests = []struct {
	name   string
	v6     bool
	config func(*Config)
	damage func([]byte) []byte
	rules  Rules
	want   Reason
}{
	{name: "good"},
	{name: "good IPv6", v6: true},
	{name: "our station", rules: Rules{MAC: macB}},
	{name: "another station", rules: Rules{MAC: macA}, want: OtherHost},
	{name: "everybody's", rules: Rules{MAC: macA}, config: func(c *Config) { c.DstMAC = all }},
	{name: "ARP", damage: func(f []byte) []byte { f[13] = 6; return f }, want: EtherType},
	{name: "IPv4 type, version 6", damage: set(0, 0x65), want: Version},
	{name: "IPv6 type, version 4", v6: true, damage: set6(0, 0x40), want: Version},
	{name: "header length 16", damage: set(0, 0x44), want: Version},
	{name: "options", damage: set(0, 0x46), want: Options},
	{name: "header checksum", damage: func(f []byte) []byte { f[EthernetLen+10]++; return f }, want: HeaderChecksum},
	{name: "a bit of the header", damage: func(f []byte) []byte { f[EthernetLen+8] ^= 4; return f },
		want: HeaderChecksum},
	{name: "longer than the frame", damage: set(3, 28+64+1), want: TotalLength},
	{name: "shorter than its header", damage: set(3, 19), want: TotalLength},
	{name: "no UDP header", damage: set(3, 27), want: UDPLength},
	{name: "IPv6, longer than the frame", v6: true, damage: set6(5, 8+64+1), want: TotalLength},
	{name: "IPv6, no UDP header", v6: true, damage: set6(5, 7), want: UDPLength},
	{name: "IPv6, jumbogram", v6: true, damage: func(f []byte) []byte { f[EthernetLen+5], f[EthernetLen+45] = 0, 0; return f }, want: UDPLength},
	{name: "more fragments", damage: set(6, 0x20), want: Fragment},
	{name: "not the first fragment", damage: set(7, 1), want: Fragment},
	{name: "TCP", damage: set(9, 6), want: Protocol},
	{name: "IPv6, TCP", v6: true, damage: set6(6, 6), want: Protocol},
	{name: "hop-by-hop options", v6: true, damage: set6(6, 0), want: Extension},
	{name: "routing header", v6: true, damage: set6(6, 43), want: Extension},
	{name: "IPv6 fragment", v6: true, damage: set6(6, 44), want: Extension},
	{name: "destination options", v6: true, damage: set6(6, 60), want: Extension},
	{name: "from a group", config: from4("239.0.0.1"), want: Source},
	{name: "from everybody", config: from4("255.255.255.255"), want: Source},
	{name: "from this network", config: from4("0.0.0.1"), want: Source},
	{name: "from no address to the broadcast address",
		config: func(c *Config) { from4("0.0.0.0")(c); to4("255.255.255.255")(c) }},
	{name: "from nowhere to a local group", config: func(c *Config) { from4("0.0.0.0")(c); to4("224.0.0.9")(c) }},
	{name: "from nowhere to a group", config: func(c *Config) { from4("0.0.0.0")(c); to4("239.0.0.9")(c) },
		want: Source},
	{name: "to this network", config: to4("0.0.0.0"), want: Destination},
	{name: "from the address that it is to", config: func(c *Config) { c.Src = netip.AddrPortFrom(c.Dst.Addr(), 7000) },
		want: Source},
	{name: "loopback", config: from4("127.0.0.1"), want: Loopback},
	{name: "to loopback", config: to4("127.1.2.3"), want: Loopback},
	{name: "loopback on lo", config: func(c *Config) { from4("127.0.0.1")(c); to4("127.0.0.1")(c) },
		rules: Rules{Loopback: true}},
	{name: "IPv6 from a group", v6: true, config: ends6("ff02::1", "fd09::2"), want: Source},
	{name: "IPv6 to the unspecified address", v6: true, config: ends6("fd09::1", "::"), want: Destination},
	{name: "IPv6 to a reserved scope", v6: true, config: ends6("fd09::1", "ff00::1"), want: Destination},
	{name: "IPv6 scope of an interface", v6: true, config: ends6("fd09::1", "ff01::1"), want: Loopback},
	{name: "IPv6 scope of an interface on lo", v6: true, config: ends6("fd09::1", "ff01::1"),
		rules: Rules{Loopback: true}},
	{name: "IPv6 loopback", v6: true, config: ends6("::1", "fd09::1"), want: Loopback},
	{name: "IPv6 to loopback", v6: true, config: ends6("fd09::1", "::1"), want: Loopback},
	{name: "IPv6 loopback on lo", v6: true, config: ends6("::1", "::1"), rules: Rules{Loopback: true}},
	{name: "mapped source", v6: true, damage: func(f []byte) []byte { copy(f[EthernetLen+8:], mapped[:]); return f },
		want: Source},
	{name: "from another address of this host",
		rules: Rules{Own: addresses("10.99.0.9", config4().Src.Addr().String())}, want: Source},
	{name: "not from this host", rules: Rules{Own: addresses("10.99.0.9")}},
	{name: "from another address of this host on lo",
		rules: Rules{Loopback: true, Own: addresses(config4().Src.Addr().String())}},
	{name: "IPv6, from another address of this host", v6: true,
		rules: Rules{Own: addresses(config6().Src.Addr().String())}},
	{name: "mapped destination", v6: true,
		damage: func(f []byte) []byte { copy(f[EthernetLen+24:], mapped[:]); return f }, want: Destination},
	{name: "UDP longer than the packet", damage: set(25, 8+64+1), want: UDPLength},
	{name: "UDP shorter than its header", damage: set(25, 7), want: UDPLength},
	{name: "payload damaged", damage: set(28, 99), want: UDPChecksum},
	{name: "port damaged", damage: set(20, 99), want: UDPChecksum},
	{name: "last byte damaged", v6: true, damage: func(f []byte) []byte { f[len(f)-1] ^= 1; return f },
		want: UDPChecksum},
	{name: "damaged, unfinished may come", damage: set(28, 99), rules: Rules{Unfinished: true}, want: UDPChecksum},
	{name: "unfinished", damage: unfinish, want: Unfinished},
	{name: "unfinished may come", damage: unfinish, rules: Rules{Unfinished: true}},
	{name: "no checksum", damage: func(f []byte) []byte { f[40], f[41] = 0, 0; return f }},
	{name: "IPv6, no checksum", v6: true, damage: func(f []byte) []byte { f[60], f[61] = 0, 0; return f },
		want: NoChecksum},
}

var mapped = netip.MustParseAddr("::ffff:10.0.0.1").As16()

func addresses(list ...string) map[netip.Addr]struct{} {
	set := map[netip.Addr]struct{}{}
	for _, a := range list {
		set[netip.MustParseAddr(a)] = struct{}{}
	}
	return set
}

// TestOwn: the cached result for a source is used only for that source, and only until the host's addresses change.
func TestOwn(t *testing.T) {
	var r Rules
	var d Datagram
	from := func(a string, want Reason) {
		t.Helper()
		c := config4()
		from4(a)(&c)
		if why := r.Parse(&d, put(t, c, pattern(64))); why != want {
			t.Errorf("from %s: %v, want %v", a, why, want)
		}
	}
	from("10.99.0.9", Accepted)
	from("10.99.0.9", Accepted)
	r.SetOwn(addresses("10.99.0.9", "10.99.0.10"))
	from("10.99.0.9", Source)
	from("10.99.0.10", Source)
	from("10.99.0.11", Accepted)
	from("10.99.0.9", Source)
	from("10.99.0.11", Accepted)
	r.SetOwn(addresses("10.99.0.11"))
	from("10.99.0.11", Source)
	from("10.99.0.9", Accepted)
	r.SetOwn(nil)
	from("10.99.0.11", Accepted)
}

// unfinish leaves only the sum of the pseudo header in the checksum.
func unfinish(f []byte) []byte {
	ip := f[EthernetLen:]
	binary.BigEndian.PutUint16(ip[26:], slowSum(ip[12:20], []byte{0, protoUDP}, ip[24:26]))
	return f
}

func TestParse(t *testing.T) {
	seen := map[Reason]bool{Short: true} // TestParseCut
	for _, tc := range parseTests {
		t.Run(tc.name, func(t *testing.T) {
			c := config4()
			if tc.v6 {
				c = config6()
			}
			if tc.config != nil {
				tc.config(&c)
			}
			f := put(t, c, pattern(64))
			if tc.damage != nil {
				f = tc.damage(f)
			}
			var d Datagram
			if why := tc.rules.Parse(&d, f); why != tc.want {
				t.Errorf("%v, want %v", why, tc.want)
			}
			seen[tc.want] = true
		})
	}
	for r := range Reasons {
		if !seen[r] {
			t.Errorf("no frame is refused for %v", r)
		}
		if r.String() == "" {
			t.Errorf("reason %d has no name", r)
		}
	}
}

// TestParseCut cuts frames at every length. Cut frames are refused, and bytes after the packet are ignored.
func TestParseCut(t *testing.T) {
	tagged := config6()
	tagged.Tags = [2]Tag{{TagS, 1}, {TagC, 2}}
	for _, c := range []Config{config4(), config6(), tagged} {
		f := put(t, c, pattern(33))
		var d Datagram
		for n := range f {
			if why := new(Rules).Parse(&d, slices.Clone(f[:n])); why != Short && why != TotalLength {
				t.Errorf("%d bytes of %d: %v", n, len(f), why)
			}
		}
		long := append(slices.Clone(f), 1, 2, 3)
		if why := new(Rules).Parse(&d, long); why != Accepted || d.Len != 33 || len(d.Payload) != 33 ||
			cap(d.Payload) != 33 {
			t.Errorf("with a tail: %v, %d bytes", why, d.Len)
		}
	}
}

// TestParseTrim has a UDP datagram that is shorter than its packet. Parse trims it, as the kernel does.
func TestParseTrim(t *testing.T) {
	f := put(t, config4(), pattern(64))
	udp := f[EthernetLen+IPv4Len:]
	udp[5] -= 4
	udp[6], udp[7] = 0, 0
	binary.BigEndian.PutUint16(udp[6:], ^slowSum(f[26:34], []byte{0, protoUDP}, udp[4:6], udp[:8+60]))
	var d Datagram
	if why := new(Rules).Parse(&d, f); why != Accepted || d.Len != 60 || len(d.Payload) != 60 {
		t.Errorf("%v, %d bytes, want 60", why, d.Len)
	}
}

// TestParseList has frames in several buffers, with the boundary anywhere after the headers.
func TestParseList(t *testing.T) {
	payload := pattern(2000)
	for _, c := range []Config{config4(), config6()} {
		f := append(put(t, c, payload), "tail"...)
		head := header(t, c).Len()
		for _, cuts := range [][]int{{head, 700, 701, 1500}, {head + 1, head + 2, head + 2}, {1999}, {head + 2000},
			{head + 2001}, {}} {
			var bufs [][]byte
			at := 0
			for _, cut := range append(cuts, len(f)) {
				bufs = append(bufs, f[at:cut])
				at = cut
			}
			var d Datagram
			if why := new(Rules).ParseList(&d, bufs); why != Accepted || d.Len != len(payload) {
				t.Fatalf("cut at %v: %v, %d bytes", cuts, why, d.Len)
			}
			if got := slices.Concat(d.AppendParts(nil, bufs)...); !slices.Equal(got, payload) {
				t.Errorf("cut at %v: another payload, %d bytes", cuts, len(got))
			}
			f[head+1234] ^= 8
			if why := new(Rules).ParseList(&d, bufs); why != UDPChecksum {
				t.Errorf("cut at %v, damaged: %v", cuts, why)
			}
			f[head+1234] ^= 8
		}
		var d Datagram
		for n := range head {
			if why := new(Rules).ParseList(&d, [][]byte{f[:n], f[n:]}); why != Short {
				t.Errorf("first buffer of %d bytes: %v, want %v", n, why, Short)
			}
		}
	}
	if why := new(Rules).ParseList(new(Datagram), nil); why != Short {
		t.Errorf("no buffer: %v", why)
	}
}

// TestAllocs checks that neither building nor parsing allocates.
func TestAllocs(t *testing.T) {
	for _, c := range []Config{config4(), config6()} {
		h := header(t, c)
		buf, payload, r := make([]byte, 256), pattern(64), &Rules{MAC: macB}
		var d Datagram
		n := testing.AllocsPerRun(100, func() {
			n := h.Put(buf, payload, 1)
			if why := r.Parse(&d, buf[:n]); why != Accepted {
				t.Fatal(why)
			}
			var s Sum
			s.Add(payload)
			h.Seal(buf, len(payload), &s, 3)
		})
		if n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// FuzzParse parses any bytes. It does not panic, an accepted datagram is within the frame, and a frame that is built
// from it is accepted as the same datagram.
func FuzzParse(f *testing.F) {
	for _, c := range []Config{config4(), config6()} {
		f.Add(put(f, c, pattern(20)), uint16(0))
		c.Tags = [2]Tag{{TagS, 1}, {TagC, 2}}
		f.Add(put(f, c, pattern(21)), uint16(50))
	}
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		var d, e, again Datagram
		r := Rules{Loopback: true}
		why := r.Parse(&d, b)
		if why.String() == "" {
			t.Fatalf("reason %d", why)
		}
		at := min(int(cut), len(b))
		bufs := [][]byte{b[:at], b[at:]}
		if listed := r.ParseList(&e, bufs); listed != why && (listed != Short || at >= HeaderMax) {
			t.Fatalf("%v, in two buffers %v", why, listed)
		}
		if why != Accepted {
			return
		}
		if len(d.Payload) != d.Len || d.Len > len(b)-EthernetLen-IPv4Len-UDPLen {
			t.Fatalf("%d bytes of payload, length %d, in %d", len(d.Payload), d.Len, len(b))
		}
		var h Header
		c := Config{DstMAC: d.DstMAC, Tags: d.Tags, Src: d.Src, Dst: d.Dst, TrafficClass: d.TrafficClass,
			HopLimit: d.HopLimit}
		if err := h.Init(&c); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, HeaderMax+d.Len)
		n := h.Put(buf, d.Payload, cut)
		if why := r.Parse(&again, buf[:n]); why != Accepted {
			t.Fatalf("built again: %v", why)
		}
		if d.HopLimit == 0 {
			d.HopLimit = again.HopLimit
		}
		checkDatagram(t, &again, d, d.Payload)
	})
}

// TestFoldOrder documents the byte order of Fold's result.
func TestFoldOrder(t *testing.T) {
	var s Sum
	s.Add([]byte{0x12, 0x34})
	if fold(s.sum) != bits.ReverseBytes16(0x1234) {
		t.Errorf("%#04x", fold(s.sum))
	}
}
