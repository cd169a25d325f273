package udp

import (
	"net/netip"
	"slices"
	"testing"
	"time"
)

// narrower is an inbox that implements datagram.Narrower.
type narrower struct {
	inbox
	told []netip.AddrPort
}

func (n *narrower) Narrowed(dest netip.AddrPort) { n.told = append(n.told, dest) }

// TestNarrowed: a path whose MTU has shrunk is queried until it takes as much as before. The receiver is informed
// of each change.
func TestNarrowed(t *testing.T) {
	a, b := places(t)
	b.Enter()
	far, _ := testPort(t, testDomain(t), netip.MustParseAddr("10.98.0.2"))
	a.Enter()
	d := testDomain(t)
	in := &narrower{}
	p := portAt(t, d, netip.MustParseAddrPort("10.98.0.1:0"), in)
	const wide, half, narrow = 1500 - ipv4Headers, 1000 - ipv4Headers, 600 - ipv4Headers
	largest := func() (n int) {
		d.prog.Lock()
		defer d.prog.Unlock()
		return p.paths.known[far.local.Addr()].largest
	}
	told := func() (n int) {
		d.prog.Lock()
		defer d.prog.Unlock()
		return len(in.told)
	}
	d.prog.Lock()
	p.paths.every = time.Millisecond
	if n := p.MaxDatagram(far.local); n != wide {
		t.Errorf("%d bytes, want %d", n, wide)
	}
	d.prog.Unlock()
	a.IP("route", "add", "10.98.0.2/32", "dev", "eth9", "mtu", "600")
	d.until(t, "the port learns that the path is narrow", func() bool {
		// An error, or the system accepts it and reports the error later.
		p.Send(far.local, [][]byte{make([]byte, 1400)}, 0)
		p.MaxDatagram(far.local)
		return len(in.told) > 0
	})
	if n := largest(); n != narrow {
		t.Errorf("%d bytes, want %d", n, narrow)
	}
	for _, step := range []struct {
		mtu  string
		want int
	}{{"1000", half}, {"1500", wide}} {
		had := told()
		a.IP("route", "replace", "10.98.0.2/32", "dev", "eth9", "mtu", step.mtu)
		d.until(t, "the port learns that the path is wider", func() bool {
			return len(in.told) > had && p.paths.known[far.local.Addr()].largest == step.want
		})
	}
	d.until(t, "the port queries the path no longer", func() bool { return len(p.paths.narrow) == 0 })
	if slices.ContainsFunc(in.told, func(to netip.AddrPort) bool { return to != far.local }) {
		t.Errorf("the receiver was informed of %v", in.told)
	}
}
