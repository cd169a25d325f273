//go:build linux

package udp

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/test/need"
	"gofabric/test/veth"
)

// kernelHas reports whether the kernel has at least the given version.
func kernelHas(t *testing.T, major, minor int) bool {
	t.Helper()
	var u unix.Utsname
	must(t, unix.Uname(&u))
	var a, b int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &a, &b); err != nil {
		t.Fatal(err)
	}
	return a > major || a == major && b >= minor
}

// TestXDPJumbo: datagrams of several frames bypass the kernel's stack in both directions, one by one and in runs,
// from parts of odd lengths. The other end is a socket, or has AF_XDP as well.
func TestXDPJumbo(t *testing.T) {
	if !kernelHas(t, 6, 6) {
		need.Missing(t, "packets in several frames need Linux 6.6")
	}
	const mtu = 9000
	a, b := places(t)
	for _, h := range []*veth.Host{a, b} {
		h.IP("link", "set", "eth9", "mtu", fmt.Sprint(mtu))
	}
	for _, link := range []string{linkSockets, linkXDP} {
		for _, at := range [][2]string{{"10.98.0.1", "10.98.0.2"}, {"fd98::1", "fd98::2"}} {
			a.Enter()
			p, _ := testPort(t, testDomain(t, "LINK", linkXDP, "GSO", "0"), netip.MustParseAddr(at[0]))
			b.Enter()
			q, in := testPort(t, testDomain(t, "LINK", link), netip.MustParseAddr(at[1]))
			bypasses(t, p, q, in)
			a.Enter() // the path is queried in this namespace
			whole := p.MaxDatagram(q.local)
			if whole < mtu-48 {
				t.Fatalf("%v takes datagrams of %d bytes", p, whole)
			}
			chunk := p.main.datapath.(*xdpDatapath).iface.Chunk()
			headers := 14 + mtu - whole
			for _, size := range []int{chunk - headers, chunk - headers + 1, 2*chunk - headers, 2*chunk - headers + 1, whole - 1, whole} {
				for _, seg := range []int{0, size} {
					data := make([]byte, size)
					if seg > 0 {
						data = make([]byte, 2*size+77)
					}
					for i := range data {
						data[i] = byte(i*31 + i>>8)
					}
					sendLong(t, p, q, in, seg, data)
				}
			}
			if s := q.counts(); s.BypassRefused > 0 || link == linkXDP && s.BypassReceived < 10 {
				t.Errorf("%+v", s)
			}
		}
	}
}

// bypasses sends datagrams until one bypasses the kernel's stack. From then on the neighbour is known, unless
// routes change.
func bypasses(t *testing.T, p, q *port, in *inbox) {
	t.Helper()
	was := p.counts().BypassSent
	for deadline := time.Now().Add(patience); p.counts().BypassSent == was; {
		if time.Now().After(deadline) {
			t.Fatalf("no datagram of %v bypasses the kernel's stack", p.local)
		}
		receives(t, p, q, in, 8)
	}
}

// sendLong sends datagrams of seg bytes each, or one, until they bypass the kernel's stack, because the link
// queries the neighbour again after a change of routes. It compares the datagrams that arrive on either path.
func sendLong(t *testing.T, p, q *port, in *inbox, seg int, data []byte) {
	t.Helper()
	what := fmt.Sprintf("%v to %v: %d bytes by %d", p.local, q.local, len(data), seg)
	count := 1
	if seg > 0 {
		count = (len(data) + seg - 1) / seg
	}
	for deadline := time.Now().Add(patience); ; bypasses(t, p, q, in) {
		was := p.counts()
		if err := p.send(q.local, seg, data[:1], data[1:3], data[3:1002], data[1002:]); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		var got string
		q.d.until(t, what, func() bool {
			if len(in.got) < count {
				return false
			}
			for _, m := range in.got {
				got += m.data
			}
			in.got = nil
			return true
		})
		if got != string(data) {
			t.Errorf("%s: different datagrams arrived", what)
		}
		s := p.counts()
		if s.BypassSent == was.BypassSent+uint64(count) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: of %d datagrams, %d bypassed the kernel's stack", what, count, s.BypassSent-was.BypassSent)
		}
	}
}
