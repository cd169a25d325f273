//go:build linux

package netns

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gofabric/test/need"
	"gofabric/test/veth"
)

const rxdStack = "udp;ofi_rxd"

// rxdPair opens an endpoint of rxd on each host. Each has the other as index 0.
func rxdPair(t *testing.T, a, b *host, ipA, ipB string, env ...string) (ra, rb *remote, nameA, nameB string) {
	t.Helper()
	return stackPair(t, rxdStack, a, b, ipA, ipB, env...)
}

func stackPair(t *testing.T, stack string, a, b *host, ipA, ipB string, env ...string) (ra,
	rb *remote, nameA, nameB string) {
	t.Helper()
	ra, rb = a.start(env...), b.start(env...)
	nameA, nameB = ra.do("open %s %s 7000", stack, ipA), rb.do("open %s %s 7000", stack, ipB)
	ra.do("insert %s", nameB)
	rb.do("insert %s", nameA)
	return ra, rb, nameA, nameB
}

// intact sends messages in both directions at once and checks that all of them arrive unchanged.
func intact(ra, rb *remote, size, count int) {
	ra.t.Helper()
	for _, r := range []*remote{ra, rb} {
		r.do("check %d %d", size, count)
	}
	for _, r := range []*remote{ra, rb} {
		r.do("bulk 0 %d %d", size, count)
	}
	for _, r := range []*remote{ra, rb} {
		r.want(fmt.Sprintf("CHECKED %d", count), long)
		r.want(fmt.Sprintf("BULK %d", count), long)
		r.forget()
	}
}

// TestRXDBulk sends messages of many sizes over links with an MTU of 1500 bytes, IPv4 and IPv6, with and without GSO
// batches.
func TestRXDBulk(t *testing.T) {
	t.Parallel()
	for _, env := range [][]string{nil, {"FI_UDP_GSO=0"}, {"FI_UDP_GRO=0"},
		{"FI_UDP_GSO=0", "FI_UDP_GRO=0"}, {"FI_OFI_RXD_EXTENSIONS=0"}} {
		t.Run(strings.Join(append([]string{"with"}, env...), " "), func(t *testing.T) {
			t.Parallel()
			a, b := newHosts(t)
			for _, ip := range [][2]string{{a.v4, b.v4}, {a.v6, b.v6}} {
				ra, rb, _, _ := rxdPair(t, a, b, ip[0], ip[1], env...)
				intact(ra, rb, 1<<20, 48)
				intact(ra, rb, 100, 200)
				intact(ra, rb, 10_000, 100)
				ra.Kill()
				rb.Kill()
			}
		})
	}
}

// setMTU changes the MTU of both ends of the link between two hosts.
func setMTU(mtu int, ends ...*host) {
	for _, h := range ends {
		h.IP("link", "set", "eth9", "mtu", fmt.Sprint(mtu))
	}
}

// TestRXDPathMTU changes the path MTU in the middle of a run. Datagrams in flight that are too long now are sent again
// in other pieces.
func TestRXDPathMTU(t *testing.T) {
	t.Parallel()
	for _, k := range [][]int{{1500, 1400}, {9000, 1400}, {9000, 1500, 9000}, {1400, 9000, 1300}} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			a, b := newHosts(t)
			setMTU(k[0], a, b)
			ra, rb, _, _ := rxdPair(t, a, b, a.v4, b.v4)
			intact(ra, rb, 1<<20, 16)
			const count = 1000
			rb.do("check %d %d", 200_000, count)
			ra.do("bulk 0 %d %d", 200_000, count)
			for i, mtu := range k[1:] {
				rb.want(fmt.Sprintf("GOOD %d", 64+64*i), long)
				setMTU(mtu, a, b)
			}
			rb.want(fmt.Sprintf("CHECKED %d", count), long)
			ra.want("BULK", long)
			intact(ra, rb, 1<<20, 16)
		})
	}
}

