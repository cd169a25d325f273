//go:build linux

package udp

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/veth"
)

// receives sends a datagram from q until p receives it. No caller makes passes at p.
func receives(t *testing.T, q, p *port, in *inbox, size int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		err := q.send(p.local, 0, make([]byte, size))
		if p.heard(in, size, 100*time.Millisecond) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a datagram of %d bytes from %v does not arrive at %v: %v", size, q, p, err)
		}
	}
}

// heard waits for a datagram that was sent to p, for the given time at most.
// Its caller sends again then. No caller makes passes at p.
func (p *port) heard(in *inbox, size int, most time.Duration) bool {
	for deadline := time.Now().Add(most); ; time.Sleep(time.Millisecond) {
		p.d.prog.Lock()
		n := len(in.got)
		got := n > 0 && len(in.got[n-1].data) == size
		in.got = nil
		p.d.prog.Unlock()
		if got || time.Now().After(deadline) {
			return got
		}
	}
}

// TestXDPRemoved: a port that only receives, and whose program sleeps, notices that the interface was removed. It
// continues through its socket on another interface.
func TestXDPRemoved(t *testing.T) {
	a, b := places(t)
	b.Enter()
	q, _ := testPort(t, testDomain(t), netip.MustParseAddr("10.98.0.2"))
	a.Enter()
	d := testDomain(t, "LINK", linkXDP)
	p, in := testPort(t, d, netip.MustParseAddr("10.98.0.1"))
	if p.xdp == nil {
		t.Fatal(p.noXDP)
	}
	receives(t, q, p, in, 8)
	a.IP("link", "del", "eth9")
	var why error
	d.untilItself(t, "the port notices that the interface was removed", func() bool {
		why = p.noXDP
		return p.xdp == nil
	})
	if !errors.Is(why, errXDPRemoved) {
		t.Error(why)
	}
	a.IP("link", "add", "eth9", "type", "veth", "peer", "name", "eth9", "netns", b.Name)
	for i, h := range []*veth.Host{a, b} {
		h.IP("link", "set", "eth9", "up")
		h.IP("addr", "add", fmt.Sprintf("10.98.0.%d/24", i+1), "dev", "eth9")
	}
	receives(t, q, p, in, 8)
	if s := p.counts(); s.BypassReceived == 0 || s.ReceivedDatagrams < s.BypassReceived+1 {
		t.Errorf("datagrams that went through AF_XDP before are not counted: %+v", s)
	}
	a.Enter()
	must(t, d.setLink(p, core.DatapathXDP)) // the interface exists again
	was := p.counts()
	receives(t, q, p, in, 8)
	if s := p.counts(); s.BypassReceived <= was.BypassReceived {
		t.Errorf("%+v; before, %+v", s, was)
	}
}

// setLink is SetLink, locked.
func (d *domain) setLink(p *port, to core.Datapath) error {
	d.prog.Lock()
	defer d.prog.Unlock()
	return p.SetDatapath(to)
}

// TestXDPMoved: an interface gets another Ethernet address. Frames to it bypass the system's stack, as before.
func TestXDPMoved(t *testing.T) {
	a, b := places(t)
	b.Enter()
	q, _ := testPort(t, testDomain(t), netip.MustParseAddr("10.98.0.2"))
	a.Enter()
	p, in := testPort(t, testDomain(t, "LINK", linkXDP), netip.MustParseAddr("10.98.0.1"))
	if p.xdp == nil {
		t.Fatal(p.noXDP)
	}
	for _, mac := range []string{"02:00:00:00:98:01", "02:00:00:00:98:02"} {
		receives(t, q, p, in, 8)
		a.IP("link", "set", "eth9", "address", mac)
		b.IP("neigh", "replace", "10.98.0.1", "lladdr", mac, "dev", "eth9", "nud", "reachable")
		was := p.counts()
		// The datapath receives the change a little later.
		for deadline := time.Now().Add(patience); p.counts().BypassReceived == was.BypassReceived; {
			receives(t, q, p, in, 8)
			if time.Now().After(deadline) {
				t.Fatalf("%s: no datagram bypasses the system's stack: %+v, then %+v", mac, was, p.counts())
			}
		}
	}
}

// TestXDPAddressMoves: a port's address moves to a host behind this one, and back. Datagrams to it go to the host
// that has the address at that time.
func TestXDPAddressMoves(t *testing.T) {
	a, b := places(t)
	c := veth.NewHost(t)
	a.IP("link", "add", "eth8", "type", "veth", "peer", "name", "eth8", "netns", c.Name)
	a.IP("link", "set", "eth8", "up")
	a.Address("eth8", "10.97.0.1/24", "fd97::1/64")
	a.Address("eth9", "10.98.0.9/24", "fd98::9/64")
	a.Set("net/ipv4/ip_forward", "1")
	a.Set("net/ipv6/conf/all/forwarding", "1")
	c.IP("link", "set", "eth8", "up")
	c.Address("eth8", "10.97.0.2/24", "fd97::2/64")
	c.IP("route", "add", "default", "via", "10.97.0.1")
	c.IP("-6", "route", "add", "default", "via", "fd97::1")
	for _, at := range []struct{ addr, prefix, peer, via string }{{"10.98.0.1", "10.98.0.1/24", "10.98.0.2", "10.97.0.2"}, {"fd98::1", "fd98::1/64", "fd98::2", "fd97::2"}} {
		b.Enter()
		q, _ := testPort(t, testDomain(t), netip.MustParseAddr(at.peer))
		a.Enter()
		p, in := testPort(t, testDomain(t, "LINK", linkXDP), netip.MustParseAddr(at.addr))
		if p.xdp == nil {
			t.Fatal(p.noXDP)
		}
		receives(t, q, p, in, 8)
		a.IP("addr", "del", at.prefix, "dev", "eth9")
		a.IP("route", "add", at.addr, "via", at.via)
		c.Address("lo", at.addr)
		c.Enter()
		theirs := &inbox{}
		other := portAt(t, testDomain(t), p.local, theirs)
		receives(t, q, other, theirs, 9)
		was := p.counts()
		c.IP("addr", "del", at.addr, "dev", "lo")
		a.IP("route", "del", at.addr, "via", at.via)
		a.Address("eth9", at.prefix)
		// The datapath receives the change a little later.
		for deadline := time.Now().Add(patience); p.counts().BypassReceived == was.BypassReceived; {
			receives(t, q, p, in, 10)
			if time.Now().After(deadline) {
				t.Fatalf("%v: no datagram bypasses the system's stack: %+v, then %+v", p, was, p.counts())
			}
		}
	}
}

