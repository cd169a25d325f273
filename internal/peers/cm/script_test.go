package cm

import (
	"net/netip"
	"strings"
	"testing"

	"gofabric/internal/mono"
)

// want checks the machine's actions since the last call.
func (b *bench) want(t *testing.T, what string) {
	t.Helper()
	if got := b.take(); got != what {
		t.Errorf("got %q, want %q", got, what)
	}
	b.check(t, what)
}

// tick advances to the next deadline, and returns the time until it.
func (b *bench) tick(t *testing.T) mono.Time {
	t.Helper()
	d := b.Deadline()
	if d == mono.None {
		t.Fatal("no deadline")
	}
	ago := d - b.now
	b.now = d
	b.Tick(d)
	return ago
}

// TestRefusedAgain: a peer refuses until this end gives up. The pauses grow up to a limit.
func TestRefusedAgain(t *testing.T) {
	b := newBench(Config{Patience: 2e9})
	c := b.call(b.Want(low, b.now), "c")
	b.want(t, "dial c")
	pauses := []mono.Time{4e6, 8e6, 16e6, 32e6, 64e6, 128e6, 200e6, 200e6}
	attempts := 1
	for began := b.now; b.now-began < 2e9; attempts++ {
		b.Refused(c, b.now)
		b.want(t, "-")
		if got, want := b.tick(t), pauses[min(attempts, len(pauses))-1]; got != want {
			t.Errorf("pause %d: %d ms, want %d", attempts, got/1e6, want/1e6)
		}
		b.want(t, "dial c")
	}
	b.Refused(c, b.now)
	b.want(t, "drop c rejected")
	if attempts > 20 || b.Len() > 0 || b.Deadline() != mono.None {
		t.Errorf("%d attempts, %d connections left, deadline %d", attempts, b.Len(), b.Deadline())
	}
}

// TestLastWords: the peer's last messages on the previous connection decide about its next request.
func TestLastWords(t *testing.T) {
	for _, w := range []struct {
		name string
		say  func(b *bench, c *Conn)
		want string
	}{
		{"nothing", func(*bench, *Conn) {}, "receive c, refuse r crossed"},
		{"bye", func(b *bench, c *Conn) { b.Bye(c, b.now) },
			"receive c, adopt next<-c, drop c, accept r, adopt r<-next, drop next"},
		{"stay", func(b *bench, c *Conn) { b.Stay(c, b.now) }, "receive c, return c<-next, refuse r crossed"},
		{"the end", func(b *bench, c *Conn) { b.Failed(c, true, b.now) },
			"receive c, adopt next<-c, drop c, accept r, adopt r<-next, drop next"},
	} {
		t.Run(w.name, func(t *testing.T) {
			b := newBench(Config{Patience: 15e9})
			c := b.up(high, 7, true)
			b.leave(c, b.now)
			b.take()
			b.wanted[c.peer.main] = true
			b.request("r", high, 7, 0)
			a, _ := b.Next() // the peer's messages arrive while it is executed
			if a.Kind != Receive || a.Conn != c {
				t.Fatalf("%v first, want receive", a.Kind)
			}
			b.said = append(b.said, "receive c")
			w.say(b, c)
			b.want(t, w.want)
		})
	}
}

// TestCloseBeforeRequest: the peer's close arrives before its next request, but is read later.
func TestCloseBeforeRequest(t *testing.T) {
	b := newBench(Config{Patience: 15e9})
	c := b.up(high, 7, true)
	b.request("r", high, 7, 0)
	b.Next()
	b.Failed(c, true, b.now)
	b.want(t, "drop c, accept r")
}

// TestFailedMeanwhile: connections fail before the machine's actions are executed.
func TestFailedMeanwhile(t *testing.T) {
	b := newBench(Config{Patience: 15e9})
	b.Failed(b.call(b.Want(high, b.now), "c"), false, b.now)
	b.want(t, "drop c") // no dial

	b.up(high, 7, true)
	r := b.request("r", high, 7, 0)
	b.Failed(r, false, b.now)
	b.want(t, "receive c, drop r") // no decision

	r = b.request("r", high, 8, 0)
	b.Next() // accept
	b.Failed(r, false, b.now)
	b.want(t, "adopt r<-c, drop c, drop r")
	if b.Len() != 0 {
		t.Errorf("%d connections left", b.Len())
	}
}

