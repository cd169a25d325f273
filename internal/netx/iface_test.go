package netx

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestInterfacesHasLoopback(t *testing.T) {
	list, err := Interfaces()
	must(t, err)
	found := false
	for _, i := range list {
		if !i.Addr.IsValid() || !i.Prefix.IsValid() || i.Name == "" || i.Index <= 0 || i.MTU <= 0 {
			t.Errorf("incomplete: %+v", i)
		}
		if !i.Prefix.Contains(i.Addr.WithZone("")) {
			t.Errorf("%s: %v is not in %v", i.Name, i.Addr, i.Prefix)
		}
		if i.Addr.IsLinkLocalUnicast() && i.Addr.Is6() && i.Addr.Zone() != i.Name {
			t.Errorf("%s: %v lacks its zone", i.Name, i.Addr)
		}
		if !IsLocal(i.Addr) {
			t.Errorf("%v is not local", i.Addr)
		}
		found = found || i.Addr == loopback4 && i.Kind == KindLoopback && i.Up
	}
	if !found {
		t.Errorf("no loopback among %v", list)
	}
}

func TestIsLocal(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true, "0.0.0.0": false, "::": false,
		"198.51.100.77": false, "2001:db8::77": false,
	} {
		if got := IsLocal(netip.MustParseAddr(addr)); got != want {
			t.Errorf("IsLocal(%s) = %v", addr, got)
		}
	}
	if IsLocal(netip.Addr{}) {
		t.Error("no address is local")
	}
}

func TestEntries(t *testing.T) {
	ifi := &net.Interface{Index: 3, Name: "eth0", MTU: 1500, Flags: net.FlagUp}
	addrs := []net.Addr{
		&net.IPNet{IP: net.ParseIP("10.1.2.3"), Mask: net.CIDRMask(8, 32)}, // 16 bytes long, as net often has it
		&net.IPNet{IP: net.ParseIP("fe80::5"), Mask: net.CIDRMask(64, 128)},
		&net.IPNet{IP: net.ParseIP("ff02::1"), Mask: net.CIDRMask(64, 128)},
		&net.IPNet{IP: net.ParseIP("10.1.2.3"), Mask: net.IPMask{255, 0, 255, 0}},
		&net.IPNet{IP: net.IP{1, 2}, Mask: net.CIDRMask(8, 32)},
		&net.IPAddr{IP: net.ParseIP("10.1.2.3")},
	}
	list := entries(ifi, addrs, traits{KindEthernet, 1000, "virtio_net"})
	if len(list) != 2 {
		t.Fatalf("%d entries, want 2: %v", len(list), list)
	}
	a, b := list[0], list[1]
	if a.Addr != netip.MustParseAddr("10.1.2.3") || a.Prefix != netip.MustParsePrefix("10.0.0.0/8") || a.Up ||
		a.SpeedMbps != 1000 || a.Driver != "virtio_net" {
		t.Errorf("IPv4: %+v", a)
	}
	if b.Addr != netip.MustParseAddr("fe80::5%eth0") || b.Prefix != netip.MustParsePrefix("fe80::/64") ||
		b.Kind != KindEthernet {
		t.Errorf("IPv6: %+v", b)
	}
}

func TestKindByName(t *testing.T) {
	for name, want := range map[string]IfaceKind{
		"eth0": KindEthernet, "en0": KindEthernet, "enp3s0f1": KindEthernet, "wlan0": KindEthernet,
		"docker0": KindDocker, "docker_gwbridge": KindDocker,
		"br-0123456789ab": KindDocker, "br-lan": KindBridge, "br-0123456789xy": KindBridge, "virbr0": KindBridge,
		"bridge100":   KindBridge,
		"veth1a2b3c4": KindVeth, "utun3": KindPointToPoint, "tun0": KindPointToPoint, "wg0": KindPointToPoint,
		"ib0": KindOther, "": KindOther,
	} {
		if got := kindByName(&net.Interface{Name: name}); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if got := kindByName(&net.Interface{Name: "eth0", Flags: net.FlagLoopback}); got != KindLoopback {
		t.Errorf("the loopback flag is ignored: %v", got)
	}
	if got := kindByName(&net.Interface{Name: "x", Flags: net.FlagPointToPoint}); got != KindPointToPoint {
		t.Errorf("the point-to-point flag is ignored: %v", got)
	}
}

func entry(name, addr string, kind IfaceKind, speed int) Interface {
	return Interface{Name: name, Addr: netip.MustParseAddr(addr), Kind: kind, SpeedMbps: speed, Up: true}
}

func keys(list []Interface) string {
	var s []string
	for _, i := range list {
		s = append(s, i.Name+"="+i.Addr.WithZone("").String())
	}
	return strings.Join(s, " ")
}

var ranked = []Interface{
	entry("eth9", "10.0.0.9", KindEthernet, 100000),
	entry("ib0", "10.0.0.8", KindOther, 40000),
	entry("eth2", "10.0.0.2", KindEthernet, 1000),
	entry("eth10", "10.0.0.10", KindEthernet, 1000),
	entry("eth2", "fd00::2", KindEthernet, 1000),
	entry("eth2", "fd00::1", KindEthernet, 1000), // after its equal, in the given order
	entry("eth3", "10.0.0.3", KindEthernet, 0),
	{Name: "eth1", Addr: netip.MustParseAddr("10.0.0.1"), Kind: KindEthernet, SpeedMbps: 400000}, // no carrier
	entry("veth0", "10.1.0.1", KindVeth, 10000),
	entry("br0", "10.2.0.1", KindBridge, 10000),
	entry("docker0", "172.17.0.1", KindDocker, 10000),
	entry("tun0", "10.3.0.1", KindPointToPoint, 10000),
	entry("lo", "127.0.0.1", KindLoopback, 0),
	entry("lo", "::1", KindLoopback, 0),
}

func TestRank(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.Permutation(ranked).Draw(rt, "order")
		// Equal entries keep their order, so the two that differ in nothing that counts are already in the expected
		// one.
		a := slices.IndexFunc(list, func(i Interface) bool { return i.Addr == ranked[4].Addr })
		b := slices.IndexFunc(list, func(i Interface) bool { return i.Addr == ranked[5].Addr })
		if a > b {
			list[a], list[b] = list[b], list[a]
		}
		RankInterfaces(list)
		if keys(list) != keys(ranked) {
			rt.Fatalf("got  %s\nwant %s", keys(list), keys(ranked))
		}
	})
}

