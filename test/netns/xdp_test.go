//go:build linux

package netns

// AF_XDP at one end of the link or at both.

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"gofabric/internal/tcpport"
	"gofabric/test/need"
	"gofabric/test/program"
	"gofabric/test/wait"
)

const (
	xdpLink    = "FI_UDP_LINK=xdp"
	xdpDriver  = "FI_UDP_XDP_MODE=driver"
	xdpGeneric = "FI_UDP_XDP_MODE=generic"
)

// xdpPair is rxdPair with an environment for each end.
func xdpPair(a, b *host, ipA, ipB string, envA, envB []string) (ra, rb *remote) {
	ra, rb = a.start(envA...), b.start(envB...)
	nameA, nameB := ra.do("open %s %s 7000", rxdStack, ipA), rb.do("open %s %s 7000", rxdStack, ipB)
	ra.do("insert %s", nameB)
	rb.do("insert %s", nameA)
	return ra, rb
}

// counts returns how many datagrams bypassed the kernel's stack, and how many of the received ones were invalid.
func (r *remote) counts() (sent, received, refused uint64) {
	r.t.Helper()
	for _, m := range regexp.MustCompile(`Bypass(Sent|Received|Refused):(\d+)`).FindAllStringSubmatch(r.do("stats"),
		-1) {
		n, _ := strconv.ParseUint(m[2], 10, 64)
		*map[string]*uint64{"Sent": &sent, "Received": &received, "Refused": &refused}[m[1]] = n
	}
	return sent, received, refused
}

// bypassed exchanges small messages until some of those that this end sends and receives bypass the kernel's stack. It
// checks that none was refused there.
func (r *remote) bypassed(peer *remote) {
	r.t.Helper()
	began := time.Now()
	sent, received, _ := r.counts()
	for {
		intact(r, peer, 8, 20)
		s, n, refused := r.counts()
		if refused > 0 {
			r.t.Errorf("%d frames were refused", refused)
			return
		}
		if s > sent && n > received {
			return
		}
		if time.Since(began) > long {
			r.t.Errorf("%d sent, %d received past the kernel's stack; before, it was %d and %d", s, n, sent, received)
			return
		}
	}
}

// TestXDPStacks exchanges messages between ends with and without AF_XDP, over IPv4 and IPv6, with packets of all sizes.
func TestXDPStacks(t *testing.T) {
	t.Parallel()
	for _, ends := range [][2]bool{{true, true}, {true, false}, {false, true}} {
		for _, mtu := range []int{1500, 3490, 9000} {
			t.Run(fmt.Sprint(ends, mtu), func(t *testing.T) {
				t.Parallel()
				a, b := newHosts(t)
				setMTU(mtu, a, b)
				env := [2][]string{}
				for i, x := range ends {
					if x {
						env[i] = []string{xdpLink, []string{xdpDriver, xdpGeneric}[i]}
					}
				}
				for _, ip := range [][2]string{{a.v4, b.v4}, {a.v6, b.v6}} {
					ra, rb := xdpPair(a, b, ip[0], ip[1], env[0], env[1])
					// 3600: over veth, one packet that arrives in two frames.
					for _, size := range []int{8, 100, 1400, 3600, 4000, 8900} {
						intact(ra, rb, size, 200)
					}
					intact(ra, rb, 1<<20, 16)
					if ends[0] {
						ra.bypassed(rb)
					}
					if ends[1] {
						rb.bypassed(ra)
					}
					ra.Kill()
					rb.Kill()
				}
			})
		}
	}
}

// TestXDPOneFrame exchanges messages over a jumbo MTU where no packet may have several frames. Long packets use the
// socket.
func TestXDPOneFrame(t *testing.T) {
	t.Parallel()
	a, b := newHosts(t)
	setMTU(9000, a, b)
	env := []string{xdpLink, "FI_UDP_XDP_FRAGS=0"}
	ra, rb := xdpPair(a, b, a.v4, b.v4, env, env)
	for _, size := range []int{8, 3000, 8900, 1 << 20} {
		intact(ra, rb, size, 50)
	}
	ra.bypassed(rb)
	rb.bypassed(ra)
}

// TestXDPNeighbour changes a host's Ethernet address in the middle of a run.
func TestXDPNeighbour(t *testing.T) {
	t.Parallel()
	a, b := newHosts(t)
	ra, rb := xdpPair(a, b, a.v4, b.v4, []string{xdpLink}, nil)
	const count = 3000
	rb.do("check %d %d", 1000, count)
	ra.do("bulk 0 %d %d", 1000, count)
	rb.want("GOOD 64", long)
	b.Set("net/ipv4/conf/eth9/arp_notify", "1") // b announces the change, which a would notice only after half a minute
	b.IP("link", "set", "eth9", "address", "02:00:00:00:12:34")
	rb.want(fmt.Sprintf("CHECKED %d", count), long)
	ra.want("BULK", long)
	intact(ra, rb, 1000, 100)
	ra.bypassed(rb)
}