// TestXDPRaisedMTU: an interface takes longer packets than when it was opened. Packets that fit into a frame bypass
// the system's stack when they are sent. Others pass through it, and so do received packets of a socket that are
// longer than 1500 bytes.
func TestXDPRaisedMTU(t *testing.T) {
	a, b := places(t)
	b.Enter()
	q, back := testPort(t, testDomain(t, "MTU", "60000"), netip.MustParseAddr("10.98.0.2"))
	a.Enter()
	p, in := testPort(t, testDomain(t, "LINK", linkXDP, "MTU", "60000"), netip.MustParseAddr("10.98.0.1"))
	if p.xdp == nil {
		t.Fatal(p.noXDP)
	}
	for _, mtu := range []int{1500, 1700, 9000, 1400} {
		for _, h := range []*veth.Host{a, b} {
			h.IP("link", "set", "eth9", "mtu", fmt.Sprint(mtu))
		}
		for _, size := range []int{mtu - 28, 64} {
			// The datapath receives the change a little later.
			for began, went := time.Now(), [2]bool{}; !went[0] || !went[1]; {
				was := p.counts()
				receives(t, q, p, in, size)
				receives(t, p, q, back, size)
				s := p.counts()
				by := [2]bool{s.BypassReceived > was.BypassReceived, s.BypassSent > was.BypassSent}
				stack := [2]bool{size > 1500-28, size > 1700}
				for w := range by {
					if by[w] && stack[w] {
						t.Fatalf("MTU %d: %d bytes bypassed the system's stack: %v", mtu, size, by)
					}
					went[w] = went[w] || by[w] || stack[w]
				}
				if time.Since(began) > patience {
					t.Fatalf("MTU %d: %d bytes: received and sent without the system's stack: %v", mtu, size, went)
				}
			}
		}
	}
}

// TestXDPChosen: the datapath of a port can be changed at any time, either way. A datapath that is not available is
// refused, and nothing changes.
func TestXDPChosen(t *testing.T) {
	a, b := places(t)
	b.Enter()
	q, _ := testPort(t, testDomain(t), netip.MustParseAddr("10.98.0.2"))
	a.Enter()
	d := testDomain(t)
	p, in := testPort(t, d, netip.MustParseAddr("10.98.0.1"))
	for _, to := range []core.Datapath{core.DatapathSockets, core.DatapathXDP, core.DatapathXDP, core.DatapathSockets, core.DatapathAuto, core.DatapathSockets, core.DatapathXDP} {
		must(t, d.setLink(p, to))
		want := to
		if to == core.DatapathAuto {
			want = core.DatapathXDP
		}
		was := p.counts()
		must(t, q.send(p.local, 0, make([]byte, 100)))
		if !p.heard(in, 100, patience) {
			t.Errorf("a datagram was lost after the change to %v", to)
		}
		s := p.counts()
		if p.Datapath() != want || (s.BypassReceived > was.BypassReceived) != (want == core.DatapathXDP) {
			t.Errorf("after %v: %v, %+v", to, p.Datapath(), s)
		}
	}
	for _, to := range []core.Datapath{0, -1, core.DatapathAuto + 1} {
		if err := d.setLink(p, to); !errors.Is(err, core.ErrInval) || p.Datapath() != core.DatapathXDP {
			t.Errorf("%d: %v", to, err)
		}
	}
	for at, want := range map[string]error{"0.0.0.0": errXDPWildcard, "::": errXDPWildcard, "10.98.0.77": errXDPNowhere} {
		if _, err := xdpInterface(netip.MustParseAddr(at), interfaceOf(netip.MustParseAddr(at))); err != want {
			t.Errorf("%s: %v, want %v", at, err, want)
		}
	}
	a.IP("link", "set", "eth9", "down")
	if _, err := xdpInterface(p.local.Addr(), interfaceOf(p.local.Addr())); err != errXDPNowhere {
		t.Errorf("while the interface is down: %v", err)
	}
	lo, box := testPort(t, d, loopback4)
	err := d.setLink(lo, core.DatapathXDP)
	if !errors.Is(err, core.ErrOpNotSupp) || !strings.Contains(err.Error(), errXDPLoopback.Error()) ||
		lo.Datapath() != core.DatapathSockets {
		t.Errorf("on lo: %v, %v", err, lo.Datapath())
	}
	must(t, d.setLink(lo, core.DatapathAuto))
	receives(t, lo, lo, box, 100)
}
