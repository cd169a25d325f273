package cm

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"gofabric/internal/mono"
)

var update = flag.Bool("update", false, "rewrite testdata/states.txt")

var (
	local = netip.MustParseAddrPort("10.0.0.5:5")
	low   = netip.MustParseAddrPort("10.0.0.1:9") // less than ours
	high  = netip.MustParseAddrPort("10.0.0.9:1") // greater
)

// bench is a Machine with named connections and a record of its actions.
type bench struct {
	*Machine
	now                  mono.Time
	busy, broken, wanted map[*Conn]bool
	names                map[*Conn]string
	moved                map[*Conn]uint64
	said                 []string
}

func newBench(cfg Config) *bench {
	b := &bench{now: 1, busy: map[*Conn]bool{}, broken: map[*Conn]bool{}, wanted: map[*Conn]bool{},
		names: map[*Conn]string{}, moved: map[*Conn]uint64{}}
	b.Machine = New(cfg, b)
	b.SetLocal(local)
	return b
}

func (b *bench) Idle(c *Conn) bool    { return !b.busy[c] }
func (b *bench) Broken(c *Conn) bool  { return b.broken[c] }
func (b *bench) Wanted(c *Conn) bool  { return b.wanted[c] }
func (b *bench) Moved(c *Conn) uint64 { return b.moved[c] }

// name returns the name of c. A new connection is named by its role.
func (b *bench) name(c *Conn) string {
	n, ok := b.names[c]
	if !ok {
		n = "next"
		if c.Index() > 0 {
			n = fmt.Sprint("aux", c.Index())
		}
		b.names[c] = n
	}
	return n
}

func (b *bench) call(c *Conn, name string) *Conn {
	b.names[c] = name
	return c
}

// drain records the machine's actions.
func (b *bench) drain() *bench {
	for a, ok := b.Next(); ok; a, ok = b.Next() {
		s := a.Kind.String() + " " + b.name(a.Conn)
		switch {
		case a.Other != nil:
			s += "<-" + b.name(a.Other)
		case a.Kind == Refuse && a.Crossed:
			s += " crossed"
		case a.Kind == Drop && a.Why != Ended:
			s += [...]string{Rejected: " rejected", Canceled: " canceled"}[a.Why]
		}
		b.said = append(b.said, s)
	}
	return b
}

// take returns the recorded actions.
func (b *bench) take() string {
	b.drain()
	s := strings.Join(b.said, ", ")
	b.said = nil
	if s == "" {
		return "-"
	}
	return s
}

func (b *bench) pass(d mono.Time) *bench {
	b.now += d
	return b
}

// request makes a request of the peer at a arrive, on a connection with that name.
func (b *bench) request(name string, a netip.AddrPort, id uint32, index uint8) *Conn {
	c := b.call(b.Accepted(nil), name)
	b.Requested(c, Request{Addr: a, ID: id, Index: index}, b.now)
	return c
}

// up makes a connection to the peer at a that is up. Its incarnation is 7 unless given.
func (b *bench) up(a netip.AddrPort, id uint32, words bool) *Conn {
	c := b.call(b.Want(a, b.now), "c")
	b.take()
	b.Connected(c, id, words, b.now)
	return c
}

// check checks that the machine's tables agree.
func (b *bench) check(t *testing.T, when string) {
	t.Helper()
	mains := 0
	for i, c := range b.conns {
		if int(c.pos) != i || c.state == Closed {
			t.Errorf("%s: connection %s, %v, is not where it should be", when, b.name(c), c.state)
		}
		if c.peer != nil && c == c.peer.main && b.peers[c.peer.addr] == c.peer {
			mains++
		}
	}
	for c := range b.timers.All() {
		if c.state == Closed || !c.timer.In() {
			t.Errorf("%s: connection %s, %v, has a timer", when, b.name(c), c.state)
		}
	}
	if mains != len(b.peers) {
		t.Errorf("%s: %d peers, %d of them with a connection", when, len(b.peers), mains)
	}
}

// start is a way to reach a state. c is the connection in that state.
type start struct {
	name string
	to   netip.AddrPort
	make func(b *bench, a netip.AddrPort) *Conn
}

