//go:build linux

package netns

// AF_XDP in VLANs.

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// vlan makes a VLAN device on each host above the interface. With twice it makes another above that, for two tags. It
// returns the hosts at the addresses of the devices.
func vlan(t *testing.T, twice bool) (a, b *host) {
	t.Helper()
	x, y := newHosts(t)
	if out, err := exec.Command("ip", "-n", x.Name, "link", "add", "link", "eth9", "name", "try", "type", "vlan",
		"id", "1").CombinedOutput(); err != nil {
		if said := string(out); !strings.Contains(said, "Unknown device type") &&
			!strings.Contains(said, "not supported") {
			t.Fatalf("%v: %s", err, out)
		}
		t.Skip("this kernel has no VLAN devices (CONFIG_VLAN_8021Q); test/kernel runs this test on a kernel that has them")
	}
	at := []*host{x, y}
	for i, h := range at {
		below := "eth9"
		if twice {
			h.IP("link", "add", "link", "eth9", "name", "s7", "type", "vlan", "protocol", "802.1ad", "id", "7")
			h.IP("link", "set", "s7", "up")
			below = "s7"
		}
		h.IP("link", "add", "link", below, "name", "v42", "type", "vlan", "id", "42", "egress-qos-map", "0:3")
		h.IP("link", "set", "v42", "up")
		in := &host{h.Host, t, fmt.Sprintf("10.42.0.%d", i+1), fmt.Sprintf("fd42::%d", i+1)}
		h.Address("v42", in.v4+"/24", in.v6+"/64")
		at[i] = in
	}
	return at[0], at[1]
}

// The two uses of AF_XDP in a VLAN: on the VLAN device itself, and on the interface below, where packets have their
// tags.
var (
	xdpAbove = []string{xdpLink}
	xdpBelow = []string{xdpLink, xdpDriver}
)

// TestXDPVLAN exchanges messages in a VLAN, with one tag or two, between all kinds of ends.
func TestXDPVLAN(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		envs [2][]string
		// bypassed ends send and receive past the stack. Tags that the stack adds lie beside the packet, where
		// no XDP program sees them.
		bypassed [2]bool
		inside   bool // the second end puts the tags into the packet
		twice    bool
	}{
		{"above", [2][]string{xdpAbove, xdpAbove}, [2]bool{true, true}, false, false},
		{"above and sockets", [2][]string{xdpAbove, nil}, [2]bool{true, false}, false, true},
		{"below", [2][]string{xdpBelow, xdpBelow}, [2]bool{true, true}, false, true},
		{"below and sockets", [2][]string{xdpBelow, nil}, [2]bool{false, false}, false, true},
		{"below and sockets with tags inside", [2][]string{xdpBelow, nil}, [2]bool{true, false}, true, false},
		{"below and above", [2][]string{xdpBelow, xdpAbove}, [2]bool{false, true}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := vlan(t, c.twice)
			if c.inside {
				if out, err := b.Command("ethtool", "-K", "eth9", "tx-vlan-offload", "off", "tx-vlan-stag-hw-insert",
					"off").CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			for _, ip := range [][2]string{{a.v4, b.v4}, {a.v6, b.v6}} {
				ra, rb := xdpPair(a, b, ip[0], ip[1], c.envs[0], c.envs[1])
				for _, size := range []int{8, 1400, 100_000} {
					intact(ra, rb, size, 20)
				}
				for i, r := range []*remote{ra, rb} {
					if c.bypassed[i] {
						r.bypassed([]*remote{rb, ra}[i])
					}
					if sent, _, refused := r.counts(); refused > 0 || sent == 0 && c.envs[i] != nil {
						t.Errorf("end %d: %d sent past the stack, %d frames refused; %s", i, sent, refused,
							r.do("stats"))
					}
				}
				ra.Kill()
				rb.Kill()
			}
		})
	}
}

// TestXDPVLANMoved gives a VLAN device another Ethernet address than the interface below, from which its endpoint
// receives. The endpoint still receives its packets.
func TestXDPVLANMoved(t *testing.T) {
	t.Parallel()
	a, b := vlan(t, false)
	env := append([]string{"FI_OFI_RXD_PEER_TIMEOUT=20000"}, xdpBelow...)
	ra, rb := xdpPair(a, b, a.v4, b.v4, env, env)
	ra.bypassed(rb)
	b.IP("link", "set", "v42", "address", "02:00:00:00:42:42")
	a.IP("neigh", "replace", b.v4, "lladdr", "02:00:00:00:42:42", "dev", "v42", "nud", "reachable")
	_, before, _ := rb.counts()
	for began := time.Now(); ; { // the link learns of the change a little later
		intact(ra, rb, 8, 20)
		if _, n, _ := rb.counts(); n > before {
			break
		}
		if time.Since(began) > long {
			t.Fatal("no datagram bypasses the kernel's stack")
		}
	}
}

// TestXDPVLANRemoved removes a VLAN device above the interface that its endpoint's packets use. The interface stays.
// The endpoint continues with its socket, and reports why.
func TestXDPVLANRemoved(t *testing.T) {
	t.Parallel()
	a, b := vlan(t, false)
	_, rb := xdpPair(a, b, a.v4, b.v4, xdpBelow, xdpBelow)
	if s := rb.do("says"); !strings.Contains(s, "AF_XDP on eth9") {
		t.Errorf("the endpoint does not use the interface below: %s", s)
	}
	b.IP("link", "del", "v42")
	eventually(t, "the endpoint reports that the interface was removed",
		func() bool { return strings.Contains(rb.do("says"), "no AF_XDP: the interface was removed") })
	b.IP("link", "show", "eth9")
}

// TestXDPVLANSeparate has endpoints in a VLAN and outside it. Each receives only its own packets.
func TestXDPVLANSeparate(t *testing.T) {
	t.Parallel()
	a, b := vlan(t, false)
	// These endpoints open first: see TestXDPVLANFirst.
	oa, ob := xdpPair(a, b, a.V4.String(), b.V4.String(), []string{xdpLink}, []string{xdpLink})
	ia, ib := xdpPair(a, b, a.v4, b.v4, xdpAbove, xdpAbove)
	intact(ia, ib, 1000, 50)
	intact(oa, ob, 1000, 50)
	ia.bypassed(ib)
	oa.bypassed(ob)
}

// TestXDPVLANFirst checks that the kernel accepts no program on an interface below a VLAN device that has one, and
// that the endpoint outside the VLAN reports that.
func TestXDPVLANFirst(t *testing.T) {
	t.Parallel()
	a, b := vlan(t, false)
	xdpPair(a, b, a.v4, b.v4, xdpAbove, xdpAbove)
	outside := a.start(xdpLink)
	outside.do("open %s %s 7000", rxdStack, a.V4)
	if why := outside.refused("link xdp"); !strings.Contains(why, "a device above the interface has an XDP program") {
		t.Errorf("the reason is %q", why)
	}
}

// TestXDPVLANNative exchanges messages with libfabric's own fi_pingpong in a VLAN.
func TestXDPVLANNative(t *testing.T) {
	t.Parallel()
	native, ofi := nativePingpong(t), ownTools(t)
	for _, c := range [][2]string{{"udp", "dgram"}, {"udp;ofi_rxd", "rdm"}} {
		for _, env := range [][]string{xdpAbove, xdpBelow} {
			t.Run(fmt.Sprint(c[0], env), func(t *testing.T) {
				a, b := vlan(t, false)
				pingpong(t, a, b, native, ofi, c[0], c[1], false, false, env...)
				pingpong(t, a, b, native, ofi, c[0], c[1], true, false, env...)
			})
		}
	}
}
