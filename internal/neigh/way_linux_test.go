package neigh

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/xdp/frame"
	"gofabric/test/need"
)

// deliver sends a frame along a path with a packet socket, and receives it with a UDP socket of another host. So the
// frame has used the path.
func deliver(t *testing.T, from host, dev string, p *Path, to host, at netip.Addr) {
	t.Helper()
	var sock *net.UDPConn
	to.Inside(func() (err error) {
		sock, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(at, 0)))
		return err
	})
	defer sock.Close()
	var h frame.Header
	dst := sock.LocalAddr().(*net.UDPAddr).AddrPort()
	c := frame.Config{SrcMAC: p.SrcMAC, DstMAC: p.DstMAC, Tags: p.Tags, Src: netip.AddrPortFrom(p.Src, 7000),
		Dst: netip.AddrPortFrom(dst.Addr().WithZone(""), dst.Port())}
	if err := h.Init(&c); err != nil {
		t.Fatal(err)
	}
	buf, text := make([]byte, 2048), []byte("along the path")
	n := h.Put(buf, text, 0)
	from.Inside(func() error {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Sendto(fd, buf[:n], 0, &unix.SockaddrLinklayer{Ifindex: p.Link})
	})
	sock.SetReadDeadline(time.Now().Add(long))
	got, src, err := sock.ReadFromUDPAddrPort(buf)
	if err != nil {
		t.Fatalf("nothing came: %v", err)
	}
	if !bytes.Equal(buf[:got], text) || src.Addr().Unmap().WithZone("") != p.Src {
		t.Errorf("%q from %v, want %q from %v", buf[:got], src, text, p.Src)
	}
}

// TestNeighbour resolves the other end of a cable, whose address the kernel does not know yet.
func TestNeighbour(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ src, to, want string }{
		{"10.99.0.1", "10.99.0.2", ""}, {"", "10.99.0.2", "10.99.0.1"}, {"0.0.0.0", "::ffff:10.99.0.2", "10.99.0.1"},
		{"fd99::1", "fd99::2", ""}, {"", "fd99::2", "fd99::1"}, {"::", "fd99::2", "fd99::1"},
	} {
		t.Run(tc.src+" "+tc.to, func(t *testing.T) {
			t.Parallel()
			a, b := pair(t)
			a.IP("link", "set", "eth9", "mtu", "3490")
			p := newWay(t, a.table(), tc.src, tc.to).resolve()
			if tc.want == "" {
				tc.want = tc.src
			}
			to := netip.MustParseAddr(tc.to).Unmap()
			index := a.link("eth9").Attrs().Index
			want := Path{
				Link: index, Device: index, SrcMAC: a.mac("eth9"), DstMAC: b.mac("eth9"),
				Src: netip.MustParseAddr(tc.want), NextHop: to, MTU: 3490,
			}
			if *p != want {
				t.Fatalf("%+v, want %+v", *p, want)
			}
			deliver(t, a, "eth9", p, b, to)
		})
	}
}

// TestLinkLocal reaches an address that needs an interface: the interface of its zone, or that of the View.
func TestLinkLocal(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	a.Address("eth9", "fe80::a/64")
	b.Address("eth9", "fe80::b/64")
	tab := a.table()
	to := netip.MustParseAddr("fe80::b")
	src := netip.MustParseAddr("fe80::a%eth9")
	index := a.link("eth9").Attrs().Index
	for _, w := range []*way{
		{t: t, v: tab.View(src, 0), to: to.WithZone("eth9")},
		{t: t, v: tab.View(src, index), to: to},
	} {
		if p := w.resolve(); p.DstMAC != b.mac("eth9") || p.Src != src.WithZone("") {
			t.Errorf("%v", p)
		}
	}
	w := &way{t: t, v: tab.View(netip.Addr{}, 0), to: to.WithZone("nosuch")}
	if _, err := w.v.Resolve(t.Context(), &w.d, w.to); err != unix.ENODEV {
		t.Errorf("by an interface that is not there: %v", err)
	}
}

