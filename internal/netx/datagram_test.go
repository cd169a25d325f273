package netx

import (
	"bytes"
	"net/netip"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"gofabric/test/need"
)

var loopback6 = netip.MustParseAddr("::1")

// datagramSocket returns a socket bound to any port of addr, and its address for a socket of the same family.
func datagramSocket(t testing.TB, addr netip.Addr) (FD, netip.AddrPort, *SockAddr) {
	t.Helper()
	fd, err := DatagramSocket(Family(addr))
	must(t, err)
	closeLater(t, fd)
	must(t, Bind(fd, netip.AddrPortFrom(addr, 0)))
	ap, err := LocalAddr(fd)
	must(t, err)
	var sa SockAddr
	scope, err := ZoneIndex(addr.Zone())
	must(t, err)
	must(t, sa.Set(ap, Family(addr), scope))
	return fd, ap, &sa
}

func TestSockAddr(t *testing.T) {
	for _, c := range []struct {
		in     string
		family int
		want   string
	}{
		{"127.0.0.1:7471", syscall.AF_INET, "127.0.0.1:7471"},
		{"127.0.0.1:7471", syscall.AF_INET6, "127.0.0.1:7471"},
		{"[::ffff:10.1.2.3]:256", syscall.AF_INET, "10.1.2.3:256"},
		{"[::ffff:10.1.2.3]:256", syscall.AF_INET6, "10.1.2.3:256"},
		{"[fe80::1%eth0]:65535", syscall.AF_INET6, "[fe80::1]:65535"},
		{"[::1]:1", syscall.AF_INET, ""},
	} {
		var a SockAddr
		err := a.Set(netip.MustParseAddrPort(c.in), c.family, 3)
		if got, scope := a.AddrPort(); c.want == "" {
			if err != syscall.EAFNOSUPPORT || got.IsValid() {
				t.Errorf("%s: %v, %v", c.in, got, err)
			}
		} else if err != nil || got.String() != c.want || scope != 0 && scope != 3 {
			t.Errorf("%s: %v, scope %d, %v", c.in, got, scope, err)
		}
	}
	var a SockAddr
	if err := a.Set(netip.AddrPort{}, syscall.AF_INET6, 0); err != syscall.EAFNOSUPPORT {
		t.Errorf("no address: %v", err)
	}
}

func TestSockAddrRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ip, _ := netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "IPv6"))
		if rapid.Bool().Draw(t, "IPv4") {
			ip, _ = netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "IPv4 address"))
		}
		want := netip.AddrPortFrom(ip.Unmap(), rapid.Uint16().Draw(t, "port"))
		var a SockAddr
		if err := a.Set(want, syscall.AF_INET6, 7); err != nil {
			t.Fatal(err)
		}
		if got, _ := a.AddrPort(); got != want {
			t.Fatalf("%v became %v", want, got)
		}
	})
}

func TestSendToRecvFrom(t *testing.T) {
	for _, addr := range []netip.Addr{loopback4, loopback6} {
		t.Run(addr.String(), func(t *testing.T) { sendToRecvFrom(t, addr, RecvFrom) })
		t.Run("plain "+addr.String(), func(t *testing.T) { sendToRecvFrom(t, addr, RecvPlain) })
	}
}

func sendToRecvFrom(t *testing.T, addr netip.Addr, recv func(FD, *Datagram) syscall.Errno) {
	a, from, _ := datagramSocket(t, addr)
	b, _, to := datagramSocket(t, addr)
	d := Datagram{Buf: make([]byte, 100)}
	if err := recv(b, &d); err != syscall.EAGAIN {
		t.Errorf("nothing there: %v", err)
	}
	if err := recv(b, &Datagram{}); err != syscall.EINVAL {
		t.Errorf("no buffer: %v", err)
	}
	v := NewIOV(4)
	v.Append([]byte("two "))
	v.Append([]byte("parts"))
	for _, c := range []struct {
		send func() syscall.Errno
		want string
		cut  bool
	}{
		{func() syscall.Errno { return SendTo(a, to, []byte("one")) }, "one", false},
		{func() syscall.Errno { return SendTo(a, to, nil) }, "", false},
		{func() syscall.Errno { return SendToV(a, to, v, 0) }, "two parts", false},
		{func() syscall.Errno { return SendTo(a, to, bytes.Repeat([]byte{'x'}, 101)) },
			string(bytes.Repeat([]byte{'x'}, 100)), true},
		{func() syscall.Errno { return SendTo(a, to, bytes.Repeat([]byte{'x'}, 100)) },
			string(bytes.Repeat([]byte{'x'}, 100)), false},
	} {
		if err := c.send(); err != 0 {
			t.Fatal(err)
		}
		wait(t, b, In)
		if err := recv(b, &d); err != 0 {
			t.Fatal(err)
		}
		if got, _ := d.From.AddrPort(); got != from || string(d.Buf[:d.N]) != c.want || d.Truncated != c.cut ||
			d.Seg != 0 {
			t.Errorf("want %q, cut %v: %q from %v, cut %v, runs of %d", c.want, c.cut, d.Buf[:d.N], got,
				d.Truncated, d.Seg)
		}
	}
	if err := SendTo(a, to, make([]byte, 65536)); err != syscall.EMSGSIZE {
		t.Errorf("too long: %v", err)
	}
}