// TestIdle: a connection is closed when it has been idle for long enough, and not before.
func TestIdle(t *testing.T) {
	b := newBench(Config{Patience: 15e9, IdleTime: 400e6})
	c := b.up(high, 7, true)
	for range 10 {
		b.moved[c]++
		if d := b.tick(t); d != 100e6 {
			t.Errorf("looks after %d ms", d/1e6)
		}
		b.want(t, "-")
	}
	for range 3 {
		b.tick(t)
		b.want(t, "-")
	}
	b.busy[c] = true
	b.tick(t)
	b.want(t, "-")
	b.busy[c] = false
	b.tick(t)
	b.want(t, "leave c<-next")
	b.Stay(c, b.now)
	b.want(t, "return c<-next")
	for range 3 {
		b.tick(t)
		b.want(t, "-") // it is no longer the longest idle one
	}
	b.tick(t)
	b.want(t, "leave c<-next")
	b.Bye(c, b.now)
	b.want(t, "adopt next<-c, drop c, drop next")
	if b.tick(t); b.Len() != 0 || b.Deadline() != mono.None {
		t.Errorf("%d connections, deadline %d", b.Len(), b.Deadline())
	}
}

// TestMaxConns: the longest idle connection is closed when there are too many. Connections in use stay.
func TestMaxConns(t *testing.T) {
	b := newBench(Config{Patience: 15e9, MaxConns: 2, Aux: 1})
	var cs []*Conn
	for i, name := range []string{"one", "two", "three"} {
		c := b.call(b.Want(netip.AddrPortFrom(high.Addr(), uint16(10+i)), b.now), name)
		b.want(t, []string{"dial one", "dial two", "dial three, leave two<-next"}[i])
		b.Connected(c, 7, true, b.now)
		b.busy[c] = i == 0
		cs = append(cs, c)
		b.pass(1e6)
	}
	b.Bye(cs[1], b.now)
	b.want(t, "adopt next<-two, drop two, drop next")
	b.WantAux(cs[2], 1, b.now)
	b.want(t, "dial aux1")
	b.tick(t)
	b.want(t, "-") // it counts, but is not idle before it is up
	x := cs[2].peer.aux[0].conn
	b.Connected(x, 0, true, b.now)
	b.moved[x]++
	b.tick(t)
	b.want(t, "leave three<-next")
}

// TestNativeIdle: a connection to a native peer is left only when no request that was given up for it can be on its
// way.
func TestNativeIdle(t *testing.T) {
	b := newBench(Config{Patience: 15e9, IdleTime: 400e6, Aux: 1})
	b.up(high, 7, false)
	for began := b.now; b.now-began <= Crossing; {
		b.want(t, "-")
		b.tick(t)
	}
	b.want(t, "leave c<-next")

	b = newBench(Config{Patience: 15e9, Aux: 1})
	c := b.up(high, 7, false)
	b.pass(Crossing + 1)
	x := b.request("aux", high, 7, 1)
	b.take()
	b.Connected(x, 0, false, b.now)
	if b.idle(c, b.now) {
		t.Error("idle, although the peer may not know yet that its auxiliary connection was accepted")
	}
	if b.pass(Crossing + 1); !b.idle(c, b.now) {
		t.Error("not idle")
	}
}

// TestAuxAttempts: a peer refuses an auxiliary connection until no more requests are made.
func TestAuxAttempts(t *testing.T) {
	b := newBench(Config{Patience: 15e9, Aux: 2})
	c := b.up(low, 7, true)
	for i := range auxAttempts {
		b.WantAux(c, 2, b.now)
		b.want(t, "dial aux2")
		if c.AuxRefused(2) {
			t.Error("refused for good after", i)
		}
		b.Failed(c.peer.aux[1].conn, false, b.now)
		b.want(t, "drop aux2")
		b.pass(auxPause<<(i+1)).now--
		b.WantAux(c, 2, b.now)
		b.want(t, "-")
		b.pass(1)
	}
	b.WantAux(c, 2, b.now)
	b.want(t, "-")
	if !c.AuxRefused(2) || c.AuxRefused(1) {
		t.Error("which number is refused is not known")
	}
	b.WantAux(c, 3, b.now)
	b.want(t, "-")
	b.request("r", low, 7, 2) // the peer may accept later
	b.want(t, "accept r")
	b.Connected(c.peer.aux[1].conn, 0, true, b.now)
	if c.AuxRefused(2) {
		t.Error("refused, although it is up")
	}
}