// TestGateway reaches hosts through a gateway between two networks. Then another gateway replaces it.
func TestGateway(t *testing.T) {
	t.Parallel()
	a, gw, c := newHost(t), newHost(t), newHost(t)
	lay(a, gw, "eth9")
	lay(gw, c, "eth8")
	a.Address("eth9", "10.99.0.1/24", "fd99::1/64")
	gw.Address("eth9", "10.99.0.2/24", "fd99::2/64")
	gw.Address("eth8", "10.98.0.2/24", "fd98::2/64")
	c.Address("eth8", "10.98.0.1/24", "fd98::1/64")
	gw.Set("net/ipv4/ip_forward", "1")
	gw.Set("net/ipv6/conf/all/forwarding", "1")
	tab := a.table()
	for _, tc := range []struct{ dest, net, gw, other string }{
		{"10.98.0.1", "10.98.0.0/16", "10.99.0.2", "10.99.0.3"},
		{"fd98::1", "fd98::/64", "fd99::2", "fd99::3"},
	} {
		w := newWay(t, tab, "", tc.dest)
		if _, err := w.v.Resolve(t.Context(), &w.d, w.to); err != unix.ENETUNREACH {
			t.Errorf("without a route: %v", err)
		}
		a.IP("route", "add", tc.net, "via", tc.gw, "mtu", "1400")
		p := w.awaitPath("a way through the gateway", func(p *Path) bool { return true })
		if p.NextHop.String() != tc.gw || p.DstMAC != gw.mac("eth9") || p.MTU != 1400 {
			t.Errorf("%v", p)
		}
		deliver(t, a, "eth9", p, c, w.to)

		// Destinations behind the same gateway share its entry.
		before := w.d.entry.Load()
		for i := range 10 {
			x := netip.MustParsePrefix(tc.net).Addr().Next()
			for range i {
				x = x.Next()
			}
			o := newWay(t, tab, "", x.String())
			if q := o.resolve(); o.d.entry.Load() != before || q != p {
				t.Errorf("%v has an entry of its own", x)
			}
		}

		a.IP("neigh", "add", tc.other, "lladdr", "02:00:00:00:00:03", "dev", "eth9", "nud", "permanent")
		a.IP("route", "replace", tc.net, "via", tc.other)
		p = w.awaitPath("a way through the other gateway", func(p *Path) bool { return p.NextHop.String() == tc.other })
		if p.DstMAC != (frame.MAC{2, 0, 0, 0, 0, 3}) || p.MTU != 1500 {
			t.Errorf("%v", p)
		}
		if s := a.IP("neigh", "show", tc.other, "dev", "eth9"); !strings.Contains(s, "PERMANENT") {
			t.Errorf("the permanent neighbour has changed: %s", s)
		}
		a.IP("route", "del", tc.net)
		w.awaitNone(unix.ENETUNREACH)
	}
}

// TestRule: a routing rule changes the path.
func TestRule(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	a.IP("neigh", "add", "10.99.0.3", "lladdr", "02:00:00:00:00:03", "dev", "eth9", "nud", "permanent")
	a.IP("route", "add", "10.98.0.0/16", "via", "10.99.0.2")
	a.IP("route", "add", "10.98.0.0/16", "via", "10.99.0.3", "table", "77")
	w := newWay(t, a.table(), "10.99.0.1", "10.98.7.7")
	if p := w.resolve(); p.DstMAC != b.mac("eth9") {
		t.Errorf("%v", p)
	}
	a.IP("rule", "add", "from", "10.99.0.1", "to", "10.98.0.0/16", "lookup", "77")
	w.awaitPath("the rule's way", func(p *Path) bool { return p.DstMAC == frame.MAC{2, 0, 0, 0, 0, 3} })
}

// TestNexthop changes the gateway of routes by the nexthop object that they share. The kernel reports only the
// object.
func TestNexthop(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	a.Set("net/ipv4/nexthop_compat_mode", "0") // this setting is for IPv6, too
	tab := a.table()
	for n, tc := range []struct{ dest, net, gw, other string }{
		{"10.98.0.1", "10.98.0.0/16", "10.99.0.2", "10.99.0.3"},
		{"fd98::1", "fd98::/64", "fd99::2", "fd99::3"},
	} {
		id := strconv.Itoa(n + 1)
		a.IP("neigh", "add", tc.other, "lladdr", "02:00:00:00:00:03", "dev", "eth9", "nud", "permanent")
		a.IP("nexthop", "add", "id", id, "via", tc.gw, "dev", "eth9")
		a.IP("route", "add", tc.net, "nhid", id)
		w := newWay(t, tab, "", tc.dest)
		w.awaitPath("a way through the gateway", func(p *Path) bool { return p.DstMAC == b.mac("eth9") })
		a.IP("nexthop", "replace", "id", id, "via", tc.other, "dev", "eth9")
		w.awaitPath("a way through the other gateway",
			func(p *Path) bool { return p.DstMAC == frame.MAC{2, 0, 0, 0, 0, 3} })
		a.IP("nexthop", "del", "id", id)
		w.awaitNone(unix.ENETUNREACH)
	}
}

