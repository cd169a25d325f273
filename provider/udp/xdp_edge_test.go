//go:build linux

package udp

import (
	"net/netip"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/neigh"
	"gofabric/internal/transport/datagram"
	"gofabric/internal/xdp/frame"
	"gofabric/test/wait"
)

// xdpPort makes a port with an AF_XDP datapath at one end of a veth pair, and a plain one at the other.
func xdpPort(t *testing.T) (p, q *port, in, back *inbox) {
	t.Helper()
	a, b := places(t)
	b.Enter()
	q, back = testPort(t, testDomain(t), netip.MustParseAddr("10.98.0.2"))
	a.Enter()
	p, in = testPort(t, testDomain(t, "LINK", linkXDP), netip.MustParseAddr("10.98.0.1"))
	if p.xdp == nil {
		t.Fatal(p.noXDP)
	}
	return p, q, in, back
}

// TestXDPWays: the link builds headers for a path that leaves through its interface, from its address, to one
// neighbour, and for no other path.
func TestXDPWays(t *testing.T) {
	p, q, in, back := xdpPort(t)
	receives(t, p, q, back, 8) // the neighbour is known now
	receives(t, q, p, in, 8)
	p.d.prog.Lock()
	defer p.d.prog.Unlock()
	l := p.xdp.(*xdpDatapath)
	var peer *xdpPeer
	wait.Until(t, "the path to the neighbour is known", func() bool { peer = l.peer(q.local); return peer != nil })
	right := *peer.path
	tag := [frame.TagsMax]frame.Tag{{Proto: frame.TagC, TCI: 42}}
	for name, c := range map[string]struct {
		change func(*neigh.Path)
		goes   bool
		tags   int
	}{
		"the right one":            {func(*neigh.Path) {}, true, 0},
		"another interface":        {func(w *neigh.Path) { w.Link, w.Device = w.Link+1, w.Device+1 }, false, 0},
		"a VLAN device above":      {func(w *neigh.Path) { w.Device, w.Tags = w.Device+1, tag }, true, 1},
		"it is a VLAN device":      {func(w *neigh.Path) { w.Link, w.Tags = w.Link+1, tag }, true, 0}, // it adds the tag
		"a VLAN device of another": {func(w *neigh.Path) { w.Link, w.Device, w.Tags = w.Link+1, w.Device+2, tag }, false, 0},
		"another source":           {func(w *neigh.Path) { w.Src = netip.MustParseAddr("10.98.0.9") }, false, 0},
		"a group":                  {func(w *neigh.Path) { w.Cast = frame.Multicast }, false, 0},
		"a broadcast":              {func(w *neigh.Path) { w.Cast = frame.Broadcast }, false, 0},
		"a gateway":                {func(w *neigh.Path) { w.NextHop = netip.MustParseAddr("10.98.0.9") }, true, 0},
	} {
		way := right
		c.change(&way)
		x := xdpPeer{addr: q.local}
		l.build(&x, &way)
		if (x.maxFrame > 0) != c.goes || x.path != &way {
			t.Errorf("%s: %d bytes of payload", name, x.maxFrame)
		}
		if want := frame.EthernetLen + c.tags*frame.TagLen + frame.IPv4Len + frame.UDPLen; c.goes && x.h.Len() != want {
			t.Errorf("%s: a header of %d bytes, want %d", name, x.h.Len(), want)
		}
		if want := gatewayMax - 28; name == "a gateway" && x.maxFrame != want {
			t.Errorf("%s: %d bytes of payload, want %d", name, x.maxFrame, want)
		}
	}
}

