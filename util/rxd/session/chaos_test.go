package session

import (
	"encoding/binary"
	"fmt"
	"testing"

	xengine "gofabric/internal/xnet/engine"
)

// incarnation is one opening of an endpoint during TestChaos: what it posted and received.
type incarnation struct {
	*node
	id     uint64
	posted int
	next   map[uint64]uint64 // the least number that may come from an incarnation
	seen   map[[2]uint64]bool
	acked  [][3]uint64 // to, from, number of messages that were acknowledged
	bufs   [][]byte
	broken int // receives that ended within a message
}

// TestChaos has four endpoints exchange messages while datagrams are lost, repeated and reordered, the network
// fails now and then, peers are removed and endpoints are replaced. Every operation must complete once. No message
// may come twice or before an earlier one, and no acknowledged message may be missing.
func TestChaos(t *testing.T) {
	for _, mode := range []string{"extended", "native", "mixed"} {
		for seed := range uint64(25) {
			t.Run(fmt.Sprint(mode, seed), func(t *testing.T) { chaos(t, mode, seed) })
		}
	}
}

// TestReplay checks that the same seed gives the same datagrams at the same times.
func TestReplay(t *testing.T) {
	seen := map[uint64]bool{}
	for _, mode := range []string{"extended", "native", "mixed"} {
		for seed := range uint64(5) {
			a, b := chaos(t, mode, seed), chaos(t, mode, seed)
			if a != b || seen[a] {
				t.Errorf("%s %d: %x, then %x, seen before: %v", mode, seed, a, b, seen[a])
			}
			seen[a] = true
		}
	}
}

// chaos returns the hash of all datagrams.
func chaos(t *testing.T, mode string, seed uint64) uint64 {
	n := newWorld(t, seed)
	n.Tap = func(from, to int, b []byte) { n.Trace(from, "send", uint64(to), uint64(len(b))) }
	n.Link.Loss, n.Link.Dup, n.Link.Reorder = 0.05, 0.05, 0.05
	var all []*incarnation
	serial := uint64(0)
	open := func(i int) *incarnation {
		d := n.add(i, func(c *Config) {
			c.Extensions = mode == "extended" || mode == "mixed" && i%2 == 0
			c.PeerTimeout, c.HandshakeTimeout = 2*second, 2*second
		})
		serial++
		l := &incarnation{node: d, id: serial, next: map[uint64]uint64{}, seen: map[[2]uint64]bool{}}
		for range 3000 {
			b := make([]byte, 1600)
			l.bufs = append(l.bufs, b)
			d.recv(b, uint64(len(l.bufs)-1))
		}
		all = append(all, l)
		return l
	}
	var nodes [4]*incarnation
	for i := range nodes {
		nodes[i] = open(i)
	}
	for range 400 {
		i := n.IntN(len(nodes))
		a, b := nodes[i], nodes[n.IntN(len(nodes))]
		switch n.IntN(60) {
		case 0:
			if p := a.e.Lookup(b.addr); p != nil {
				a.e.Remove(p, xengine.ErrClosed)
			}
		case 1:
			if n.IntN(4) == 0 && mode != "native" { // a native peer looks like its predecessor before it sends
				for k := range nodes { // Each has a random order
					if p := a.e.Lookup(at(k)); p != nil {
						a.e.Remove(p, xengine.ErrClosed)
					}
				}
				nodes[i] = open(i)
			}
		case 2:
			n.Down = !n.Down
		case 3, 4, 5:
			n.run(n.Int64N(second), nil)
		default:
			if p := a.e.Peer(b.addr, 7, n.Now); p.Conn().InFlight() < 1000 {
				buf := make([]byte, 16+n.IntN(1500))
				binary.LittleEndian.PutUint64(buf, a.id)
				a.posted++
				binary.LittleEndian.PutUint64(buf[8:], uint64(a.posted))
				s := msg(b.id<<32|uint64(a.posted), buf)
				s.Ack = true
				a.post(b.node, s)
			}
			n.run(n.Int64N(300_000), nil)
		}
	}
	n.Down = false
	n.run(10*second, nil)
	for _, l := range all {
		l.check(t)
	}
	for _, l := range all {
		for _, m := range l.acked {
			to := all[m[0]-1]
			if !to.seen[[2]uint64{l.id, m[2]}] && n.at(to.host) == to.node && mode != "native" {
				if from := all[m[1]-1]; to.broken > 0 && !(to.cfg.Extensions && from.cfg.Extensions) {
					to.broken-- // an endpoint that removes a native peer within a message must take the rest of it
					continue
				}
				t.Errorf("message %d of %d to %d was acknowledged, and did not arrive", m[2], l.id, to.id)
			}
		}
	}
	return n.Hash
}

// check examines what an endpoint received.
func (l *incarnation) check(t *testing.T) {
	t.Helper()
	done := map[uint64]bool{}
	for _, c := range l.done {
		switch c.Kind {
		case xengine.KindSend:
			if done[c.Ctx] {
				t.Errorf("operation %d of %d completed twice", uint32(c.Ctx), l.id)
			}
			done[c.Ctx] = true
			if c.Err == nil {
				l.acked = append(l.acked, [3]uint64{c.Ctx >> 32, l.id, uint64(uint32(c.Ctx))})
			}
		case xengine.KindRecv:
			if c.Err != nil {
				l.broken++
				continue
			}
			b := l.bufs[c.Ctx]
			from, number := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
			if number < l.next[from] {
				t.Errorf("%d received message %d of %d after %d", l.id, number, from, l.next[from]-1)
			}
			l.next[from] = number + 1
			l.seen[[2]uint64{from, number}] = true
		}
	}
	if len(done) != l.posted {
		t.Errorf("%d of %d operations of %d completed", len(done), l.posted, l.id)
	}
}
