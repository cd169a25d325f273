//go:build linux

package udp

import (
	"fmt"
	"net/netip"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// kernelHas reports whether the kernel is at least as new as a version.
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

// TestXDPJumbo: datagrams that take several frames are sent and received past the kernel's stack, one by one and in runs, from payload in parts of odd lengths; the
// other end is a socket, or has AF_XDP as well.
func TestXDPJumbo(t *testing.T) {
	if !kernelHas(t, 6, 6) {
		if os.Getenv("GOFABRIC_PEERS") == "required" {
			t.Fatal("GOFABRIC_PEERS=required, but the kernel is older than 6.6")
		}
		t.Skip("packets in several frames take Linux 6.6")
	}
	const mtu = 9000
	a, b := places(t)
	for _, h := range []place{a, b} {
		h.ip("link", "set", "eth9", "mtu", fmt.Sprint(mtu))
	}
	for _, link := range []string{linkSockets, linkXDP} {
		for _, at := range [][2]string{{"10.98.0.1", "10.98.0.2"}, {"fd98::1", "fd98::2"}} {
			a.enter()
			p, _ := testPort(t, testDomain(t, "LINK", linkXDP, "GSO", "0"), netip.MustParseAddr(at[0]))
			b.enter()
			q, in := testPort(t, testDomain(t, "LINK", link), netip.MustParseAddr(at[1]))
			hears(t, p, q, in, 8) // the neighbour is known from now on
			a.enter()             // where the path is asked for
			whole := p.MaxDatagram(q.local)
			if whole < mtu-48 {
				t.Fatalf("%v takes datagrams of %d bytes", p, whole)
			}
			chunk := p.main.link.(*xdpLink).iface.Chunk()
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
					was := p.counts()
					if err := p.send(q.local, seg, data[:1], data[1:3], data[3:1002], data[1002:]); err != nil {
						t.Fatalf("%s to %s: %d bytes by %d of at most %d: %v", at[0], link, len(data), seg, whole, err)
					}
					count := max(1, (len(data)+size-1)/size)
					var got string
					q.d.until(t, fmt.Sprintf("%d bytes by %d", len(data), seg), func() bool {
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
						t.Errorf("%s to %s: %d bytes by %d came as other ones", at[0], link, len(data), seg)
					}
					if s := p.counts(); s.BypassSent != was.BypassSent+uint64(count) {
						t.Errorf("%s to %s: of %d datagrams, %d were sent past the kernel's stack", at[0], link, count, s.BypassSent-was.BypassSent)
					}
				}
			}
			if s := q.counts(); s.BypassRefused > 0 || link == linkXDP && s.BypassReceived < 10 {
				t.Errorf("%+v", s)
			}
		}
	}
}