func TestFilter(t *testing.T) {
	zoned := entry("eth0", "fe80::1", KindEthernet, 0)
	zoned.Addr = zoned.Addr.WithZone("eth0")
	list := []Interface{
		entry("eth0", "10.0.0.1", KindEthernet, 0), zoned, entry("eth1", "192.168.5.7", KindEthernet, 0),
		entry("eth1", "fd00::7", KindEthernet, 0), entry("lo", "127.0.0.1", KindLoopback, 0),
	}
	const all = "eth0=10.0.0.1 eth0=fe80::1 eth1=192.168.5.7 eth1=fd00::7 lo=127.0.0.1"
	for _, c := range []struct{ spec, want string }{
		{"", all}, {"  ", all}, {"*", all}, {"^*", ""}, {"nosuch", ""}, {"^nosuch", all},
		{"eth0", "eth0=10.0.0.1 eth0=fe80::1"},
		{"lo, eth1", "eth1=192.168.5.7 eth1=fd00::7 lo=127.0.0.1"},
		{"^eth*", "lo=127.0.0.1"},
		{"^lo,eth0", "eth1=192.168.5.7 eth1=fd00::7"},
		{"eth[1-9]", "eth1=192.168.5.7 eth1=fd00::7"},
		{"eth", ""},
		{"10.0.0.0/8", "eth0=10.0.0.1"}, {"10.9.9.9/8", "eth0=10.0.0.1"}, {"^0.0.0.0/0", "eth0=fe80::1 eth1=fd00::7"},
		{"fe80::/10,127.0.0.1", "eth0=fe80::1 lo=127.0.0.1"},
		{"fe80::1", "eth0=fe80::1"}, {"fe80::1%eth0", "eth0=fe80::1"}, {"fe80::1%eth1", ""},
		{"::ffff:10.0.0.1", "eth0=10.0.0.1"},
	} {
		kept, refused, err := FilterInterfaces(list, c.spec)
		if err != nil || keys(kept) != c.want {
			t.Errorf("%q keeps %q, %v; want %q", c.spec, keys(kept), err, c.want)
		}
		if len(kept)+len(refused) != len(list) {
			t.Errorf("%q: %d kept and %d refused of %d", c.spec, len(kept), len(refused), len(list))
		}
		for _, r := range refused {
			if !strings.Contains(r.Reason, strings.TrimSpace(c.spec)) {
				t.Errorf("%q refuses %s without saying so: %s", c.spec, r.Interface.Name, r.Reason)
			}
		}
	}
}

func TestFilterSyntax(t *testing.T) {
	for spec, item := range map[string]string{
		",": "", "eth0,": "", "^": "", "^,lo": "", "^^lo": "^lo", "eth0,^lo": "^lo", "eth[": "eth[",
		"10.0.0.0/33": "10.0.0.0/33", "10/8": "10/8", "/": "/",
		"10.0.0": "10.0.0", "10.0.0.256": "10.0.0.256", "fe80:::1": "fe80:::1", "lo,a name": "a name",
		"sixteen-bytes-ab": "sixteen-bytes-ab",
	} {
		_, _, err := FilterInterfaces(ranked, spec)
		if err == nil {
			t.Errorf("%q is accepted", spec)
		} else if !strings.Contains(err.Error(), fmt.Sprintf("item %q", item)) {
			t.Errorf("%q: the error does not name item %q: %v", spec, item, err)
		}
	}
}

func FuzzFilter(f *testing.F) {
	for _, spec := range []string{"", "^eth*,lo", "10.0.0.0/8", "fe80::1%eth0", "en[op]*,\\a", "^", "["} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		kept, refused, err := FilterInterfaces(ranked, spec)
		if err == nil && len(kept)+len(refused) != len(ranked) {
			t.Fatalf("%d kept and %d refused of %d", len(kept), len(refused), len(ranked))
		}
	})
}
