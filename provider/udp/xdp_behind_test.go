//go:build linux

package udp

import (
	"net/netip"
	"testing"

	"gofabric/core"
	"gofabric/internal/xdp"
	"gofabric/internal/xdp/frame"
)

// TestXDPBehind: what waits behind frames that are no good, more than one receive brings, is not lost when a port leaves AF_XDP.
func TestXDPBehind(t *testing.T) {
	a, b := places(t)
	a.Enter()
	d := testDomain(t, "LINK", linkXDP)
	p, in := testPort(t, d, netip.MustParseAddr("10.98.0.1"))
	if p.express == nil {
		t.Fatal(p.noXDP)
	}
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
	must(t, p.SetLink(core.LinkSockets))
	if n := len(in.got); n != 1 || in.got[0].data != "good" {
		t.Errorf("%d datagrams; %+v", n, p.Stats())
	}
}
