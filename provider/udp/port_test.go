package udp

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"gofabric/core"
	"gofabric/internal/netx"
)

// variants are the ways in which datagrams pass to and from the system.
var variants = map[string][]string{
	"batches": {"LINK", "batch"}, "plain": {"LINK", "plain"}, "lists": {"GSO", "0", "GRO", "0"}, "GSO": {"GRO", "0"}, "GRO": {"GSO", "0"},
}

// each runs f over IPv4 and IPv6 with all variants.
func each(t *testing.T, f func(t *testing.T, d *domain, at netip.Addr)) {
	for name, v := range variants {
		for _, at := range []netip.Addr{loopback4, loopback6} {
			t.Run(fmt.Sprintf("%s/%s", name, at), func(t *testing.T) { f(t, testDomain(t, v...), at) })
		}
	}
}

func TestOneDatagram(t *testing.T) {
	each(t, func(t *testing.T, d *domain, at netip.Addr) {
		a, _ := testPort(t, d, at)
		b, in := testPort(t, d, at)
		large := bytes.Repeat([]byte("0123456789"), 150)
		for _, c := range []struct {
			parts [][]byte
			seg   int
		}{
			{[][]byte{[]byte("hello")}, 0},
			{[][]byte{[]byte("hel"), nil, []byte("lo")}, 0},
			{nil, 0},
			{[][]byte{nil}, 0},
			{[][]byte{large[:700], large[700:]}, 0},
			{[][]byte{[]byte("short")}, 100},
			{[][]byte{[]byte("just"), []byte("fits")}, 8},
		} {
			want := string(bytes.Join(c.parts, nil))
			in.got = nil
			must(t, a.send(b.Local(), c.seg, c.parts...))
			d.until(t, "a datagram arrives", func() bool { return len(in.got) > 0 })
			if len(in.got) != 1 || in.got[0].data != want || in.got[0].from != a.Local() {
				t.Errorf("sent %q from %v; received %v", want, a.Local(), in.got)
			}
		}
		if in.drained == 0 || in.runs != 0 {
			t.Errorf("drained %d times, %d runs", in.drained, in.runs)
		}
		sent, got := a.counts(), b.counts()
		if sent.SentDatagrams != 7 || got.ReceivedDatagrams != 7 || sent.SentBytes != got.ReceivedBytes ||
			sent.SentBytes == 0 || sent.SendErrors != 0 {
			t.Errorf("sender %+v, receiver %+v", sent, got)
		}
	})
}

func TestRuns(t *testing.T) {
	each(t, func(t *testing.T, d *domain, at netip.Addr) {
		a, _ := testPort(t, d, at)
		b, in := testPort(t, d, at)
		for _, c := range []struct{ total, seg, cut int }{{3000, 1000, 500}, {2999, 1000, 999}, {1001, 1000, 1001}, {64, 1, 7}, {63 * 1024, 1024, 1500}, {65000, 1400, 4096}} {
			data := make([]byte, c.total)
			for i := range data {
				data[i] = byte(i / c.seg)
			}
			var parts [][]byte
			for at := 0; at < len(data); at += c.cut {
				parts = append(parts, data[at:min(at+c.cut, len(data))])
			}
			in.got = nil
			want := (c.total + c.seg - 1) / c.seg
			must(t, a.send(b.Local(), c.seg, parts...))
			d.until(t, "the whole run arrives", func() bool { return len(in.got) >= want })
			var all []byte
			for i, g := range in.got {
				if all = append(all, g.data...); len(g.data) != c.seg && i != want-1 {
					t.Errorf("%v: datagram %d has %d bytes", c, i, len(g.data))
				}
			}
			if len(in.got) != want || !bytes.Equal(all, data) {
				t.Errorf("%v: %d datagrams, %d bytes", c, len(in.got), len(all))
			}
		}
		if a.gsoOff != nil || a.counts().SendErrors != 0 {
			t.Errorf("%v: %+v", a, a.counts())
		}
		if (in.runs > 0) != (b.batch() != nil && b.batch().gro && a.segments > 1) {
			t.Errorf("%d runs at %v", in.runs, b)
		}
	})
}