// newRouted makes two hosts with a router between them. The MTU of the second link is mtu.
func newRouted(t *testing.T, mtu int) (a, b, r *host) {
	t.Helper()
	a, r = newHosts(t)
	b = &host{Host: veth.NewHost(t), t: t, v4: "10.96.0.2"}
	r.IP("link", "add", "eth8", "type", "veth", "peer", "name", "eth9", "netns", b.Name)
	r.IP("addr", "add", "10.96.0.1/24", "dev", "eth8")
	b.IP("addr", "add", b.v4+"/24", "dev", "eth9")
	b.IP("link", "set", "eth9", "mtu", fmt.Sprint(mtu), "up")
	r.IP("link", "set", "eth8", "mtu", fmt.Sprint(mtu), "up")
	a.IP("route", "add", "10.96.0.0/24", "via", r.v4)
	b.IP("route", "add", "10.99.0.0/24", "via", "10.96.0.1")
	r.Set("net/ipv4/ip_forward", "1")
	return a, b, r
}

// TestRXDRouter has a link with a smaller MTU behind a router. The sender learns its MTU only from the router's
// messages.
func TestRXDRouter(t *testing.T) {
	t.Parallel()
	for _, mtu := range []int{1500, 1400, 1000} {
		t.Run(fmt.Sprint(mtu), func(t *testing.T) {
			t.Parallel()
			a, b, r := newRouted(t, mtu)
			setMTU(9000, a, r)
			ra, rb, _, _ := rxdPair(t, a, b, a.v4, b.v4)
			intact(ra, rb, 1<<20, 32)
			const count = 1000
			rb.do("check %d %d", 200_000, count)
			ra.do("bulk 0 %d %d", 200_000, count)
			rb.want("GOOD 64", long)
			r.IP("link", "set", "eth8", "mtu", "900")
			rb.want(fmt.Sprintf("CHECKED %d", count), long)
			ra.want("BULK", long)
		})
	}
}

// TestRXDHeals takes the link down for three seconds, which is shorter than the peer time-out. No operation fails, and
// nothing is lost.
func TestRXDHeals(t *testing.T) {
	t.Parallel()
	for _, c := range cuts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, b := newHosts(t)
			ra, rb, _, _ := rxdPair(t, a, b, a.v4, b.v4, "FI_OFI_RXD_PEER_TIMEOUT=20000")
			const count = 300
			for _, r := range []*remote{ra, rb} {
				r.do("check %d %d", 1<<20, count)
				r.do("bulk 0 %d %d", 1<<20, count)
			}
			rb.want("GOOD 32", long)
			c.cut(a, b)
			time.Sleep(3 * time.Second) // how long the cable is out is what is tested
			began := time.Now()
			c.mend(a, b)
			for _, r := range []*remote{ra, rb} {
				r.forget()
				r.want("GOOD", long)
			}
			within(t, "messages arrive", began, 2*time.Second)
			for _, r := range []*remote{ra, rb} {
				r.want(fmt.Sprintf("CHECKED %d", count), 2*long)
				r.want("BULK", long)
			}
		})
	}
}

// TestRXDCut takes the link down for longer than the peer time-out. Every send ends with an error that names the peer,
// and after the repair messages arrive again.
func TestRXDCut(t *testing.T) {
	t.Parallel()
	for _, c := range cuts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, b := newHosts(t)
			ra, rb, _, nameB := rxdPair(t, a, b, a.v4, b.v4)
			rb.do("recv %d 32", 1<<20)
			ra.do("stream 0 %d %d", 1<<20, 8)
			ra.want("STREAMED 64", long)
			c.cut(a, b)
			began := time.Now()
			for range 8 {
				l := ra.want("ERR stream", peerTimeout+slack)
				oneOf(t, l, unreachable...)
				if !strings.Contains(l, nameB) {
					t.Errorf("the error does not name the peer %s: %q", nameB, l)
				}
			}
			within(t, "all sends failed", began, peerTimeout)
			c.mend(a, b)
			again(t, ra, rb)
		})
	}
}

// TestRXDKilled kills the peer's process in the middle of a message, and starts another one at its address.
func TestRXDKilled(t *testing.T) {
	t.Parallel()
	a, b := newHosts(t)
	ra, rb, nameA, nameB := rxdPair(t, a, b, a.v4, b.v4)
	ra.do("recv %d 2", 512<<20)
	ra.do("send 0 8")
	ra.want("SENT", long)
	rb.do("send 0 %d", 512<<20)
	rb.Kill() // in the middle of a message
	began := time.Now()
	// The kernel may report that no socket is bound there.
	oneOf(t, ra.want("ERR recv", peerTimeout+slack), "FI_ETIMEDOUT", "FI_ECONNREFUSED")
	within(t, "receive failed", began, peerTimeout)
	rb = b.start()
	if name := rb.do("open %s %s 7000", rxdStack, b.v4); name != nameB {
		t.Fatalf("restarted at %s, want %s", name, nameB)
	}
	rb.do("insert %s", nameA)
	rb.do("recv 64 4")
	again(t, ra, rb)
	ra.do("recv 64 4")
	rb.do("send 0 9")
	ra.want("RECEIVED 9", long)
}