// TestEncap has routes whose packets the kernel encapsulates. They have no path, because a packet sent without
// encapsulation would bypass that.
func TestEncap(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	tab := a.table()
	for _, tc := range []struct{ dest, net, gw string }{{"10.98.0.1", "10.98.0.0/16", "10.99.0.2"},
		{"fd98::1", "fd98::/64", "fd99::2"}} {
		a.IP("route", "add", tc.net, "via", tc.gw)
		w := newWay(t, tab, "", tc.dest)
		w.awaitPath("a way through the gateway", func(p *Path) bool { return p.DstMAC == b.mac("eth9") })
		if out, err := a.Command("ip", "route", "replace", tc.net, "encap", "seg6", "mode", "encap", "segs", "fd99::2",
			"via", tc.gw, "dev", "eth9").CombinedOutput(); err != nil {
			need.Missing(t, "the kernel lacks CONFIG_IPV6_SEG6_LWTUNNEL: %v: %s", err, out)
		}
		w.awaitNone(ErrEncap)
		a.IP("route", "replace", tc.net, "via", tc.gw)
		w.awaitPath("the way again", func(p *Path) bool { return p.DstMAC == b.mac("eth9") })
	}
}

// TestGroups has destinations that are not neighbours: groups and broadcast.
func TestGroups(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	tab := a.table()
	index := a.link("eth9").Attrs().Index
	for _, tc := range []struct {
		to   string
		cast frame.Cast
		mac  frame.MAC
	}{
		{"239.129.2.3", frame.Multicast, frame.MAC{1, 0, 0x5e, 1, 2, 3}},
		{"255.255.255.255", frame.Broadcast, broadcastMAC},
		{"10.99.0.255", frame.Broadcast, broadcastMAC},
		{"ff15::42:1234", frame.Multicast, frame.MAC{0x33, 0x33, 0, 0x42, 0x12, 0x34}},
		{"ff02::1%eth9", frame.Multicast, frame.MAC{0x33, 0x33, 0, 0, 0, 1}},
	} {
		src := netip.MustParseAddr("10.99.0.1")
		if strings.Contains(tc.to, "::") {
			src = netip.MustParseAddr("fd99::1")
		}
		if tc.to == "255.255.255.255" {
			a.IP("route", "add", "default", "via", "10.99.0.2")
		}
		w := &way{t: t, v: tab.View(src, index), to: netip.MustParseAddr(tc.to)}
		if p := w.resolve(); p.Cast != tc.cast || p.DstMAC != tc.mac || p.Link != index || p.Src != src ||
			p.SrcMAC != a.mac("eth9") {
			t.Errorf("%s: %+v", tc.to, p)
		}
		b.IP("link", "set", "eth9", "down")
		w.awaitNone(ErrDown)
		b.IP("link", "set", "eth9", "up")
		w.awaitPath("the way again", func(p *Path) bool { return p.DstMAC == tc.mac })
	}
}

// TestNowhere has destinations without a route, and sources that are not addresses of the host.
func TestNowhere(t *testing.T) {
	t.Parallel()
	a, _ := pair(t)
	a.IP("route", "add", "blackhole", "10.97.0.0/16")
	a.IP("route", "add", "prohibit", "10.96.0.0/16")
	a.IP("route", "add", "unreachable", "10.95.0.0/16")
	tab := a.table()
	for _, tc := range []struct {
		src, to string
		want    error
	}{
		{"", "10.99.0.1", ErrLocal}, {"", "127.0.0.1", ErrLocal}, {"127.0.0.1", "127.0.0.9", ErrLocal},
		{"", "fd99::1", ErrLocal}, {"", "::1", ErrLocal},
		{"10.99.0.77", "10.99.0.2", ErrAddress}, {"fd99::77", "fd99::2", ErrAddress},
		{"10.99.0.1", "fd99::2", ErrAddress},
		{"", "0.0.0.0", ErrAddress}, {"", "::", ErrAddress},
		{"", "10.98.0.1", unix.ENETUNREACH}, {"", "fd98::1", unix.ENETUNREACH}, {"", "10.97.0.1", unix.EINVAL},
		{"", "10.96.0.1", unix.EACCES},
		{"", "10.95.0.1", unix.EHOSTUNREACH},
	} {
		w := newWay(t, tab, tc.src, tc.to)
		if p, err := w.v.Resolve(t.Context(), &w.d, w.to); err != tc.want {
			t.Errorf("from %q to %s: %v, %v; want %v", tc.src, tc.to, p, err, tc.want)
		}
	}
	w := &way{t: t, v: tab.View(netip.Addr{}, 0)}
	if _, err := w.v.Resolve(t.Context(), &w.d, w.to); err != ErrAddress {
		t.Errorf("no destination at all: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	w = newWay(t, tab, "", "10.99.0.66")
	if _, err := w.v.Resolve(ctx, &w.d, w.to); err == nil || err.Error() != "enough" {
		t.Errorf("%v, want the context's end", err)
	}
}