func TestSendRefuses(t *testing.T) {
	d := testDomain(t)
	a, _ := testPort(t, d, loopback4)
	b, _ := testPort(t, d, loopback4)
	long := make([]byte, netx.MaxDatagram+1)
	for name, c := range map[string]struct {
		dest netip.AddrPort
		size int
		seg  int
		want error
	}{
		"too long":          {b.Local(), len(long), 0, core.ErrMsgSize},
		"too long a run":    {b.Local(), len(long), 1400, core.ErrMsgSize},
		"too many segments": {b.Local(), 1000, 1, core.ErrMsgSize},
		"negative segment":  {b.Local(), 10, -1, core.ErrMsgSize},
		"no address":        {netip.AddrPort{}, 10, 0, core.ErrInval},
		"IPv6 from IPv4":    {netip.AddrPortFrom(loopback6, 5), 10, 0, nil},
		"port 0":            {netip.AddrPortFrom(loopback4, 0), 10, 0, nil},
		"no such zone":      {netip.MustParseAddrPort("[fe80::1%none]:5"), 10, 0, nil},
	} {
		if name == "too many segments" && a.segments == 1 {
			continue // they are sent one by one, however many there are
		}
		before := a.counts()
		err := a.send(c.dest, c.seg, long[:c.size])
		if err == nil || err == core.ErrAgain || c.want != nil && err != c.want && name != "no address" {
			t.Errorf("%s: %v", name, err)
		}
		if after := a.counts(); after.SendErrors == before.SendErrors || after.SentDatagrams != before.SentDatagrams {
			t.Errorf("%s: counted %+v", name, after)
		}
	}
	must(t, a.send(b.Local(), 0, []byte("still works")))
}

// TestLargest sends datagrams of the length that MaxDatagram returns.
func TestLargest(t *testing.T) {
	each(t, func(t *testing.T, d *domain, at netip.Addr) {
		a, _ := testPort(t, d, at)
		b, in := testPort(t, d, at)
		d.prog.Lock()
		n := a.MaxDatagram(b.Local())
		d.prog.Unlock()
		if n < 65487 {
			t.Fatalf("MaxDatagram on loopback is %d", n)
		}
		for _, size := range []int{n - 1, n} {
			in.got = nil
			must(t, a.send(b.Local(), 0, make([]byte, size)))
			d.until(t, "a long datagram", func() bool { return len(in.got) > 0 })
			if len(in.got[0].data) != size {
				t.Errorf("%d bytes of %d", len(in.got[0].data), size)
			}
		}
		if n < netx.MaxDatagram {
			if err := a.send(b.Local(), 0, make([]byte, n+1)); err != core.ErrMsgSize {
				t.Errorf("one byte more: %v", err)
			}
		}
	})
}

// TestOverflow sends more than the receive buffer holds.
func TestOverflow(t *testing.T) {
	d := testDomain(t, "RECV_BUFFER", "8192", "GSO", "0")
	a, _ := testPort(t, d, loopback4)
	other := testDomain(t, "RECV_BUFFER", "8192")
	b, in := testPort(t, other, loopback4)
	if _, err := netx.Drops(b.main.fd); err != nil {
		notHere(t, "the system does not report the datagrams that it dropped:", err)
	}
	const n = 200
	other.prog.Lock() // no pass receives
	for range n {
		must(t, a.send(b.Local(), 0, make([]byte, 1000)))
	}
	lost := b.Stats().Overflows
	other.prog.Unlock()
	if lost == 0 || lost >= n {
		t.Fatalf("%d of %d lost", lost, n)
	}
	other.until(t, "the datagrams that were not dropped arrive", func() bool { return len(in.got) >= n-int(lost) })
	if s := b.counts(); s.ReceivedDatagrams+s.Overflows != n || s.Overflows != lost {
		t.Errorf("%+v", s)
	}
}

func TestTruncated(t *testing.T) {
	d := testDomain(t)
	d.in[0].Buf = d.in[0].Buf[:100]
	a, _ := testPort(t, d, loopback4)
	b, in := testPort(t, d, loopback4)
	must(t, a.send(b.Local(), 0, make([]byte, 101)))
	must(t, a.send(b.Local(), 0, make([]byte, 100)))
	d.until(t, "a datagram that fits", func() bool { return len(in.got) > 0 })
	if s := b.counts(); s.Truncated != 1 || s.ReceivedDatagrams != 1 || len(in.got[0].data) != 100 {
		t.Errorf("%+v, %d bytes", s, len(in.got[0].data))
	}
}

