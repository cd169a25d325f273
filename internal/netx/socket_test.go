package netx

import (
	"net/netip"
	"syscall"
	"testing"
	"time"
)

func TestConnectAccept(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "::1"} {
		l, ap := listener(t, netip.MustParseAddr(addr))
		if _, _, err := Accept(l); err != syscall.EAGAIN {
			t.Fatalf("Accept without a connection: %v, want EAGAIN", err)
		}
		c, err := StreamSocket(Family(ap.Addr()))
		must(t, err)
		closeLater(t, c)
		if _, err := PeerAddr(c); err != syscall.ENOTCONN {
			t.Fatalf("PeerAddr of an unconnected socket: %v, want ENOTCONN", err)
		}
		if err := Connect(c, ap); err != nil && err != syscall.EINPROGRESS {
			t.Fatal(err)
		}
		wait(t, l, In)
		s, from, err := Accept(l)
		must(t, err)
		closeLater(t, s)
		local, err := LocalAddr(c)
		must(t, err)
		peer, err := PeerAddr(c)
		must(t, err)
		if from != local || peer != ap {
			t.Fatalf("client %v sees %v, server %v sees %v", local, peer, ap, from)
		}
	}
}

func TestConnectRefused(t *testing.T) {
	// A bound socket that does not listen keeps its port and refuses connections.
	l, err := StreamSocket(syscall.AF_INET)
	must(t, err)
	closeLater(t, l)
	must(t, Bind(l, netip.AddrPortFrom(loopback4, 0)))
	ap, err := LocalAddr(l)
	must(t, err)
	c, err := StreamSocket(syscall.AF_INET)
	must(t, err)
	closeLater(t, c)
	err = Connect(c, ap)
	if err == syscall.EINPROGRESS {
		wait(t, c, Out)
		err = SocketError(c)
	}
	if err != syscall.ECONNREFUSED {
		t.Fatalf("connect: %v, want ECONNREFUSED", err)
	}
}

func TestBadAddresses(t *testing.T) {
	s, err := StreamSocket(syscall.AF_INET6)
	must(t, err)
	closeLater(t, s)
	if err := Bind(s, netip.AddrPort{}); err != syscall.EAFNOSUPPORT {
		t.Errorf("Bind to no address: %v", err)
	}
	if err := Connect(s, netip.MustParseAddrPort("[fe80::1%nosuchiface]:1")); err != syscall.ENODEV {
		t.Errorf("Connect over an unknown zone: %v", err)
	}
	if _, err := StreamSocket(-1); err == nil {
		t.Error("StreamSocket of no family succeeds")
	}
	l, ap := listener(t, loopback4)
	_ = l
	c, err := StreamSocket(syscall.AF_INET)
	must(t, err)
	closeLater(t, c)
	if err := Bind(c, ap); err != syscall.EADDRINUSE {
		t.Errorf("Bind to a port in use: %v, want EADDRINUSE", err)
	}
}

func TestZones(t *testing.T) {
	for _, c := range []struct {
		zone string
		want uint32
	}{{"", 0}, {"7", 7}, {"4294967295", 1<<32 - 1}} {
		if got, err := zoneIndex(c.zone); err != nil || got != c.want {
			t.Errorf("zoneIndex(%q) = %d, %v", c.zone, got, err)
		}
	}
	if _, err := zoneIndex("4294967296"); err == nil {
		t.Error("a zone beyond 32 bits is accepted")
	}
	list, err := Interfaces()
	must(t, err)
	for _, i := range list {
		if n, err := zoneIndex(i.Name); err != nil || n != uint32(i.Index) || zoneName(n) != i.Name {
			t.Errorf("zone %q: index %d, %v; want %d and back", i.Name, n, err, i.Index)
		}
	}
}

func TestOptions(t *testing.T) {
	c, _ := pair(t)
	if err := SetUserTimeout(c, 5*time.Second); err != nil && err != syscall.ENOTSUP {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"nodelay":   SetNoDelay(c, true),
		"keepalive": SetKeepAlive(c, 1500*time.Millisecond, time.Second, 3),
		"buffers":   SetBuffers(c, 64<<10, 64<<10),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, o := range []struct {
		name             string
		level, opt, want int
	}{
		{"TCP_NODELAY", syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1},
		{"SO_KEEPALIVE", syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
	} {
		got, err := getInt(c, o.level, o.opt)
		// Some systems return any non-zero value for "on".
		if err != nil || got != o.want && (o.want != 1 || got == 0) {
			t.Errorf("%s = %d, %v; want %d", o.name, got, err, o.want)
		}
	}
	if snd, rcv, err := Buffers(c); err != nil || snd < 64<<10 || rcv < 64<<10 {
		t.Errorf("Buffers = %d, %d, %v", snd, rcv, err)
	}
	must(t, SetKeepAlive(c, 0, 0, 0))
	if on, _ := getInt(c, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE); on != 0 {
		t.Error("keepalive cannot be switched off")
	}
	six, err := DatagramSocket(syscall.AF_INET6)
	must(t, err)
	closeLater(t, six)
	must(t, SetV6Only(six, true))
	if err := SetNoDelay(NoFD, true); err != syscall.EBADF {
		t.Errorf("an option of no descriptor: %v", err)
	}
}

func TestLingerZeroResets(t *testing.T) {
	c, s := openPair(t)
	defer Close(s)
	must(t, SetLinger(c, 0))
	must(t, Close(c))
	wait(t, s, In)
	if _, err := Recv(s, make([]byte, 1)); err != syscall.ECONNRESET {
		t.Fatalf("after a close with linger 0: %v, want ECONNRESET", err)
	}
}

func TestRoundUp(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want int
	}{{0, 0}, {-5, 0}, {1, 1}, {time.Millisecond, 1}, {time.Millisecond + 1, 2}, {1<<63 - 1, 1<<31 - 1}} {
		if got := roundUp(c.d, time.Millisecond); got != c.want {
			t.Errorf("roundUp(%d) = %d, want %d", c.d, got, c.want)
		}
	}
	if waitMillis(-1) != -1 || waitMillis(0) != 0 || waitMillis(1) != 1 {
		t.Error("waitMillis")
	}
}

func TestCanBind(t *testing.T) {
	list, err := Interfaces()
	must(t, err)
	for _, i := range list {
		if i.Addr.Is6() && !i.Addr.IsLoopback() {
			continue // it may be tentative, and is refused until then (RFC 4862)
		}
		if !CanBind(i.Addr) {
			t.Errorf("%v of %s is not taken for an address of this host", i.Addr, i.Name)
		}
	}
	for _, s := range []string{"198.51.100.9", "2001:db8::9", "fe80::1%nosuchiface"} { // RFC 5737, RFC 3849
		if CanBind(netip.MustParseAddr(s)) {
			t.Errorf("%s is reported as an address of this host", s)
		}
	}
	if CanBind(netip.Addr{}) {
		t.Error("no address is reported as one of this host")
	}
}
