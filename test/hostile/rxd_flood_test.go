//go:build linux

package hostile

// Floods of requests from forged addresses: a million to the engine without sockets, and twenty thousand over
// loopback.

import (
	"bytes"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/test/conform"
	"gofabric/util/rxd/session"
	"gofabric/util/rxd/wire"

	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
)

// lab runs engines in one goroutine, with a simulated clock and a network that loses nothing.
type lab struct {
	t     *testing.T
	rng   *rand.Rand
	now   int64
	nodes map[netip.AddrPort]*floodNode
	fly   []flying
	spare []flying
}

type flying struct {
	from, to netip.AddrPort
	b        []byte
}

// floodNode is an endpoint of the lab. It has all that the engine needs.
type floodNode struct {
	l        *lab
	at       netip.AddrPort
	e        *session.Engine
	pool     xengine.Pool
	rx       *xengine.RxContext
	out      session.Out
	received int
	failed   int
}

func (l *lab) add(at string, extensions bool) *floodNode {
	g := &floodNode{l: l, at: netip.MustParseAddrPort(at)}
	g.rx = xengine.NewRxContext(&g.pool, g)
	conn := &xengine.Config{Frugal: true, StageMax: 1024, StageLimit: 1 << 20, TxDepth: 1024,
		RendezvousOver: 1 << 62, InternalMax: 1024}
	g.e = session.New(&session.Config{Epoch: l.rng.Uint64(), Secret: [2]uint64{l.rng.Uint64(), l.rng.Uint64()},
		Rand: l.rng.Uint64, Conn: conn, Extensions: extensions},
		&g.pool, g.rx, g, g)
	g.out.Head = make([]byte, 0, session.HeadMax)
	l.nodes[g.at] = g
	return g
}

func (g *floodNode) Sink(*session.Peer) xengine.Sink     { return g }
func (g *floodNode) PeerUp(*session.Peer)                {}
func (g *floodNode) PeerFailed(*session.Peer, error)     { g.failed++ }
func (g *floodNode) Local(netip.AddrPort) netip.AddrPort { return g.at }
func (g *floodNode) MaxDatagram(netip.AddrPort) int      { return 8972 }
func (g *floodNode) Reverse(netip.AddrPort) uint64       { return xengine.AnySource }
func (g *floodNode) Completed(*xengine.Completion)       {}
func (g *floodNode) Sent(*xengine.Send)                  {}
func (g *floodNode) Received(*xengine.RxOp)              { g.received++ }
func (g *floodNode) Requested(*xengine.Conn, []byte)     {}
func (g *floodNode) Connected(*xengine.Conn, []byte)     {}
func (g *floodNode) Failed(c *xengine.Conn, err error, _ []byte) {
	g.e.Failed(c.User.(*session.Peer), err)
}
func (g *floodNode) Replied(c *xengine.Conn) { g.e.Posted(c.User.(*session.Peer)) }
func (g *floodNode) Resumed(c *xengine.Conn) { g.e.Resumed(c.User.(*session.Peer)) }
func (g *floodNode) Verify(_, _, _ uint64, _ bool) ([]byte, xengine.Region, xengine.Refusal) {
	return nil, nil, xwire.RefusedKey
}

// flush delivers what the guest transmits. Datagrams to unknown addresses are lost.
func (g *floodNode) flush() {
	for g.e.Poll(g.l.now, &g.out) {
		if g.l.nodes[g.out.To] != nil {
			b := bytes.Join(append([][]byte{g.out.Head}, g.out.Parts...), nil)
			g.l.fly = append(g.l.fly, flying{g.at, g.out.To, b})
		}
	}
}

// run advances the clock by 20 microseconds until done returns true, at most times times.
func (l *lab) run(times int, done func() bool) bool {
	for range times {
		if done() {
			return true
		}
		for _, g := range l.nodes {
			g.flush()
		}
		l.now += 20e3
		batch := l.fly
		l.fly, l.spare = l.spare[:0], batch
		for _, f := range batch {
			l.nodes[f.to].e.Receive(l.now, f.from, f.b)
		}
		for _, g := range l.nodes {
			g.e.Advance(l.now)
			g.e.PassDone(l.now)
		}
	}
	return done()
}

// message sends a message from g to another guest and waits until it arrives.
func (g *floodNode) message(to *floodNode) {
	g.l.t.Helper()
	op := to.rx.NewOp()
	op.SetBuf(make([]byte, 3000))
	to.rx.PostMsg(op, xengine.AnySource)
	s := &xengine.Send{NIOV: 1}
	s.IOV[0] = make([]byte, 3000)
	p := g.e.Peer(to.at, 7, g.l.now)
	check(g.l.t, p.Conn().Submit(s))
	g.e.Posted(p)
	want := to.received + 1
	if !g.l.run(100_000, func() bool { return to.received >= want }) {
		g.l.t.Fatalf("no message from %v to %v: %+v", g.at, to.at, to.e.Stats)
	}
}

