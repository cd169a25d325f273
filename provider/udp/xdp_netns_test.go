//go:build linux

package udp

import (
	"net/netip"
	"runtime"
	"testing"
)

// TestXDP sends both ways between an end with AF_XDP and one with sockets, and between two with AF_XDP.
func TestXDP(t *testing.T) {
	a, b := places(t)
	for _, links := range [][2]string{{linkXDP, linkSockets}, {linkSockets, linkXDP}, {linkXDP, linkXDP}} {
		for _, at := range [][2]string{{"10.98.0.1", "10.98.0.2"}, {"fd98::1", "fd98::2"}} {
			t.Run(links[0]+"-"+links[1]+"/"+at[0], func(t *testing.T) {
				runtime.LockOSThread() // and never unlock: it goes elsewhere
				var d [2]*domain
				var p [2]*port
				var in [2]*inbox
				for i, h := range []place{a, b} {
					h.enter()
					d[i] = testDomain(t, "LINK", links[i])
					p[i], in[i] = testPort(t, d[i], netip.MustParseAddr(at[i]))
					if links[i] == linkXDP && p[i].express == nil {
						t.Fatal(p[i].noXDP)
					}
				}
				for _, size := range []int{0, 1, 8, 64, 1000, 1400} {
					for i := range 2 {
						for range 20 {
							data := make([]byte, size)
							for k := range data {
								data[k] = byte(k + i + size)
							}
							if err := p[i].send(p[1-i].local, 0, data); err != nil {
								t.Fatal(err)
							}
							var got datagram
							d[1-i].until(t, "a datagram", func() bool {
								in := in[1-i]
								if len(in.got) > 0 {
									got, in.got = in.got[0], nil
								}
								return got.from.IsValid()
							})
							if got.data != string(data) || got.from != p[i].local {
								t.Fatalf("%d bytes from %v came as %d from %v", size, p[i].local, len(got.data), got.from)
							}
						}
					}
				}
			})
		}
	}
}