// TestHidden: peers that accept no connections are remembered.
func TestHidden(t *testing.T) {
	b := newBench(Config{Patience: 15e9})
	c := b.call(b.Accepted(nil), "c")
	b.Requested(c, Request{Addr: high, ID: 7, Hidden: true}, b.now)
	b.want(t, "accept c")
	b.Failed(c, false, b.now)
	b.want(t, "drop c")
	if !b.Hidden(high) || b.Hidden(low) {
		t.Error("a hidden peer was not remembered")
	}
}

// TestStrayOfOurs: requests with our own address arrive while none of ours is out. They belong to a connection that
// was aborted, or come from another process.
func TestStrayOfOurs(t *testing.T) {
	b := newBench(Config{Patience: 15e9, Aux: 1})
	b.request("r", local, 7, 0)
	b.want(t, "refuse r")
	c := b.call(b.Want(local, b.now), "c")
	b.want(t, "dial c")
	b.request("back", local, 7, 0)
	b.want(t, "accept back")
	if c.Loop() != 1 || b.conns[1].Loop() != 2 {
		t.Errorf("loop %d and %d", c.Loop(), b.conns[1].Loop())
	}
}

// TestClose: the machine forgets all connections, and ignores their later events.
func TestClose(t *testing.T) {
	b := newBench(Config{Patience: 15e9, Aux: 1})
	c := b.up(high, 7, true)
	b.WantAux(c, 1, b.now)
	d := b.Want(low, b.now)
	a := b.Accepted(nil)
	if n := len(b.Close()); n != 4 {
		t.Errorf("%d connections were there, want 4", n)
	}
	for _, c := range []*Conn{a, c, d} {
		for _, e := range steps[1:] {
			if !strings.HasPrefix(e.name, "request,") {
				e.do(b, c, high)
			}
		}
	}
	b.want(t, "-")
}

// TestCompareAddr: addresses have libfabric's order.
func TestCompareAddr(t *testing.T) {
	up := []string{"10.0.0.1:9", "10.0.0.2:1", "10.0.0.2:2", "10.0.0.2:300", "10.0.2.1:1", "200.0.0.1:1", "[::1]:1",
		"[fe80::1]:1", "[fe80::1]:2", "[fe80::2]:1"}
	for i, x := range up {
		for j, y := range up {
			want := 0
			switch {
			case i < j:
				want = -1
			case i > j:
				want = 1
			}
			if got := compareAddr(netip.MustParseAddrPort(x), netip.MustParseAddrPort(y)); got != want {
				t.Errorf("%s and %s: %d, want %d", x, y, got, want)
			}
		}
	}
	if compareAddr(netip.MustParseAddrPort("[::ffff:10.0.0.1]:9"), netip.MustParseAddrPort("10.0.0.1:9")) != 0 {
		t.Error("an IPv4 address is another one when it is mapped to IPv6")
	}
}

// TestConnsWhileClosing: all connections are visited, although some close in the meantime.
func TestConnsWhileClosing(t *testing.T) {
	b := newBench(Config{Patience: 15e9})
	for i := range 9 {
		b.Want(netip.AddrPortFrom(high.Addr(), uint16(10+i)), b.now)
	}
	seen := map[*Conn]bool{}
	for c := range b.Conns {
		seen[c] = true
		if len(seen)%2 == 1 {
			b.Failed(c, false, b.now)
		}
		if len(seen) == 4 {
			b.Failed(b.conns[0], false, b.now)
		}
	}
	for _, c := range b.conns {
		if !seen[c] {
			t.Errorf("%v was not visited", c.Addr())
		}
	}
}

// TestNoAllocation: finding an existing connection allocates nothing.
func TestNoAllocation(t *testing.T) {
	b := newBench(Config{Patience: 15e9, Aux: 1})
	c := b.up(high, 7, true)
	b.WantAux(c, 1, b.now)
	b.take()
	if n := testing.AllocsPerRun(100, func() {
		b.Want(high, b.now)
		b.WantAux(c, 1, b.now)
		b.Connected(c, 7, true, b.now)
		b.Next()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestStayThenEnd: a connection ends after the peer's stay. Both are read before the machine's actions are
// executed.
func TestStayThenEnd(t *testing.T) {
	b := newBench(Config{Patience: 15e9})
	c := b.up(high, 7, true)
	b.leave(c, b.now)
	b.take()
	b.Stay(c, b.now)
	b.Failed(c, true, b.now)
	b.want(t, "return c<-next, drop c")
	if b.Len() != 0 {
		t.Errorf("%d connections left", b.Len())
	}
}
