package udp

import (
	"errors"
	"net/netip"
	"testing"

	"gofabric/core"
	"gofabric/internal/netx"
)

// groupPort opens a port at an address and joins it to a group that does not leave the host.
func groupPort(t *testing.T, d *domain, at, group netip.Addr) (*port, *inbox, netip.AddrPort) {
	p, in := testPort(t, d, at)
	d.prog.Lock()
	defer d.prog.Unlock()
	must(t, p.Join(group))
	if err := p.Join(group); !errors.Is(err, core.ErrAlready) {
		t.Errorf("joined again: %v", err)
	}
	return p, in, netip.AddrPortFrom(group, p.local.Port())
}

func testGroup(t *testing.T, sender, at, group netip.Addr) {
	d := testDomain(t)
	a, _ := testPort(t, d, sender)
	b, in, to := groupPort(t, d, at, group)
	must(t, a.send(to, 0, []byte("all")))
	must(t, a.send(netip.AddrPortFrom(sender, b.Local().Port()), 0, []byte("one")))
	d.until(t, "a datagram to the group and one to the port", func() bool { return len(in.got) == 2 })
	for _, g := range in.got {
		if g.from != a.Local() {
			t.Errorf("%v, want it from %v", g, a.Local())
		}
	}
	d.prog.Lock()
	b.Poll()
	b.Stats()
	must(t, b.Leave(group))
	if err := b.Leave(group); !errors.Is(err, core.ErrInval) {
		t.Errorf("left twice: %v", err)
	}
	d.prog.Unlock()
	in.got = nil
	a.send(to, 0, []byte("nobody"))
	must(t, a.send(netip.AddrPortFrom(sender, b.Local().Port()), 0, []byte("again")))
	d.until(t, "a datagram arrives", func() bool { return len(in.got) > 0 })
	if len(in.got) != 1 || in.got[0].data != "again" {
		t.Errorf("received after Leave: %v", in.got)
	}
	d.prog.Lock()
	defer d.prog.Unlock()
	must(t, b.Join(group)) // so that Close has to leave the group
}

func TestMulticast4(t *testing.T) {
	group := netip.MustParseAddr("239.77.1.3")
	testGroup(t, loopback4, loopback4, group)
	d := testDomain(t)
	p, _ := testPort(t, d, loopback4)
	d.prog.Lock()
	defer d.prog.Unlock()
	for _, a := range []netip.Addr{loopback4, netip.MustParseAddr("ff01::4d:103"), {}} {
		if err := p.Join(a); !errors.Is(err, core.ErrInval) {
			t.Errorf("joined %v: %v", a, err)
		}
	}
}

func TestMulticast6(t *testing.T) {
	ifs, err := netx.Interfaces()
	must(t, err)
	for _, i := range ifs {
		if i.Addr.Is6() && i.Addr.IsLinkLocalUnicast() { // loopback has no multicast route
			testGroup(t, i.Addr, i.Addr, netip.MustParseAddr("ff01::4d:103"))
			return
		}
	}
	t.Log("no interface with IPv6 multicast")
}