// TestRXDIface selects interfaces with FI_UDP_IFACE.
func TestRXDIface(t *testing.T) {
	t.Parallel()
	a, _ := newHosts(t)
	a.IP("link", "add", "blue0", "type", "veth", "peer", "name", "xblue0")
	a.IP("link", "set", "blue0", "up")
	a.IP("link", "set", "xblue0", "up")
	a.IP("addr", "add", "10.98.0.1/24", "dev", "blue0")
	for _, tt := range []struct{ spec, want, not string }{
		{"eth9", "10.99.0.1", "10.98.0.1"}, {"blue*", "10.98.0.1", "10.99.0.1"},
		{"10.98.0.0/16", "10.98.0.1", "10.99.0.1"}, {"^blue*", "10.99.0.1", "10.98.0.1"},
	} {
		got := " " + a.start("FI_UDP_IFACE="+tt.spec).do("infos "+rxdStack) + " "
		if !strings.Contains(got, " "+tt.want+" ") || strings.Contains(got, " "+tt.not+" ") {
			t.Errorf("FI_UDP_IFACE=%s: %s; want %s, not %s", tt.spec, got, tt.want, tt.not)
		}
	}
}

// TestRXDLoss sends over a lossy link: the kernel's where it has netem (tc-netem(8)), and the fault layer's.
func TestRXDLoss(t *testing.T) {
	t.Parallel()
	t.Run("netem", func(t *testing.T) {
		a, b := newHosts(t)
		for _, h := range []*host{a, b} {
			out, err := exec.Command("ip", "netns", "exec", h.Name, "tc", "qdisc", "add", "dev", "eth9", "root",
				"netem", "loss", "2%", "delay", "1ms", "200us").CombinedOutput()
			if err != nil {
				t.Skipf("this machine has no netem: %v: %s", err, out)
			}
		}
		ra, rb, _, _ := rxdPair(t, a, b, a.v4, b.v4)
		intact(ra, rb, 1<<20, 32)
	})
	t.Run("fault", func(t *testing.T) {
		a, b := newHosts(t)
		ra, rb, _, _ := stackPair(t, "udp;fault;ofi_rxd", a, b, a.v4, b.v4,
			"FI_FAULT_LOSS=2%", "FI_FAULT_REORDER=2%", "FI_FAULT_DUP=1%", "FI_FAULT_CORRUPT=1%", "FI_FAULT_SEED=3")
		intact(ra, rb, 1<<20, 32)
	})
}

// TestRXDBlackHole has a hop on the path that drops long packets silently. The far end's interface takes 1500 bytes,
// or a tunnel's 1300, where the near end's takes 9000.
func TestRXDBlackHole(t *testing.T) {
	t.Parallel()
	for _, mtu := range []int{1500, 1300} {
		for _, env := range [][]string{nil, {"FI_UDP_GSO=0"}} {
			t.Run(strings.Join(append([]string{fmt.Sprint(mtu)}, env...), " "), func(t *testing.T) {
				t.Parallel()
				a, b := newHosts(t)
				setMTU(9000, a)
				setMTU(mtu, b)
				if env == nil { // otherwise veth passes a GSO batch whole, as no wire would
					need.Programs(t, "ethtool", "ethtool")
					if out, err := a.Command("ethtool", "-K", "eth9", "tx-udp-segmentation",
						"off").CombinedOutput(); err != nil {
						t.Fatalf("%v: %s", err, out)
					}
				}
				ra, rb, _, _ := rxdPair(t, a, b, a.v4, b.v4, env...)
				intact(ra, rb, 1<<20, 16)
				intact(ra, rb, 100, 100)
				if n := ra.do("metric gofabric_black_holes_total"); n == "0" {
					t.Error("no black hole is counted: the messages arrived for another reason")
				}
			})
		}
	}
}
