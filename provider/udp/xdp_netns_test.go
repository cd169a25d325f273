//go:build linux

package udp

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"

	"gofabric/core"
	"gofabric/internal/netx"
	"gofabric/test/veth"
	"gofabric/test/wait"
)

// TestXDP sends both ways between a port with AF_XDP and one with sockets, and between two with AF_XDP.
func TestXDP(t *testing.T) {
	a, b := places(t)
	for _, datapaths := range [][2]string{{linkXDP, linkSockets}, {linkSockets, linkXDP}, {linkXDP, linkXDP}} {
		for _, at := range [][2]string{{"10.98.0.1", "10.98.0.2"}, {"fd98::1", "fd98::2"}} {
			t.Run(datapaths[0]+"-"+datapaths[1]+"/"+at[0], func(t *testing.T) {
				runtime.LockOSThread() // never unlocked: the thread changes its namespace
				var d [2]*domain
				var p [2]*port
				var in [2]*inbox
				for i, h := range []*veth.Host{a, b} {
					h.Enter()
					d[i] = testDomain(t, "LINK", datapaths[i])
					p[i], in[i] = testPort(t, d[i], netip.MustParseAddr(at[i]))
					if datapaths[i] == linkXDP && p[i].xdp == nil {
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
							var got gotDatagram
							d[1-i].until(t, "a datagram arrives", func() bool {
								in := in[1-i]
								if len(in.got) > 0 {
									got, in.got = in.got[0], nil
								}
								return got.from.IsValid()
							})
							if got.data != string(data) || got.from != p[i].local {
								t.Fatalf("%d bytes from %v arrived as %d from %v",
									size, p[i].local, len(got.data), got.from)
							}
						}
					}
				}
			})
		}
	}
}

// TestXDPWritable: a port whose socket was full reports when it takes more, without a pass of the application.
func TestXDPWritable(t *testing.T) {
	a, _ := places(t)
	a.Enter()
	d := testDomain(t, "LINK", linkXDP)
	p, in := testPort(t, d, netip.MustParseAddr("10.98.0.1"))
	if p.xdp == nil {
		t.Fatal(p.noXDP)
	}
	for range 2 {
		testPort(t, d, netip.MustParseAddr("10.98.0.1")) // with a second port, passes no longer read each port directly
		d.prog.Lock()
		in.writable = 0
		p.block()
		if err := p.Send(p.Local(), nil, 0); err != core.ErrAgain {
			t.Errorf("Send on a full socket: %v", err)
		}
		d.prog.Unlock()
		d.untilItself(t, "the port reports room once", func() bool { return in.writable == 1 })
	}
}

// TestXDPManyDomains: an interface has many endpoints of one domain, and endpoints of many domains. The kernel
// allows few epoll paths. Endpoints without one use sockets. All receive their datagrams, while the goroutine makes
// the progress.
func TestXDPManyDomains(t *testing.T) {
	const perDomain, domains = 120, 60
	a, b := places(t)
	b.Enter()
	from := testDomain(t)
	q, _ := testPort(t, from, netip.MustParseAddr("10.98.0.2"))
	a.Enter()
	at := netip.MustParseAddr("10.98.0.1")
	many := testDomain(t, "LINK", linkXDP)
	var ports []*port
	var boxes []*inbox
	add := func(d *domain) {
		p, in := testPort(t, d, at)
		ports, boxes = append(ports, p), append(boxes, in)
	}
	for range perDomain {
		add(many)
	}
	for range domains {
		add(testDomain(t, "LINK", linkXDP))
	}
	bypassed := 0
	for i, p := range ports {
		if p.xdp != nil {
			bypassed++
		} else if i < perDomain {
			t.Fatalf("port %d: %v", i, p.noXDP)
		}
	}
	bound := netx.EdgeTriggered // the portable Poller cannot watch another one
	if bypassed < perDomain+30 || bound && bypassed == perDomain+domains {
		t.Errorf("%d of %d ports have AF_XDP: the kernel allows some tens of domains", bypassed, len(ports))
	}
	hear := func(first int) {
		t.Helper()
		for i := first; i < len(ports); i++ {
			must(t, q.send(ports[i].local, 0, []byte{byte(i)}))
		}
		for i := first; i < len(ports); i++ {
			p, in := ports[i], boxes[i]
			wait.Until(t, fmt.Sprintf("port %d receives", i), func() bool {
				p.d.prog.Lock()
				got := in.got
				in.got = nil
				p.d.prog.Unlock()
				if len(got) > 1 || len(got) == 1 && got[0].data != string([]byte{byte(i)}) {
					t.Fatalf("port %d: %d datagrams, the first is %q", i, len(got), got[0].data)
				}
				return len(got) == 1
			})
		}
	}
	hear(0)
	many.prog.Lock() // removes the datapath that receives for its domain
	must(t, ports[0].Close())
	many.prog.Unlock()
	hear(1)
}

// TestXDPFirstPortCloses: when the port that watches the AF_XDP sockets for its domain closes, another one takes
// over, without a pass of the application.
func TestXDPFirstPortCloses(t *testing.T) {
	a, b := places(t)
	b.Enter()
	q, _ := testPort(t, testDomain(t), netip.MustParseAddr("10.98.0.2"))
	a.Enter()
	d, at := testDomain(t, "LINK", linkXDP), netip.MustParseAddr("10.98.0.1")
	first, box := testPort(t, d, at)
	second, in := testPort(t, d, at)
	third, last := testPort(t, d, at)
	for _, p := range []*port{first, second, third} {
		if p.xdp == nil {
			t.Fatal(p.noXDP)
		}
	}
	receives(t, q, first, box, 8)
	d.prog.Lock()
	must(t, first.Close())
	d.prog.Unlock()
	for range 3 {
		receives(t, q, third, last, 9)
		receives(t, q, second, in, 10)
	}
	must(t, d.setLink(second, core.DatapathSockets))
	receives(t, q, second, in, 11)
	receives(t, q, third, last, 12)
	if s := third.counts(); s.BypassReceived < 4 {
		t.Errorf("%+v", s)
	}
}