var starts = []start{
	{"accepted", high, func(b *bench, _ netip.AddrPort) *Conn { return b.call(b.Accepted(nil), "c") }},
	{"dialing low", low, func(b *bench, a netip.AddrPort) *Conn { return b.call(b.Want(a, b.now), "c") }},
	{"dialing high", high, func(b *bench, a netip.AddrPort) *Conn { return b.call(b.Want(a, b.now), "c") }},
	{"dialing self", local, func(b *bench, a netip.AddrPort) *Conn { return b.call(b.Want(a, b.now), "c") }},
	{"waiting", low, func(b *bench, a netip.AddrPort) *Conn {
		c := b.call(b.Want(a, b.now), "c")
		b.Refused(c, b.now)
		return c
	}},
	{"up", high, func(b *bench, a netip.AddrPort) *Conn { return b.up(a, 7, true) }},
	{"up long", high, func(b *bench, a netip.AddrPort) *Conn {
		c := b.up(a, 7, true)
		b.pass(Crossing + 1)
		return c
	}},
	{"up unknown", high, func(b *bench, a netip.AddrPort) *Conn { return b.up(a, 0, true) }},
	{"up native", high, func(b *bench, a netip.AddrPort) *Conn { return b.up(a, 7, false) }},
	{"up broken", high, func(b *bench, a netip.AddrPort) *Conn {
		c := b.up(a, 7, true)
		b.broken[c], b.busy[c] = true, true
		return c
	}},
	{"up busy", high, func(b *bench, a netip.AddrPort) *Conn {
		c := b.up(a, 7, true)
		b.busy[c] = true
		return c
	}},
	{"up crossed", high, func(b *bench, a netip.AddrPort) *Conn {
		b.call(b.Want(a, b.now), "gone")
		c := b.request("c", a, 7, 0)
		b.drain()
		b.Connected(c, 0, true, b.now)
		return c
	}},
	{"up self", local, func(b *bench, a netip.AddrPort) *Conn {
		c := b.call(b.Want(a, b.now), "c")
		back := b.request("back", a, 7, 0)
		b.drain()
		b.Connected(back, 0, true, b.now)
		b.Connected(c, 7, true, b.now)
		return c
	}},
	{"up with aux", high, func(b *bench, a netip.AddrPort) *Conn {
		c := b.up(a, 7, true)
		b.WantAux(c, 1, b.now)
		b.drain()
		b.Connected(c.peer.aux[0].conn, 0, true, b.now)
		return c
	}},
	{"leaving", high, func(b *bench, a netip.AddrPort) *Conn {
		c := b.up(a, 7, true)
		b.leave(c, b.now)
		return c
	}},
	{"leaving wanted", high, func(b *bench, a netip.AddrPort) *Conn {
		c := b.up(a, 7, true)
		b.leave(c, b.now)
		b.wanted[c.peer.main] = true
		return c
	}},
	{"leaving long", high, func(b *bench, a netip.AddrPort) *Conn {
		c := b.up(a, 7, true)
		b.leave(c, b.now)
		b.pass(Crossing + 1)
		return c
	}},
	{"leaving native", high, func(b *bench, a netip.AddrPort) *Conn {
		c := b.up(a, 7, false)
		b.leave(c, b.now)
		return c
	}},
	{"leaving with aux", high, func(b *bench, a netip.AddrPort) *Conn {
		c := b.up(a, 7, true)
		b.WantAux(c, 1, b.now)
		b.drain()
		b.Connected(c.peer.aux[0].conn, 0, true, b.now)
		b.leave(c, b.now)
		return c
	}},
	{"aux dialing low", low, func(b *bench, a netip.AddrPort) *Conn {
		c := b.up(a, 7, true)
		b.WantAux(b.call(c, "main"), 1, b.now)
		return b.call(c.peer.aux[0].conn, "c")
	}},
	{"aux dialing high", high, func(b *bench, a netip.AddrPort) *Conn {
		c := b.up(a, 7, true)
		b.WantAux(b.call(c, "main"), 1, b.now)
		return b.call(c.peer.aux[0].conn, "c")
	}},
	{"aux up", high, func(b *bench, a netip.AddrPort) *Conn {
		b.call(b.up(a, 7, true), "main")
		c := b.request("c", a, 7, 1)
		b.drain()
		b.Connected(c, 0, true, b.now)
		return c
	}},
	{"draining", high, func(b *bench, a netip.AddrPort) *Conn {
		m := b.call(b.up(a, 7, true), "main")
		c := b.request("c", a, 7, 1)
		b.drain()
		b.Failed(m, true, b.now)
		return c
	}},
	{"closed", high, func(b *bench, a netip.AddrPort) *Conn {
		c := b.up(a, 7, true)
		b.Failed(c, false, b.now)
		return c
	}},
}

