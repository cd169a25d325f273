//go:build linux && !fabricbasic

package udp

// Datagrams in memory that ports of one host share.

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/wait"
)

// station is a port with a domain of its own.
type station struct {
	t  testing.TB
	d  *domain
	p  *port
	in *inbox
}

func newStation(t testing.TB, at netip.AddrPort, variables ...string) *station {
	t.Helper()
	s := &station{t: t, d: testDomain(t, variables...), in: &inbox{}}
	s.p = portAt(t, s.d, at, s.in)
	return s
}

// locked calls f with the lock held.
func (s *station) locked(f func()) {
	s.d.prog.Lock()
	defer s.d.prog.Unlock()
	f()
}

// poll makes a few passes.
func (s *station) poll(n int) {
	s.locked(func() {
		for range n {
			s.d.prog.Pass()
		}
	})
}

// shmPeers returns how many peers share memory with s.
func (s *station) shmPeers() (n int) {
	s.locked(func() {
		if s.p.sameHost != nil && s.p.sameHost.datapath != nil {
			n = len(s.p.sameHost.datapath.peers)
		}
	})
	return n
}

// awake polls until every pass reads the socket directly.
func (s *station) awake() {
	s.t.Helper()
	s.d.until(s.t, "passes read the socket directly", func() bool { return s.p.main.direct })
}

// all makes passes at all stations until ok.
func all(t testing.TB, what string, ok func() bool, list ...*station) {
	t.Helper()
	wait.Polling(t, what, func() bool {
		if ok() {
			return true
		}
		for _, s := range list {
			s.poll(1)
		}
		return ok()
	})
}

// tell sends one datagram and waits until it has come.
func tell(t testing.TB, from, to *station, text string) {
	t.Helper()
	to.locked(func() { to.in.got = nil })
	must(t, from.p.send(to.p.local, 0, []byte(text)))
	var got []gotDatagram
	all(t, "a datagram arrives", func() bool { to.locked(func() { got = to.in.got }); return len(got) > 0 }, from, to)
	if len(got) != 1 || got[0].data != text || got[0].from != from.p.local {
		t.Fatalf("sent %q from %v, got %v", text, from.p.local, got)
	}
}

// meet makes two stations exchange datagrams until these go through memory.
func meet(t testing.TB, a, b *station) {
	t.Helper()
	wait.Polling(t, fmt.Sprintf("%v and %v share memory", a.p, b.p), func() bool {
		a.awake()
		b.awake()
		before := [2]uint64{a.p.counts().MemorySent, b.p.counts().MemorySent}
		tell(t, a, b, "over here")
		tell(t, b, a, "over there")
		return a.p.counts().MemorySent > before[0] && b.p.counts().MemorySent > before[1]
	})
}

func neighboursAt(t testing.TB, at netip.Addr, variables ...string) (a, b *station) {
	t.Helper()
	a = newStation(t, netip.AddrPortFrom(at, 0), variables...)
	return a, newStation(t, netip.AddrPortFrom(at, 0), variables...)
}

// TestMemory checks which ports share memory, and that it is freed.
func TestMemory(t *testing.T) {
	for _, at := range []netip.Addr{loopback4, loopback6} {
		for name, v := range variants {
			a, b := neighboursAt(t, at, v...)
			meet(t, a, b)
			if a.shmPeers() != 1 || b.shmPeers() != 1 {
				t.Errorf("%s: %d and %d peers", name, a.shmPeers(), b.shmPeers())
			}
			if s := a.p.String(); !strings.Contains(s, "memory shared with 1 endpoints of this host") {
				t.Error(s)
			}
			sent, got := a.p.counts(), b.p.counts()
			if sent.MemorySent == 0 || sent.MemorySent != got.MemoryReceived ||
				sent.SentDatagrams != got.ReceivedDatagrams || sent.SentBytes != got.ReceivedBytes {
				t.Errorf("%s: sent %+v, received %+v", name, sent, got)
			}
			b.locked(func() { must(t, b.p.Close()) })
			all(t, "the port notices that its peer has closed", func() bool { return a.shmPeers() == 0 }, a)
			if a.d.shmPeers != 0 || b.d.shmPeers != 0 {
				t.Errorf("%s: %d and %d memories are left over", name, a.d.shmPeers, b.d.shmPeers)
			}
		}
	}
}