// flood returns the next request of a flood: from a random address, and at times from the address of a guest that is
// served.
func (l *lab) flood(i int, ext bool, buf []byte, served ...*floodNode) (netip.AddrPort, []byte) {
	from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}),
		uint16(1+l.rng.IntN(65535)))
	if i%1000 == 999 {
		from = served[i/1000%len(served)].at
	}
	r := wire.RTS{RTSAddr: uint64(l.rng.Uint32() | 1), Source: from}
	buf = r.Append(buf)
	if !ext {
		return from, buf
	}
	x := wire.Ext{ConnID: l.rng.Uint64() | 1, Epoch: l.rng.Uint64(), MaxDatagram: 9000, Window: 1 << 20,
		Nonce: l.rng.Uint64(), Cookie: l.rng.Uint64() * uint64(i&1)}
	return from, x.Append(buf)
}

// TestRXDMillion floods an engine with requests from a million addresses, with and without the extension.
func TestRXDMillion(t *testing.T) {
	l := &lab{t: t, rng: rand.New(rand.NewPCG(1, 2)), now: 1e9, nodes: map[netip.AddrPort]*floodNode{}}
	c, a, n := l.add("192.0.2.1:1", true), l.add("192.0.2.2:2", true), l.add("192.0.2.3:3", false)
	serve := func() {
		for _, g := range []*floodNode{a, n} {
			g.message(c)
			c.message(g)
		}
	}
	serve()
	before := heap()
	var most uint64
	buf := make([]byte, 0, 256)
	for round, ext := range []bool{true, false} {
		for i := range 1_000_000 {
			from, pkt := l.flood(i, ext, buf[:0], a, n)
			c.e.Receive(l.now, from, pkt)
			if i%100 == 0 {
				c.flush()
				l.now += 50e3
			}
			if i%10_000 == 0 {
				serve()
			}
			if i == 500_000 { // a new guest in the middle of the flood
				late, old := l.add([]string{"192.0.2.4:4", "192.0.2.6:6"}[round], true),
					l.add([]string{"192.0.2.5:5", "192.0.2.7:7"}[round], false)
				late.message(c)
				old.message(c)
				c.message(late)
				c.message(old)
			}
			if i%100_000 == 0 {
				most = max(most, heap())
			}
		}
	}
	serve()
	s := c.e.Stats
	if c.e.Len() != 6 || c.failed+a.failed+n.failed > 0 || s.Restarts > 0 {
		t.Errorf("%d peers, %d failed, %+v", c.e.Len(), c.failed+a.failed+n.failed, s)
	}
	if s.Challenges+s.AnswersLost < 1_900_000 || s.Evicted < 900_000 || s.BadCookies < 400_000 {
		t.Errorf("not counted: %+v", s)
	}
	t.Logf("heap %d KiB before, at most %d KiB during 2,000,000 requests; %d challenges, %d bad cookies, %d evicted, %d answers lost", before>>10, most>>10,
		s.Challenges, s.BadCookies, s.Evicted, s.AnswersLost)
	if most > before+2<<20 {
		t.Errorf("heap grew from %d to %d KiB", before>>10, most>>10)
	}
}

// forge sends from any address of the loopback network.
func forge(t *testing.T, conn *net.UDPConn, b []byte, from netip.Addr, to netip.AddrPort) {
	t.Helper()
	cmsg := unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: from.As4()})
	_, _, err := conn.WriteMsgUDPAddrPort(b, cmsg, to)
	check(t, err)
}

// TestRXDRequests floods a socket with requests of twenty thousand addresses.
func TestRXDRequests(t *testing.T) {
	c := openVictim(t)
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{})
	check(t, err)
	t.Cleanup(func() { conn.Close() })
	check(t, conn.SetReadBuffer(4096)) // the test does not read the answers
	port := conn.LocalAddr().(*net.UDPAddr).AddrPort().Port()
	rng := rand.New(rand.NewPCG(3, 4))
	before, began := heap(), c.stats()
	const requests = 20_000
	for _, ext := range []bool{true, false} {
		for i := range requests {
			from := netip.AddrFrom4([4]byte{127, 250, byte(i >> 8), byte(i)})
			r := wire.RTS{RTSAddr: uint64(i + 1), Source: netip.AddrPortFrom(from, port)}
			b := r.Append(nil)
			if ext {
				x := wire.Ext{ConnID: rng.Uint64() | 1, Epoch: rng.Uint64(), MaxDatagram: 9000, Window: 1 << 20,
					Nonce: rng.Uint64(), Cookie: rng.Uint64() * uint64(i&1)}
				b = x.Append(b)
			}
			forge(t, conn, b, from, c.addr.IP)
			if i%20 == 0 {
				c.pumpAll()
			}
			if i%500 == 0 {
				c.serve()
			}
		}
	}
	c.serve()
	s := c.stats()
	if s.Peers != 2 || s.Restarts > 0 || s.Challenges-began.Challenges < requests/2 || s.Evicted < requests/2 {
		t.Errorf("%+v", s)
	}
	if after := heap(); after > before+4<<20 {
		t.Errorf("heap grew from %d to %d KiB", before>>10, after>>10)
	}
	t.Logf("%d challenges, %d bad cookies, %d evicted, %d answers lost, %d overflows", s.Challenges, s.BadCookies,
		s.Evicted, s.AnswersLost, s.Port.Overflows)
	conform.CheckPattern(t, "registered memory", c.mem, secret, 8)
}