// TestXDPExpect: the headers for an expected address are made before any datagram, so the first one bypasses the
// stack. No headers are made for very many addresses, for groups, and without AF_XDP.
func TestXDPExpect(t *testing.T) {
	p, q, in, back := xdpPort(t)
	l := p.xdp.(*xdpDatapath)
	ready := func() bool {
		x := l.peers[q.local]
		return x != nil && x.maxFrame > 0
	}
	p.d.prog.Lock()
	p.Expect(q.local)
	p.d.prog.Unlock()
	p.d.until(t, "the path to an expected address is known", ready)
	receives(t, p, q, back, 8)
	if p.d.prog.Lock(); l.sent == 0 || l.bySocket > 0 {
		t.Errorf("%d datagrams bypassed the stack, %d went through the socket", l.sent, l.bySocket)
	}
	p.Expect(netip.MustParseAddrPort("239.1.2.3:7000"))
	for n := range 2 * datagram.ExpectMost {
		p.Expect(netip.AddrPortFrom(q.local.Addr(), uint16(10000+n)))
	}
	if n := len(l.peers); n != datagram.ExpectMost {
		t.Errorf("headers for %d addresses are ready, want at most %d", n, datagram.ExpectMost)
	}
	p.d.prog.Unlock()
	receives(t, q, p, in, 8)
	must(t, p.d.setLink(p, core.DatapathSockets))
	p.d.prog.Lock()
	p.Expect(q.local)
	p.d.prog.Unlock()
}

// TestXDPDrain: datagrams that bypassed the stack before the change to sockets, and were not received yet, are
// delivered.
func TestXDPDrain(t *testing.T) {
	p, q, in, _ := xdpPort(t)
	receives(t, q, p, in, 8)
	p.d.prog.Lock()
	defer p.d.prog.Unlock()
	l := p.xdp.(*xdpDatapath)
	was := l.received
	const count = 3 * xdpFrames // more than one receive takes
	for range count {
		must(t, q.send(p.local, 0, make([]byte, 100)))
	}
	wait.Until(t, "a frame arrives", func() bool { return !l.port.Empty() })
	in.got = nil
	must(t, p.SetDatapath(core.DatapathSockets))
	if len(in.got) != count || l.received != was+count {
		t.Errorf("%d of %d datagrams were delivered, %d without the stack", len(in.got), count, l.received-was)
	}
}

// way waits until the path to a neighbour is known. Locked.
func (l *xdpDatapath) way(t *testing.T, to netip.AddrPort) *xdpPeer {
	t.Helper()
	var q *xdpPeer
	wait.Until(t, "the path to the neighbour is known", func() bool { q = l.peer(to); return q != nil })
	return q
}

// TestXDPRetry: the system could not send some frames, because the interface was down. They leave when it is up
// again.
func TestXDPRetry(t *testing.T) {
	a, b := places(t)
	b.Enter()
	q, back := testPort(t, testDomain(t), netip.MustParseAddr("10.98.0.2"))
	a.Enter()
	p, in := testPort(t, testDomain(t, "LINK", linkXDP), netip.MustParseAddr("10.98.0.1"))
	if p.xdp == nil {
		t.Fatal(p.noXDP)
	}
	receives(t, p, q, back, 8)
	receives(t, q, p, in, 8)
	p.d.prog.Lock()
	l := p.xdp.(*xdpDatapath)
	peer := l.way(t, q.local)
	a.IP("link", "set", "eth9", "down")
	if n := l.port.Reserve(l.txFrames[:1]); n != 1 {
		t.Fatal("no frame")
	}
	out := &l.txFrames[0]
	out.Data = out.Data[:peer.h.Put(out.Data, make([]byte, 77), 1)]
	if errno := l.port.Submit(l.txFrames[:1]); errno != 0 {
		t.Fatal(errno)
	}
	l.unflushed = 1
	l.flush()
	late, sent := l.retryAfter, l.sent
	if l.packet == nil || l.sendPacket(peer, [][]byte{{1}}, 1) || l.sent != sent {
		t.Error("a datagram left through the packet socket though the interface is down")
	}
	p.d.prog.Unlock()
	if late == 0 {
		t.Error("the system sends though the interface is down")
	}
	a.IP("link", "set", "eth9", "up")
	if !q.heard(back, 77, patience) {
		t.Error("the frames that could not be sent never leave")
	}
}