func TestRunOfDatagrams(t *testing.T) {
	a, _, _ := datagramSocket(t, loopback4)
	b, _, to := datagramSocket(t, loopback4)
	if err := ProbeGSO(a); err != nil {
		if !Batches {
			t.Skip("no UDP_SEGMENT:", err)
		}
		need.Missing(t, "no UDP_SEGMENT: %v", err)
	}
	v := NewIOV(4)
	v.Append(make([]byte, 700))
	v.Append(make([]byte, 2000))
	for _, gro := range []bool{false, true} {
		must(t, SetGRO(b, gro))
		if err := SendToV(a, to, v, 1000); err != 0 {
			t.Fatal(err)
		}
		d := Datagram{Buf: make([]byte, 65536)}
		want := []int{1000, 1000, 700}
		if gro {
			want = []int{2700}
		}
		for _, n := range want {
			wait(t, b, In)
			if err := RecvFrom(b, &d); err != 0 || d.N != n || (d.Seg == 1000) != gro {
				t.Errorf("GRO %v: %d bytes, runs of %d, %v; want %d", gro, d.N, d.Seg, err, n)
			}
		}
	}
	if err := SendToV(a, to, v, 1); err == 0 {
		t.Error("2700 datagrams in a run")
	}
}

func TestRecvBatch(t *testing.T) {
	a, from, _ := datagramSocket(t, loopback6)
	b, _, to := datagramSocket(t, loopback6)
	batch := NewBatch(4, 64)
	if _, err := RecvBatch(b, batch); err != syscall.EAGAIN {
		t.Fatal(err)
	}
	const count = 10
	for i := range count {
		if err := SendTo(a, to, bytes.Repeat([]byte{byte(i)}, 10*i)); err != 0 {
			t.Fatal(err)
		}
	}
	for i := 0; i < count; {
		wait(t, b, In)
		n, err := RecvBatch(b, batch)
		if err != 0 || n < 1 || n > 4 {
			t.Fatal(n, err)
		}
		for _, d := range batch.D[:n] {
			got, _ := d.From.AddrPort()
			if got != from || d.N != min(10*i, 64) || d.Truncated != (10*i > 64) ||
				!bytes.Equal(d.Buf[:d.N], bytes.Repeat([]byte{byte(i)}, d.N)) {
				t.Errorf("datagram %d: %d bytes from %v, cut %v", i, d.N, got, d.Truncated)
			}
			i++
		}
	}
}

func TestDatagramOptions(t *testing.T) {
	for _, addr := range []netip.Addr{loopback4, loopback6} {
		fd, ap, to := datagramSocket(t, addr)
		family := Family(addr)
		must(t, SetFragment(fd, family, false))
		must(t, SetFragment(fd, family, true))
		must(t, SetFragment(fd, family, false))
		snd, rcv, err := GrowBuffers(fd, 1<<20, 1<<20)
		if err != nil || snd < 64<<10 || rcv < 64<<10 {
			t.Errorf("buffers %d, %d, %v", snd, rcv, err)
		}
		if n, err := Drops(fd); err != syscall.ENOTSUP && (err != nil || n != 0) {
			t.Errorf("%d drops, %v", n, err)
		}
		other, err := DatagramSocket(family)
		must(t, err)
		closeLater(t, other)
		must(t, Connect(other, ap))
		if n, err := PathMTU(other, family); err != nil || n < 1280 {
			t.Errorf("path MTU %d, %v", n, err)
		}
		if err := SendTo(fd, to, []byte("x")); err != 0 {
			t.Error(err)
		}
	}
	if _, err := Drops(NoFD); err == nil {
		t.Error("drops of no descriptor")
	}
}

// TestMulticast sends to groups that do not leave the host.
func TestMulticast(t *testing.T) {
	ifs, err := Interfaces()
	must(t, err)
	t.Run("IPv4", func(t *testing.T) { multicast(t, netip.MustParseAddr("239.77.1.2"), loopback4, 0) })
	for _, i := range ifs {
		if i.Addr.Is6() && i.Addr.IsLinkLocalUnicast() { // loopback has no multicast route
			t.Run("IPv6", func(t *testing.T) { multicast(t, netip.MustParseAddr("ff01::4d:102"), i.Addr, i.Index) })
			return
		}
	}
	t.Log("no interface with IPv6 multicast")
}

func multicast(t *testing.T, group, iface netip.Addr, index int) {
	family := Family(group)
	in, err := DatagramSocket(family)
	must(t, err)
	closeLater(t, in)
	anywhere := netip.IPv4Unspecified()
	if group.Is6() {
		anywhere = netip.IPv6Unspecified()
	}
	must(t, Bind(in, netip.AddrPortFrom(anywhere, 0)))
	ap, err := LocalAddr(in)
	must(t, err)
	must(t, Join(in, group, iface, index))
	out, _, _ := datagramSocket(t, iface)
	must(t, SetMulticast(out, family, iface, index, 1, true))
	var to SockAddr
	must(t, to.Set(netip.AddrPortFrom(group, ap.Port()), family, uint32(index)))
	if errno := SendTo(out, &to, []byte("all")); errno != 0 {
		t.Fatal(errno)
	}
	wait(t, in, In)
	d := Datagram{Buf: make([]byte, 16)}
	if errno := RecvFrom(in, &d); errno != 0 || string(d.Buf[:d.N]) != "all" {
		t.Errorf("%q, %v", d.Buf[:d.N], errno)
	}
	must(t, Leave(in, group, iface, index))
	if err := Leave(in, group, iface, index); err == nil {
		t.Error("left twice")
	}
	if err := Join(in, iface, iface, index); err != syscall.EINVAL {
		t.Errorf("joined no group: %v", err)
	}
}
