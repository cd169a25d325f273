package session

import (
	"math/rand/v2"
	"testing"

	xengine "gofabric/internal/xnet/engine"
)

const mib = 1 << 20

// TestShares checks which peers count as ahead.
func TestShares(t *testing.T) {
	t.Run("alone", func(t *testing.T) {
		var s fairness
		var a share
		for range 20000 {
			if s.add(&a, 65000) {
				t.Fatal("a peer is ahead though it is alone")
			}
		}
	})
	t.Run("even", func(t *testing.T) {
		var s fairness
		var list [7]share
		for i := range 50000 {
			if s.add(&list[i%len(list)], 65000) {
				t.Fatalf("a peer is ahead of peers that have sent as much, after %d", i)
			}
		}
	})
	t.Run("ahead, then level", func(t *testing.T) {
		var s fairness
		var a, b share
		s.add(&a, 1)
		s.add(&b, 1)
		s.add(&a, mib)
		if s.add(&b, mib) || s.add(&a, shareSlack) {
			t.Error("a peer is ahead though it has sent little more")
		}
		if !s.add(&a, mib) {
			t.Error("a peer that has sent much more is not ahead")
		}
		s.add(&b, mib)
		if s.add(&a, 1000) {
			t.Error("a peer is still ahead of one that has sent as much")
		}
	})
	// A peer that always sends little delays no other for long, and is never delayed.
	t.Run("small messages", func(t *testing.T) {
		var s fairness
		var a share
		var small [3]share
		for range 100000 {
			s.add(&a, 65000)
			for i := range small {
				if s.add(&small[i], 1000) {
					t.Fatal("a peer of small messages is ahead")
				}
			}
		}
	})
	t.Run("newcomer", func(t *testing.T) {
		var s fairness
		var a, b, c share
		for range 1000 {
			s.add(&a, 65000)
			s.add(&b, 65000)
		}
		for i := range 1000 {
			if s.add(&c, 65000) || s.add(&a, 65000) || s.add(&b, 65000) {
				t.Fatalf("one of a new and two old peers is ahead of the others, after %d", i)
			}
		}
	})
	t.Run("gone", func(t *testing.T) {
		var s fairness
		var a, b share
		rnd := rand.New(rand.NewPCG(1, 1))
		for range 20000 {
			s.add(&a, rnd.IntN(65000))
			s.add(&b, rnd.IntN(65000))
		}
		s.remove(&a)
		s.remove(&b)
		if s.total != 0 || s.squares != 0 {
			t.Errorf("%v bytes and %v squares are left without peers", s.total, s.squares)
		}
	})
}

// sendMany posts n messages to another node at once.
func (d *node) sendMany(to *node, n int) {
	for range n {
		d.post(to, msg(1, make([]byte, 60_000)))
	}
}

// TestAheadPeerWaits has two peers send to one endpoint, one of them much more than the other. Its sends do not
// complete before the receiver has nothing left to read.
func TestAheadPeerWaits(t *testing.T) {
	n := newWorld(t, 1)
	hub, a, b := n.add(0, nil), n.add(1, nil), n.add(2, nil)
	for range 100 {
		hub.recv(make([]byte, 60_000), 1)
	}
	for _, d := range []*node{a, b} { // until they are connected
		d.sendMany(hub, 1)
		n.run(second, nil)
		d.done = nil
	}
	a.sendMany(hub, 40)
	b.sendMany(hub, 12)
	held := 0
	for range 20 { // the hub always finds more to read, so no pass ends
		for _, d := range []*node{a, b, hub} {
			d.flush()
		}
		for n.Step() {
		}
		a.e.Advance(n.Now)
		b.e.Advance(n.Now)
		p := hub.e.Lookup(a.addr)
		if float64(p.ext.share.bytes) > hub.e.shares.mean()+shareSlack {
			held++
		}
	}
	arrived := hub.count(xengine.KindRecv) - 2 - b.count(xengine.KindSend)
	if held == 0 || a.count(xengine.KindSend) >= arrived {
		t.Fatalf("%d messages have arrived, and %d are acknowledged; ahead in %d turns",
			arrived, a.count(xengine.KindSend), held)
	}
	hub.e.PassDone(n.Now)
	hub.flush()
	n.run(20*ms, nil)
	if got := a.count(xengine.KindSend); got != 40 {
		t.Errorf("%d of 40 messages are acknowledged when none is left to receive", got)
	}
}
