//go:build linux

package udp

import (
	"net/netip"
	"testing"

	"gofabric/test/veth"
)

// TestXDPRuns: the datagrams of a run arrive as they were sent. In generic mode the system delivers a run in one
// piece. The run may be shorter than the MTU, for example because a path is narrower than the interface.
func TestXDPRuns(t *testing.T) {
	a, b := places(t)
	for _, h := range []*veth.Host{a, b} {
		h.IP("link", "set", "eth9", "mtu", "9000")
	}
	for _, at := range [][2]string{{"10.98.0.1", "10.98.0.2"}, {"fd98::1", "fd98::2"}} {
		b.Enter()
		q, back := testPort(t, testDomain(t), netip.MustParseAddr(at[1]))
		a.Enter()
		p, in := testPort(t, testDomain(t, "LINK", linkXDP), netip.MustParseAddr(at[0]))
		if p.xdp == nil {
			t.Fatal(p.noXDP)
		}
		receives(t, p, q, back, 8)
		receives(t, q, p, in, 8)
		for _, run := range [][2]int{{2, 1}, {300, 100}, {1450, 700}, {1460, 700}, {1472, 700}, {1473, 700}, {1500, 300}, {3000, 1400}, {8950, 1400}} {
			total, seg := run[0], run[1]
			for _, w := range []struct {
				from, to *port
				in       *inbox
			}{{q, p, in}, {p, q, back}} {
				must(t, w.from.send(w.to.local, seg, make([]byte, total)))
				for sum, n := 0, 0; sum < total; n++ {
					var size int
					w.to.d.until(t, "the whole run arrives", func() bool {
						if len(w.in.got) == 0 {
							return false
						}
						size = len(w.in.got[0].data)
						w.in.got = w.in.got[1:]
						return true
					})
					if want := min(seg, total-sum); size != want {
						t.Errorf("%v to %v, %d bytes by %d: datagram %d has %d bytes, want %d",
							w.from.local, w.to.local, total, seg, n, size, want)
					}
					sum += size
				}
			}
		}
		for _, p := range []*port{p, q} {
			p.d.prog.Lock()
			must(t, p.Close())
			p.d.prog.Unlock()
		}
	}
}
