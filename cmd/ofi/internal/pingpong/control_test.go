package pingpong

import (
	"bytes"
	"encoding/hex"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/wait"
)

// controls returns a control connection and the raw other end of it.
func controls(t *testing.T, timeout time.Duration) (*control, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c := newControl(t.Context(), a, timeout)
	t.Cleanup(func() { _ = c.close(); _ = b.Close() })
	return c, b
}

// TestControlBytes compares the bytes that a native client and server exchange on x86-64.
func TestControlBytes(t *testing.T) {
	c, raw := controls(t, 5*time.Second)
	say := func(s string) {
		if _, err := io.WriteString(raw, s); err != nil {
			t.Fatal(err)
		}
	}
	hear := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		_ = raw.SetReadDeadline(wait.End())
		if _, err := io.ReadFull(raw, got); err != nil || string(got) != want {
			t.Fatalf("received %q (%v), want %q", got, err, want)
		}
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	addr := core.IPAddr(netip.MustParseAddrPort("127.0.0.1:4660"))
	wire := "\x00\x00\x00\x10\x02\x00\x00\x00\x02\x00\x12\x34\x7f\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"
	ok(c.sendName(core.FormatSockaddrIn, addr))
	hear(wire)
	say(wire)
	format, got, err := c.recvName()
	ok(err)
	if format != core.FormatSockaddrIn || got != addr {
		t.Fatalf("got %v %v", format, got)
	}
	say("a\x00")
	ok(c.sync(true))
	hear("q\x00")
	say("q\x00")
	ok(c.sync(false))
	hear("a\x00")
	say("cnt ok\x00")
	_, err = c.exchangeCount(true, 10)
	ok(err)
	hear("10\x00\x00\x00\x00\x00\x00\x00\x00")
	say("1234567890")
	n, err := c.exchangeCount(false, 0)
	ok(err)
	if n != 1234567890 {
		t.Fatal(n)
	}
	hear("cnt ok\x00")
}

func TestControlRefusesNonsense(t *testing.T) {
	for _, tc := range []struct {
		name, say string
		do        func(*control) error
		want      string
	}{
		{"wrong answer", "x\x00", func(c *control) error { return c.sync(true) }, "at another step"},
		{"count", "12x\x00\x00\x00\x00\x00\x00\x00", func(c *control) error { _, err := c.exchangeCount(false, 0); return err }, "not a number"},
		{"negative count", "-1\x00\x00\x00\x00\x00\x00\x00\x00", func(c *control) error { _, err := c.exchangeCount(false, 0); return err }, "not a number"},
		{"huge name", "\xff\xff\xff\xff\x02\x00\x00\x00", func(c *control) error { _, _, err := c.recvName(); return err }, "more than 1024"},
		{"odd family", "\x00\x00\x00\x02\x02\x00\x00\x00\x63\x00", func(c *control) error { _, _, err := c.recvName(); return err }, "family"},
		{"silence", "", func(c *control) error { return c.sync(false) }, "no answer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, raw := controls(t, 50*time.Millisecond)
			if _, err := io.WriteString(raw, tc.say); err != nil {
				t.Fatal(err)
			}
			if err := tc.do(c); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestControlClosedByPeer(t *testing.T) {
	c, raw := controls(t, 5*time.Second)
	if c.peerClosed() {
		t.Fatal("the connection is reported closed before the peer closed it")
	}
	_ = raw.Close()
	err := c.expect("waiting", "a\x00")
	if err == nil || !strings.Contains(err.Error(), "closed the control connection") {
		t.Errorf("got %v", err)
	}
	if !c.peerClosed() {
		t.Error("the end of the connection was not noticed")
	}
}

func TestNames(t *testing.T) {
	for _, tc := range []struct {
		addr core.Addr
		hex  string
	}{
		{core.IPAddr(netip.MustParseAddrPort("10.1.2.3:258")), "020001020a0102030000000000000000"},
		{core.IPAddr(netip.MustParseAddrPort("[2001:db8::1]:258")), "0a0001020000000020010db800000000000000000000000100000000"},
		{core.Addr{Format: core.FormatStr, Str: "fi_x://1"}, "66695f783a2f2f3100"},
	} {
		b, err := encodeName(tc.addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(b); got != tc.hex {
			t.Errorf("%v: %s, want %s", tc.addr, got, tc.hex)
		}
		back, err := decodeName(tc.addr.Format, b)
		if err != nil || back != tc.addr {
			t.Errorf("%v came back as %v, %v", tc.addr, back, err)
		}
		for n := range b {
			if _, err := decodeName(tc.addr.Format, b[:n]); err == nil {
				t.Errorf("%v: %d of %d bytes were accepted", tc.addr, n, len(b))
			}
		}
	}
	if _, err := encodeName(core.Addr{}); err == nil {
		t.Error("the zero address was encoded")
	}
}

func FuzzDecodeName(f *testing.F) {
	f.Add(uint32(2), []byte("\x02\x00\x12\x34\x7f\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add(uint32(9), []byte("fi_x://1\x00"))
	f.Fuzz(func(t *testing.T, format uint32, b []byte) {
		a, err := decodeName(core.AddrFormat(format), b)
		if err != nil {
			return
		}
		again, err := encodeName(a)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := decodeName(a.Format, again); err != nil || back != a {
			t.Fatalf("%v came back as %v, %v", a, back, err)
		}
	})
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	_ = WriteHeader(&out)
	for _, r := range []Result{
		{Size: 64, Sent: 10, Acked: 10, Elapsed: 646 * time.Microsecond},
		{Size: 65536, Sent: 10, Acked: 10, Elapsed: 2228 * time.Microsecond},
		{Size: 1 << 20, Sent: 2500, Acked: 2499, Elapsed: 50150 * time.Microsecond},
		{Size: 1536, Sent: 1, Acked: 2, Elapsed: 0},
		{Size: 1536},
	} {
		_ = r.WriteRow(&out)
	}
	want := "" +
		"bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n" +
		"64      10      =10      1.2k        0.00s      1.98      32.30       0.03\n" +
		"64k     10      =10      1.2m        0.00s    588.29     111.40       0.01\n" +
		"1m      2k      +1       4.8g        0.05s 104543.97      10.03       0.10\n" +
		"1.5k    1       -1       3k          0.00s3072000.00       0.00    2000.00\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestPattern(t *testing.T) {
	var p, q pattern
	var buf [200]byte
	for n := range 150 {
		p.fill(buf[:n])
		if err := q.check(buf[:n]); err != nil {
			t.Fatal(err)
		}
		if n > 0 && buf[0] != alphabet[n*7%62] {
			t.Fatalf("message %d starts with %q", n, buf[0])
		}
	}
	p.fill(buf[:])
	buf[199]++
	if err := q.check(buf[:]); err == nil {
		t.Error("a changed byte went unnoticed")
	}
}

func TestSizes(t *testing.T) {
	for _, tc := range []struct {
		choice, limit int
		n, last       int
	}{
		{UnsetSize, maxDataSize, 6, 1 << 20},
		{UnsetSize, 4096, 4, 4096},
		{UnsetSize, 10, 0, 0},
		{AllSizes, maxDataSize, 46, maxDataSize},
		{AllSizes, 4, 5, 4},
		{100, 100, 1, 100},
		{100, 99, 0, 0},
	} {
		got := testSizes(tc.choice, tc.limit)
		if len(got) != tc.n || tc.n > 0 && got[tc.n-1] != tc.last {
			t.Errorf("choice %d, limit %d: %v", tc.choice, tc.limit, got)
		}
	}
}
