package session

import (
	"testing"

	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/wire"
)

// TestNoReceives sends more than a peer without posted receives may keep, for longer than the peer timeout. The
// peer answers, so it is alive. Messages that it could not receive completely have not arrived yet.
func TestNoReceives(t *testing.T) {
	eachMode(t, func(t *testing.T, n *world, a, b *node) {
		b.rx.PeerLimit = 5000
		for i := range 3 {
			s := msg(uint64(i), pattern(4000, byte(i)))
			s.Ack = true
			a.post(b, s)
		}
		a.post(b, rma(xengine.KindWrite, 9, pattern(3000, 1), 0))
		n.run(100*second, nil)
		if len(a.failed)+len(a.errs())+len(b.failed) > 0 {
			t.Fatal(a.failed, a.errs(), b.failed)
		}
		if k := a.count(xengine.KindSend); k > 2 {
			t.Errorf("%d sends complete", k)
		}
		for i := range 3 {
			b.recv(make([]byte, 5000), uint64(i))
			n.run(2*second, nil)
			if k := b.count(xengine.KindRecv); k != i+1 {
				t.Errorf("%d received of %d", k, i+1)
			}
		}
		if a.count(xengine.KindSend) != 3 || a.count(xengine.KindWrite) != 1 {
			t.Error(a.count(xengine.KindSend), a.count(xengine.KindWrite))
		}
	})
}

// TestNativeRestart restarts a native peer before it has sent anything but RTS. The new process gets an index of
// its own, and a repeated RTS the same one again.
func TestNativeRestart(t *testing.T) {
	n := newWorld(t, 1)
	a := n.add(1, nil)
	index := func(remote uint64) uint64 {
		r := wire.RTS{RTSAddr: remote, Source: at(2)}
		a.e.Receive(n.Now, at(2), r.Append(nil))
		if !a.e.Poll(n.Now, &a.out) {
			t.Fatal("no answer")
		}
		var c wire.CTS
		if _, err := c.Parse(a.out.Head); err != nil {
			t.Fatal(err)
		}
		return c.CTSAddr
	}
	first, again, second := index(5), index(5), index(6)
	if first != again || first == second {
		t.Error(first, again, second)
	}
}