// TestPortUnreachable: the errors that a closed port causes do no harm.
func TestPortUnreachable(t *testing.T) {
	d := testDomain(t)
	a, in := testPort(t, d, loopback4)
	b, _ := testPort(t, d, loopback4)
	gone := b.Local()
	d.prog.Lock()
	must(t, b.Close())
	if err := b.Send(a.Local(), nil, 0); err != core.ErrOpBadState {
		t.Errorf("Send on a closed port: %v", err)
	}
	if err := b.Close(); err != core.ErrOpBadState {
		t.Errorf("Close again: %v", err)
	}
	b.Poll()
	b.Stats()
	d.prog.Unlock()
	for range 5 {
		must(t, a.send(gone, 0, []byte("anybody?")))
	}
	must(t, a.send(a.Local(), 0, []byte("me")))
	d.until(t, "a datagram arrives", func() bool { return len(in.got) > 0 })
	if in.err != nil || len(in.got) != 1 || in.got[0].data != "me" {
		t.Errorf("%v, %v", in.err, in.got)
	}
}

// TestMapped: a port at any address serves both families, and IPv4 peers have IPv4 addresses.
func TestMapped(t *testing.T) {
	d := testDomain(t)
	a, _ := testPort(t, d, loopback4)
	b, in := testPort(t, d, netip.IPv6Unspecified())
	must(t, a.send(netip.AddrPortFrom(loopback4, b.Local().Port()), 0, []byte("four")))
	d.until(t, "a datagram over IPv4", func() bool { return len(in.got) > 0 })
	if in.got[0].from != a.Local() {
		t.Errorf("from %v, want %v", in.got[0].from, a.Local())
	}
	must(t, b.send(netip.AddrPortFrom(netip.AddrFrom16(loopback4.As16()), a.Local().Port()), 0, []byte("back")))
}

// TestReceiverCloses: a receiver may close its port, or poll, inside its callback.
func TestReceiverCloses(t *testing.T) {
	d := testDomain(t)
	a, _ := testPort(t, d, loopback4)
	b, in := testPort(t, d, loopback4)
	in.hook = func(netip.AddrPort, []byte) {
		b.Poll()
		must(t, b.Close())
	}
	d.prog.Lock()
	for range 3 {
		must(t, a.Send(b.Local(), [][]byte{[]byte("x")}, 0))
	}
	d.prog.Unlock()
	d.until(t, "a datagram arrives", func() bool { return len(in.got) > 0 })
	if len(in.got) != 1 || in.drained != 0 {
		t.Errorf("%d datagrams after Close, drained %d", len(in.got), in.drained)
	}
}

// TestUnasked: the engine's goroutine receives when no caller makes passes.
func TestUnasked(t *testing.T) {
	d := testDomain(t)
	a, _ := testPort(t, d, loopback4)
	b, in := testPort(t, d, loopback4)
	came := make(chan struct{}, 1)
	in.hook = func(netip.AddrPort, []byte) { came <- struct{}{} }
	must(t, a.send(b.Local(), 0, []byte("x")))
	<-came
}

func TestOpenPortErrors(t *testing.T) {
	d := testDomain(t)
	a, in := testPort(t, d, loopback4)
	for name, c := range map[string]struct {
		at   core.Addr
		want error
	}{
		"taken":   {core.IPAddr(a.Local()), core.ErrAddrInUse},
		"foreign": {core.IPAddr(netip.MustParseAddrPort("203.0.113.77:0")), core.ErrAddrNotAvail},
		"text":    {core.Addr{Format: core.FormatStr, Str: "x"}, core.ErrInval},
	} {
		info := d.info.Dup()
		info.SrcAddr = c.at
		p, err := d.OpenPort(info, in)
		var op *core.OpError
		if p != nil || !errors.Is(err, c.want) || !errors.As(err, &op) || op.Hint == "" {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	if _, err := d.OpenPort(nil, in); !errors.Is(err, core.ErrInval) {
		t.Error(err)
	}
	if err := d.Close(); !errors.Is(err, core.ErrBusy) {
		t.Errorf("closing a domain with a port: %v", err)
	}
}