// TestNoMemory checks which ports share none.
func TestNoMemory(t *testing.T) {
	quiet := func(a, b *station) {
		t.Helper()
		for range 4 * meetAfter {
			a.awake()
			b.awake()
			tell(t, a, b, "hello")
			tell(t, b, a, "hello")
		}
		if a.shmPeers() != 0 || b.shmPeers() != 0 || a.p.counts().MemorySent != 0 {
			t.Errorf("%v and %v share memory", a.p, b.p)
		}
	}
	a, b := neighboursAt(t, loopback4, "LOCAL_MEMORY", "0")
	quiet(a, b)
	if a.p.sameHost != nil {
		t.Error("the port shares memory though that is switched off")
	}
	c, _ := neighboursAt(t, loopback4)
	quiet(a, c)
	if !c.p.sameHost.listening() {
		t.Error("the port does not listen on a local socket")
	}
	d := newStation(t, netip.AddrPortFrom(loopback4, 0))
	d.awake()
	d.locked(func() {
		group := netip.MustParseAddrPort("224.0.0.251:5353")
		for range 4 * meetAfter {
			d.p.sameHost.count(group) // as if a datagram had been sent to it
		}
		if d.p.sameHost.listening() || d.p.sameHost.far != group.Addr() {
			t.Error("an endpoint without peers on this host has two sockets")
		}
	})
	if any := newStation(t, netip.MustParseAddrPort("0.0.0.0:0")); any.p.sameHost != nil {
		t.Error("a port bound to any address shares memory")
	}
	c.awake()
	for range 4 * meetAfter { // to its own address
		must(t, c.p.send(c.p.local, 0, []byte{1}))
		c.poll(1)
	}
	if c.shmPeers() != 0 {
		t.Error("a port shares memory with itself")
	}
}

