//go:build linux

package xdp

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
	"gofabric/test/need"
)

// TestPacketSocket: packets from the packet socket reach ports and sockets like others. While the interface is down,
// sending fails.
func TestPacketSocket(t *testing.T) {
	for _, mode := range []Mode{Driver, Generic} {
		a, b := places(t, 1, 1500)
		at, from := netip.AddrPortFrom(b.v4, 7000), netip.AddrPortFrom(a.v4, 7001)
		_, p := openPort(t, a, Config{Mode: mode}, from)
		_, q := openPort(t, b, Config{Mode: mode}, at)
		if !p.HasPacketSocket() {
			t.Fatalf("%v mode: no packet socket", mode)
		}
		send := func(to netip.AddrPort, text string) unix.Errno {
			return p.SendPacket(packet(t, a, b, from, to, []byte(text)))
		}
		for n := range 3000 { // more than there are chunks for transmitting: packets use none
			text := fmt.Sprint("packet ", n)
			if errno := send(at, text); errno != 0 {
				t.Fatal(errno)
			}
			if got := payloadOf(t, take(t, q, 1)[0]); string(got) != text {
				t.Fatalf("%q, want %q", got, text)
			}
		}
		plain := listen(t, b, netip.AddrPortFrom(b.v4, 7002))
		if errno := send(netip.AddrPortFrom(b.v4, 7002), "stack"); errno != 0 {
			t.Fatal(errno)
		}
		buf := make([]byte, 100)
		must(t, plain.SetReadDeadline(time.Now().Add(patience)))
		if n, who, err := plain.ReadFromUDPAddrPort(buf); err != nil || string(buf[:n]) != "stack" || who != from {
			t.Errorf("%q from %v: %v", buf[:n], who, err)
		}
		here := listen(t, a, netip.AddrPortFrom(a.v4, 7003))
		if _, err := plain.WriteToUDPAddrPort([]byte("back"), netip.AddrPortFrom(a.v4, 7003)); err != nil {
			t.Fatal(err)
		}
		must(t, here.SetReadDeadline(time.Now().Add(patience)))
		if _, _, err := here.ReadFromUDPAddrPort(buf); err != nil {
			t.Fatal(err)
		}
		if n, errno := netx.Recv(p.i.packets.fd, buf); errno != unix.EAGAIN {
			t.Errorf("the packet socket receives %d bytes, %v", n, errno)
		}
		a.IP("link", "set", "eth9", "down")
		if errno := send(at, "down"); errno != unix.ENETDOWN {
			t.Errorf("while the interface is down: %v", errno)
		}
		a.IP("link", "set", "eth9", "up")
		until(t, "the interface", func() bool { return send(at, "up") == 0 })
		if got := payloadOf(t, take(t, q, 1)[0]); string(got) != "up" {
			t.Errorf("%q", got)
		}
	}
}

// TestNoPacketSocket: there is no packet socket if it is switched off, or if packets could overtake each other
// because there are several queues.
func TestNoPacketSocket(t *testing.T) {
	a, b := places(t, 1, 1500)
	c, _ := places(t, 2, 1500)
	d, _ := places(t, 2, 1500)
	need.Programs(t, "ethtool", "ethtool")
	if out, err := d.Command("ethtool", "-L", "eth9", "rx", "1", "tx", "2").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, w := range []struct {
		h   *place
		c   Config
		why string // reason why there is none
	}{
		{a, Config{Mode: Generic, NoPacketSocket: true}, "switched off"},
		{b, Config{Mode: Generic}, ""},
		{c, Config{Mode: Driver, Queues: 1}, "the interface has 2 queues"},
		{d, Config{Mode: Generic}, "the interface has 2 queues"}, // only one of them receives
	} {
		w.h.Enter()
		before, err := Inspect("eth9", w.c)
		must(t, err)
		i, p := openPort(t, w.h, w.c, netip.AddrPortFrom(w.h.v4, 7001))
		after, err := Inspect("eth9", Config{Mode: Auto}) // the interface is open, so its settings are fixed
		must(t, err)
		if p.HasPacketSocket() != (w.why == "") {
			t.Errorf("has a packet socket: %v; expected reason against it: %q", p.HasPacketSocket(), w.why)
		}
		for _, got := range []Usage{before, after, i.Usage()} {
			if says := got.PacketSocket; (says == nil) != p.HasPacketSocket() || says != nil &&
				!strings.Contains(says.Error(), w.why) || got.Mode != w.c.Mode {
				t.Errorf("%+v, want %q", got, w.why)
			}
		}
		if before.Open || !after.Open {
			t.Errorf("open: %v, then %v", before.Open, after.Open)
		}
	}
}

// TestPacketSocketOrder: packets of the packet socket bypass the interface's queueing discipline, as packets in the
// ring do. So the two keep their order.
func TestPacketSocketOrder(t *testing.T) {
	need.Programs(t, "iproute2", "tc")
	a, b := places(t, 1, 1500)
	at, from := netip.AddrPortFrom(b.v4, 7000), netip.AddrPortFrom(a.v4, 7001)
	_, p := openPort(t, a, Config{Mode: Generic}, from)
	plain, in := listen(t, a, netip.AddrPortFrom(a.v4, 7002)), listen(t, b, at)
	if out, err := a.Command("tc", "qdisc", "replace", "dev", "eth9", "root",
		"blackhole").CombinedOutput(); err != nil {
		need.Missing(t, "no queueing discipline that drops all packets: %v: %s", err, out)
	}
	_, err := plain.WriteToUDPAddrPort([]byte("dropped"), at)
	must(t, err)
	if errno := p.SendPacket(packet(t, a, b, from, at, []byte("single"))); errno != 0 {
		t.Fatal(errno)
	}
	put(t, p, packet(t, a, b, from, at, []byte("ring")))
	buf := make([]byte, 100)
	for _, want := range []string{"single", "ring"} {
		if n, _, err := in.ReadFromUDPAddrPort(buf); err != nil || string(buf[:n]) != want {
			t.Fatalf("%q, %v; want %q", buf[:n], err, want)
		}
	}
}
