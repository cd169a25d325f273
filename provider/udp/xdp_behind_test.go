//go:build linux

package udp

import (
	"net/netip"
	"testing"

	"gofabric/core"
	"gofabric/internal/xdp"
	"gofabric/internal/xdp/frame"
	"gofabric/test/veth"
)

// TestXDPBehind: valid frames behind more invalid ones than one receive takes are not lost when a port leaves
// AF_XDP.
func TestXDPBehind(t *testing.T) {
	d, p, in, out, h := framed(t)
	const bad, ipChecksum = 2*xdpFrames + 1, 14 + 10
	var f [bad + 1]xdp.Frame
	d.prog.Lock()
	defer d.prog.Unlock()
	if n := out.Reserve(f[:]); n < len(f) {
		t.Fatalf("%d frames", n)
	}
	for k := range f {
		f[k].Data = f[k].Data[:h.Put(f[k].Data, []byte("good"), 1)]
		if k < bad {
			f[k].Data[ipChecksum] ^= 1
		}
	}
	if errno := out.Submit(f[:]); errno != 0 {
		t.Fatal(errno)
	}
	for out.Flush() != 0 {
	}
	in.got = nil
	must(t, p.SetDatapath(core.DatapathSockets))
	if n := len(in.got); n != 1 || in.got[0].data != "good" {
		t.Errorf("%d datagrams; %+v", n, p.Stats())
	}
}

// framed is a port with AF_XDP, and its framer.
func framed(t *testing.T) (d *domain, p *port, in *inbox, out *xdp.Port, h frame.Header) {
	t.Helper()
	a, b := places(t)
	a.Enter()
	d = testDomain(t, "LINK", linkXDP)
	p, in = testPort(t, d, netip.MustParseAddr("10.98.0.1"))
	if p.xdp == nil {
		t.Fatal(p.noXDP)
	}
	out, h = framer(t, a, b, p)
	return d, p, in, out, h
}

// framer is an xdp.Port at the other end of a port's veth pair, and the header of frames from there.
func framer(t *testing.T, a, b *veth.Host, p *port) (*xdp.Port, frame.Header) {
	t.Helper()
	b.Enter()
	i, err := xdp.Open("eth9", xdp.Config{Mode: xdp.Generic})
	must(t, err)
	t.Cleanup(i.Close)
	from := netip.MustParseAddrPort("10.98.0.2:7000")
	out, err := i.Bind(from)
	must(t, err)
	t.Cleanup(func() { must(t, out.Close()) })
	c := frame.Config{Src: from, Dst: p.local}
	copy(c.SrcMAC[:], b.Interface("eth9").HardwareAddr)
	copy(c.DstMAC[:], a.Interface("eth9").HardwareAddr)
	var h frame.Header
	must(t, h.Init(&c))
	return out, h
}

// TestXDPOtherStation: a port does not accept a frame to another Ethernet address, which a hub or a bridge
// delivers, though the IP address is the port's.
func TestXDPOtherStation(t *testing.T) {
	d, p, in, out, h := framed(t)
	for n, text := range []string{"other", "ours"} {
		var f [1]xdp.Frame
		if out.Reserve(f[:]) != 1 {
			t.Fatal("no frame")
		}
		f[0].Data = f[0].Data[:h.Put(f[0].Data, []byte(text), 1)]
		if n == 0 {
			f[0].Data[5] ^= 1
		}
		if errno := out.Submit(f[:]); errno != 0 {
			t.Fatal(errno)
		}
		for out.Flush() != 0 {
		}
	}
	d.until(t, "a datagram arrives", func() bool { return len(in.got) > 0 })
	if s := p.counts(); in.got[0].data != "ours" || s.BypassRefused != 1 {
		t.Errorf("%q; %+v", in.got[0].data, s)
	}
}