// TestMemoryAddresses: ports at different addresses of one host share memory, and receive each other's addresses.
func TestMemoryAddresses(t *testing.T) {
	a, b := newStation(t, netip.MustParseAddrPort("127.0.0.1:0")), newStation(t, netip.MustParseAddrPort("127.0.0.2:0"))
	meet(t, a, b)
	// Differs from a in its address only.
	c := newStation(t, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.3"), a.p.local.Port()))
	meet(t, c, b)
	if b.shmPeers() != 2 {
		t.Errorf("%d peers", b.shmPeers())
	}
	tell(t, a, b, "from a")
	tell(t, c, b, "from c")
	tell(t, b, a, "to a")
	tell(t, b, c, "to c")
}

// TestMemorySimultaneous has both ports connect before either accepts. One memory remains, and it is the same for
// both.
func TestMemorySimultaneous(t *testing.T) {
	for range 10 {
		a, b := neighboursAt(t, loopback4)
		for _, s := range []*station{a, b} {
			s.d.prog.Lock()
		}
		for _, s := range []*station{a, b} {
			s.p.main.direct = true
			s.p.sameHost.listen()
		}
		for i, s := range []*station{a, b} {
			s.p.sameHost.connect(s.p.sameHost.counter([]*station{b, a}[i].p.local))
			if len(s.p.sameHost.datapath.peers) != 1 {
				t.Fatal("the port has found no peer")
			}
			s.p.main.direct = false
			s.p.sameHost.datapath.awake = false
			s.p.sameHost.datapath.peers[0].SetPolling(false)
		}
		b.d.prog.Unlock()
		a.d.prog.Unlock()
		smaller := a
		if b.p.local.Port() < a.p.local.Port() {
			smaller = b
		}
		all(t, "one memory remains", func() bool {
			ok := true
			for _, s := range []*station{a, b} {
				s.locked(func() {
					ms := s.p.sameHost.datapath.peers
					ok = ok && s.p.sameHost.listener.Pending() == 0 && len(ms) == 1 && ms[0].ours == (s == smaller) && s.d.shmPeers == 1
				})
			}
			return ok
		}, a, b)
		meet(t, a, b)
		if a.shmPeers() != 1 || b.shmPeers() != 1 {
			t.Errorf("%d and %d peers", a.shmPeers(), b.shmPeers())
		}
		for _, s := range []*station{a, b} {
			s.locked(func() { must(t, s.p.Close()) })
		}
	}
}

// TestMemorySleeps has two ports exchange datagrams and runs of all lengths, more than there is room for, while
// each polls, sleeps and makes no passes by turns. None is lost, duplicated or overtaken, whichever way it takes.
func TestMemorySleeps(t *testing.T) {
	a, b := neighboursAt(t, loopback4)
	meet(t, a, b)
	plans := [2][][]piece{newPlan(1), newPlan(2)}
	failed := make(chan error, 2)
	chats := [2]*chat{}
	for i, s := range []*station{a, b} {
		c := &chat{station: s, to: []*station{b, a}[i].p.local, mine: plans[i], theirs: plans[1-i], rnd: rand.New(rand.NewPCG(7, uint64(i))), came: make(chan struct{}, 1)}
		s.locked(func() { s.in.got, s.in.hook = nil, c.take })
		chats[i] = c
	}
	for _, c := range chats {
		go func() { failed <- c.run() }()
	}
	for range 2 {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*station{a, b} {
		c := s.p.counts()
		if by := c.SentDatagrams - c.MemorySent; c.MemorySent < 300 || by < 300 || c.Overflows > 0 {
			t.Errorf("%d through memory, %d through the socket: %+v", c.MemorySent, by, c)
		}
	}
}

// piece is the content of one send: a datagram, or a run.
type piece struct{ n, seg int }

func (p piece) count() int {
	if p.seg == 0 {
		return 1
	}
	return p.n / p.seg
}

// newPlan returns what one port sends in each round: now and then more than the memory holds.
func newPlan(seed uint64) (plan [][]piece) {
	rnd := rand.New(rand.NewPCG(seed, 3))
	for range 1000 {
		count := 1 + rnd.IntN(4)
		if rnd.IntN(20) == 0 {
			count = 40
		}
		var round []piece
		for range count {
			switch rnd.IntN(10) {
			case 0:
				round = append(round, piece{4 + rnd.IntN(60_000), 0})
			case 1:
				seg := 4 + rnd.IntN(1400)
				round = append(round, piece{seg * (1 + rnd.IntN(20)), seg})
			default:
				round = append(round, piece{4 + rnd.IntN(200), 0})
			}
		}
		plan = append(plan, round)
	}
	return plan
}

// chat is one end of an exchange in rounds. It sends, and waits for what the other end sends, which contains its
// position in the sequence.
type chat struct {
	*station
	to           netip.AddrPort
	mine, theirs [][]piece
	rnd          *rand.Rand
	came         chan struct{}
	sent, in     int
	wrong        error
	buf          [60_000]byte
}

func fill(b []byte, i int) {
	binary.LittleEndian.PutUint32(b, uint32(i))
	for k := 4; k < len(b); k++ {
		b[k] = byte(i + k)
	}
}

func (c *chat) run() error {
	want := 0
	for round := range c.mine {
		for _, p := range c.mine[round] {
			if err := c.send(p); err != nil {
				return err
			}
		}
		for _, p := range c.theirs[round] {
			want += p.count()
		}
		if err := c.await(want); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	return nil
}

// take checks a received datagram. Locked.
func (c *chat) take(netip.AddrPort, []byte) {
	in := c.station.in
	for _, d := range in.got {
		want := make([]byte, len(d.data))
		if len(want) >= 4 {
			fill(want, c.in)
		}
		if (len(want) < 4 || string(want) != d.data || d.from != c.to) && c.wrong == nil {
			c.wrong = fmt.Errorf("%d bytes from %v, number %d, want %d", len(want), d.from, binary.LittleEndian.Uint32([]byte(d.data)), c.in)
		}
		c.in++
	}
	in.got = in.got[:0]
	select {
	case c.came <- struct{}{}:
	default:
	}
}

func (c *chat) send(p piece) error {
	b := c.buf[:p.n]
	for k := range p.count() {
		if p.seg == 0 {
			fill(b, c.sent)
		} else {
			fill(b[k*p.seg:(k+1)*p.seg], c.sent)
		}
		c.sent++
	}
	for end := time.Now().Add(patience); ; c.poll(1) {
		if err := c.p.send(c.to, p.seg, b[:p.n/2], b[p.n/2:]); err != core.ErrAgain || time.Now().After(end) {
			return err
		}
	}
}

// await waits for n datagrams, in varying ways.
func (c *chat) await(want int) error {
	end := time.Now().Add(patience)
	for how := c.rnd.IntN(30); ; {
		var in int
		var wrong error
		c.locked(func() { in, wrong = c.in, c.wrong })
		switch {
		case wrong != nil || in >= want:
			return wrong
		case time.Now().After(end):
			return fmt.Errorf("received %d datagrams, want %d: %v", in, want, c.p)
		case how == 0: // no passes
			// What comes meanwhile is found after the pause.
			time.Sleep(time.Duration(c.rnd.IntN(1500)) * time.Microsecond)
		case how < 10: // asleep
			c.locked(c.d.prog.EnterWait)
			for c.locked(func() { in, wrong = c.in, c.wrong }); in < want && wrong == nil && time.Now().Before(end); c.locked(func() { in, wrong = c.in, c.wrong }) {
				select {
				case <-c.came:
				case <-time.After(patience):
				}
			}
			c.locked(c.d.prog.LeaveWait)
		default:
			c.poll(1 + c.rnd.IntN(100))
		}
	}
}