// steps are all events.
var steps = []struct {
	name string
	do   func(b *bench, c *Conn, a netip.AddrPort)
}{
	{"want", func(b *bench, c *Conn, a netip.AddrPort) { b.name(b.Want(a, b.now)) }},
	{"connected", func(b *bench, c *Conn, _ netip.AddrPort) { b.Connected(c, 7, true, b.now) }},
	{"refused", func(b *bench, c *Conn, _ netip.AddrPort) { b.Refused(c, b.now) }},
	{"failed", func(b *bench, c *Conn, _ netip.AddrPort) { b.Failed(c, false, b.now) }},
	{"closed by peer", func(b *bench, c *Conn, _ netip.AddrPort) { b.Failed(c, true, b.now) }},
	{"invalid", func(b *bench, c *Conn, _ netip.AddrPort) { b.Invalid(c) }},
	{"requested on it", func(b *bench, c *Conn, a netip.AddrPort) { b.Requested(c, Request{Addr: a, ID: 7}, b.now) }},
	{"request, same", func(b *bench, _ *Conn, a netip.AddrPort) { b.request("r", a, 7, 0) }},
	{"request, restarted", func(b *bench, _ *Conn, a netip.AddrPort) { b.request("r", a, 8, 0) }},
	{"request, aux", func(b *bench, _ *Conn, a netip.AddrPort) { b.request("r", a, 7, 1) }},
	{"request, aux restarted", func(b *bench, _ *Conn, a netip.AddrPort) { b.request("r", a, 8, 1) }},
	{"bye", func(b *bench, c *Conn, _ netip.AddrPort) { b.Bye(c, b.now) }},
	{"stay", func(b *bench, c *Conn, _ netip.AddrPort) { b.Stay(c, b.now) }},
	{"want aux", func(b *bench, c *Conn, _ netip.AddrPort) {
		if c.peer != nil {
			b.WantAux(c, 1, b.now)
		}
	}},
	{"disconnect", func(b *bench, c *Conn, _ netip.AddrPort) {
		if c.peer != nil {
			b.Disconnect(c.Main(), b.now)
		}
	}},
	{"deadline", func(b *bench, _ *Conn, _ netip.AddrPort) {
		if d := b.Deadline(); d != mono.None {
			b.now = d
			b.Tick(d)
		}
	}},
}

// TestStates makes every event occur in every state. testdata/states.txt has the results: the actions, the state of
// the connection, and its deadline.
func TestStates(t *testing.T) {
	var out strings.Builder
	for _, s := range starts {
		fmt.Fprintf(&out, "%s\n", s.name)
		for _, e := range steps {
			b := newBench(Config{Patience: 15e9, Aux: 1})
			c := s.make(b, s.to)
			b.take()
			e.do(b, c, s.to)
			line := fmt.Sprintf("  %-24s%s => %v", e.name, b.take(), c.State())
			if d := b.Deadline(); d != mono.None {
				line += fmt.Sprintf(", +%d ms", (d-b.now)/1e6)
			}
			out.WriteString(line + "\n")
			b.check(t, s.name+", "+e.name)
		}
	}
	const file = "testdata/states.txt"
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, lines := strings.Split(out.String(), "\n"), strings.Split(string(want), "\n")
	in := ""
	for i := range max(len(got), len(lines)) {
		g, w := "", ""
		if i < len(got) {
			g = got[i]
		}
		if i < len(lines) {
			w = lines[i]
		}
		if !strings.HasPrefix(g, " ") {
			in = g
		}
		if g != w {
			t.Errorf("%s:\n got%s\nwant%s", in, g, w)
		}
	}
}