// TestXDPLateFirst: frames that wait for room in the system are not overtaken by later ones.
func TestXDPLateFirst(t *testing.T) {
	p, q, in, back := xdpPort(t)
	receives(t, p, q, back, 8)
	receives(t, q, p, in, 8)
	p.d.prog.Lock()
	l := p.xdp.(*xdpDatapath)
	l.way(t, q.local)
	if l.packet == nil {
		t.Error("the link has no packet socket")
	}
	if l.port.Reserve(l.txFrames[:1]) != 1 {
		t.Fatal("no frame")
	}
	out := &l.txFrames[0]
	out.Data = out.Data[:l.peer(q.local).h.Put(out.Data, make([]byte, 77), 1)]
	if errno := l.port.Submit(l.txFrames[:1]); errno != 0 {
		t.Fatal(errno)
	}
	l.retry(retryMin) // as if the system had had no room
	must(t, p.Send(q.local, [][]byte{make([]byte, 5)}, 0))
	p.d.prog.Unlock()
	q.d.until(t, "both datagrams arrive", func() bool { return len(back.got) >= 2 })
	if first, second := len(back.got[0].data), len(back.got[1].data); first != 77 || second != 5 {
		t.Errorf("datagrams of %d and %d bytes, want 77 and 5", first, second)
	}
}

// TestXDPEndFlush: frames that wait for others leave when the port returns to sockets, or closes.
func TestXDPEndFlush(t *testing.T) {
	for _, end := range []func(*port) error{func(p *port) error { return p.SetDatapath(core.DatapathSockets) }, (*port).Close} {
		p, q, in, back := xdpPort(t)
		receives(t, p, q, back, 8)
		receives(t, q, p, in, 8)
		p.d.prog.Lock()
		l := p.xdp.(*xdpDatapath)
		sent := 0
		for l.unflushed == 0 && sent < 10000 {
			must(t, p.Send(q.local, [][]byte{{byte(sent)}}, 0))
			sent++
		}
		if l.unflushed == 0 {
			t.Error("no frame ever waits")
		}
		must(t, end(p))
		p.d.prog.Unlock()
		q.d.until(t, "all frames that were sent", func() bool { return len(back.got) == sent })
	}
}

// TestXDPOwnSource: packets from another address of this host are refused, as the kernel refuses them, while the
// host has that address and accept_local does not allow it.
func TestXDPOwnSource(t *testing.T) {
	a, b := places(t)
	a.IP("addr", "add", "10.98.0.9/32", "dev", "lo")
	b.IP("addr", "add", "10.98.0.9/24", "dev", "eth9")
	b.Enter()
	d := testDomain(t)
	q, _ := testPort(t, d, netip.MustParseAddr("10.98.0.2"))
	impostor, _ := testPort(t, d, netip.MustParseAddr("10.98.0.9"))
	a.Enter()
	open := func(link string) (p *port, in *inbox) {
		p, in = testPort(t, testDomain(t, "LINK", link), netip.MustParseAddr("10.98.0.1"))
		receives(t, q, p, in, 8)
		return p, in
	}
	// takes waits until the port accepts the impostor's packets, or no longer does. A neighbour's datagram follows
	// over the same veth pair.
	takes := func(p *port, in *inbox, want bool) {
		t.Helper()
		for end := time.Now().Add(patience); ; {
			p.d.prog.Lock()
			in.got = nil
			p.d.prog.Unlock()
			impostor.send(p.local, 0, make([]byte, 9))
			q.send(p.local, 0, make([]byte, 10))
			took := false
			p.d.until(t, "the neighbour's datagram", func() bool {
				for i := range in.got {
					switch len(in.got[i].data) {
					case 9:
						took = true
					case 10:
						return true
					}
				}
				return false
			})
			if took == want {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("the port accepts the impostor's packets: %v; %v", took, p)
			}
		}
	}
	for _, link := range []string{linkSockets, linkXDP} {
		p, in := open(link)
		takes(p, in, false)
	}
	p, in := open(linkXDP)
	takes(p, in, false)
	before := p.counts().BypassRefused
	takes(p, in, false)
	if p.counts().BypassRefused == before {
		t.Error("refused packets are not counted")
	}
	a.IP("addr", "del", "10.98.0.9/32", "dev", "lo")
	takes(p, in, true)
	a.IP("addr", "add", "10.98.0.9/32", "dev", "lo")
	takes(p, in, false)
	a.Set("net/ipv4/conf/eth9/accept_local", "1")
	p, in = open(linkXDP) // reads accept_local when it is made
	for range 3 {
		takes(p, in, true)
	}
}