// TestXDPPlugged takes the link down and up again. Messages are exchanged and bypass the kernel's stack.
func TestXDPPlugged(t *testing.T) {
	t.Parallel()
	a, b := newHosts(t)
	ra, rb := xdpPair(a, b, a.v4, b.v4, []string{xdpLink, "FI_OFI_RXD_PEER_TIMEOUT=20000"},
		[]string{xdpLink, "FI_OFI_RXD_PEER_TIMEOUT=20000"})
	const count = 3000
	rb.do("check %d %d", 1000, count)
	ra.do("bulk 0 %d %d", 1000, count)
	for i, h := range []*host{a, b} {
		rb.want(fmt.Sprintf("GOOD %d", 64*(i+1)), long)
		h.unplug()
		h.plug()
	}
	rb.want(fmt.Sprintf("CHECKED %d", count), long)
	ra.want("BULK", long)
	intact(ra, rb, 1000, 200)
	ra.bypassed(rb)
	rb.bypassed(ra)
}

// TestXDPRouter has a router in the middle, and behind it a link with a smaller MTU.
func TestXDPRouter(t *testing.T) {
	t.Parallel()
	for _, mtu := range []int{1500, 1000} {
		t.Run(fmt.Sprint(mtu), func(t *testing.T) {
			t.Parallel()
			a, b, _ := newRouted(t, mtu)
			ra, rb := xdpPair(a, b, a.v4, b.v4, []string{xdpLink}, []string{xdpLink})
			for _, size := range []int{100, 1400, 100_000} {
				intact(ra, rb, size, 200)
			}
			ra.bypassed(rb)
			rb.bypassed(ra)
		})
	}
}

// TestXDPNative exchanges messages with libfabric's own fi_pingpong: datagrams and reliable ones, as server and as
// client, over IPv4 and IPv6, with several MTUs.
func TestXDPNative(t *testing.T) {
	t.Parallel()
	native, ofi := nativePingpong(t), ownTools(t)
	for _, c := range [][2]string{{"udp", "dgram"}, {"udp;ofi_rxd", "rdm"}} {
		for _, serves := range []bool{true, false} {
			for i, mtu := range []int{1500, 1500, 3490, 9000} {
				v6 := i%2 > 0
				t.Run(fmt.Sprint(c[0], " serves ", serves, " IPv6 ", v6, " ", mtu), func(t *testing.T) {
					a, b := newHosts(t)
					setMTU(mtu, a, b)
					pingpong(t, a, b, native, ofi, c[0], c[1], serves, v6, xdpLink)
				})
			}
		}
	}
}

// nativePingpong returns the path of libfabric's fi_pingpong.
func nativePingpong(t *testing.T) string {
	return need.Programs(t, "libfabric-bin", "fi_pingpong")
}

// ownTools returns the path of our tools: those that GOFABRIC_OFI names, or new ones.
func ownTools(t *testing.T) string {
	if ofi := os.Getenv("GOFABRIC_OFI"); ofi != "" {
		return ofi
	}
	dir := t.TempDir()
	if err := program.Build(dir, "gofabric/cmd/ofi"); err != nil {
		t.Fatal(err)
	}
	return dir + "/ofi"
}

// pingpong runs our tool at one end and the native one at the other. b is the server. It runs our tool if serves is
// set.
func pingpong(t *testing.T, a, b *host, native, ofi, provider, kind string, serves, v6 bool, env ...string) {
	t.Helper()
	args := []string{"-c", "-I", "50", "-p", provider, "-e", kind, "-S", "1024"}
	own := func(h *host) string { return h.v4 }
	if v6 {
		args = append(args, "-6")
		if !serves { // a native server uses its first address, not that of the control connection
			b.IP("-4", "addr", "flush", "dev", "eth9")
			b.IP("-6", "addr", "flush", "dev", "eth9", "scope", "link")
		}
		own = func(h *host) string { return h.v6 }
	}
	run := func(h *host, mine bool, peer ...string) (*exec.Cmd, *bytes.Buffer) {
		line := []string{"netns", "exec", h.Name, "timeout", "-k", "1", "60", native}
		if mine {
			line[len(line)-1] = ofi
			line = append(line, "pingpong", "-s", own(h)) // 1.17's fi_pingpong lacks this flag
		}
		cmd := exec.Command("ip", append(append(line, args...), peer...)...)
		cmd.Env = append(os.Environ(), env...)
		out := &bytes.Buffer{}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, out
	}
	server, sout := run(b, serves)
	waitListening(t, b, 47592)
	client, cout := run(a, !serves, own(b))
	for _, err := range []error{client.Wait(), server.Wait()} {
		if err != nil || !strings.Contains(cout.String(), " 50 ") {
			t.Fatalf("%v\nclient: %s\nserver: %s", err, cout, sout)
		}
	}
}

// waitListening waits until a process listens at a TCP port of a host.
func waitListening(t *testing.T, h *host, port int) {
	t.Helper()
	wait.Until(t, fmt.Sprintf("a process listens at port %d of %s", port, h.Name), func() (ready bool) {
		h.Inside(func() error { ready, _ = tcpport.Listening(port); return nil })
		return ready
	})
}
