package peers_test

import (
	"errors"
	"testing"
	"time"

	"gofabric/core"
)

// connected makes a connection between a and b, on which a has sent.
func (w *world) connected(s settings) (a, b *app, toB, toA core.FIAddr) {
	w.t.Helper()
	a, b = w.open(low, s), w.open(high, s)
	toB, toA = a.insert(b), b.insert(a)
	a.send(toB, "one", 1)
	w.flow()
	a.want("sent 1")
	b.want("one from 0")
	return a, b, toB, toA
}

// TestRestart: a peer was restarted and connects, while its previous connection is up here. The new one replaces
// it. Operations that the previous incarnation has not acknowledged fail, and none is sent to it any more.
func TestRestart(t *testing.T) {
	run(t, func(w *world) {
		a, b, to, _ := w.connected(settings{aux: 1})
		w.aux(a, to, 1)
		a.conns(2)
		b = b.restart()
		from := b.insert(a)
		a.sendAck(to, "lost", 2)
		a.links()[0].other.held = true // the system of the dead peer does not answer
		b.sendAck(from, "new", 3)
		w.flow()
		a.sorted("a", "failed 2: Connection reset by peer", "new from 0")
		b.want("sent 3")
		a.send(to, "two", 4)
		w.flow()
		a.want("sent 4")
		b.want("two from 0")
		a.conns(1)
		b.conns(1)
	})
}

// TestUnexpected: messages that no receive waits for stay when their sender was restarted.
func TestUnexpected(t *testing.T) {
	run(t, func(w *world) {
		a, b, to, _ := w.connected(settings{})
		must(t, b.TRecv(make([]byte, 8), 0, core.AddrUnspec, 7, 0, 1)) // another tag
		must(t, a.TSend([]byte("early"), 0, to, 1, 2))
		w.flow()
		a.want("sent 2")
		a = a.restart()
		a.send(a.insert(b), "new", 3)
		w.flow()
		a.want("sent 3")
		b.want("new from 0")
		buf := make([]byte, 8)
		b.bufs[5] = buf
		must(t, b.TRecv(buf, 0, core.AddrUnspec, 1, 0, 5))
		b.want("early from 0")
	})
}

// TestSameIncarnation: the peer has lost the connection, which this end has not noticed. Its requests are refused
// while they may have crossed one of ours, and then one is accepted.
func TestSameIncarnation(t *testing.T) {
	run(t, func(w *world) {
		a, b, to, from := w.connected(settings{})
		b.links()[0].reset()
		a.links()[0].inbox = nil // the reset was lost
		a.links()[0].other = nil
		b.links()[0].deliver()
		b.conns(0)
		b.sendAck(from, "two", 2)
		w.pass(2 * time.Second)
		b.want("-")
		if a.crossed == 0 {
			t.Error("no request was refused")
		}
		w.pass(2 * time.Second)
		b.want("sent 2")
		a.want("two from 0")
		a.sendAck(to, "three", 3)
		w.flow()
		a.want("sent 3")
		a.conns(1)
		b.conns(1)
	})
}

// TestNoIncarnation: a peer whose incarnation is unknown sends a request while its connection is up. It is refused.
func TestNoIncarnation(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{}), w.open(high, settings{})
		b.noID = true
		to := a.insert(b)
		a.send(to, "one", 1)
		w.flow()
		for _, l := range b.links() {
			l.vanish()
		}
		w.locked(func() {
			for c := range b.Conns {
				c.Fail(core.ErrConnReset)
			}
		})
		b.send(b.insert(a), "two", 2)
		w.pass(50 * time.Millisecond)
		if b.want("one from ?"); a.crossed == 0 {
			t.Error("the request was not refused")
		}
	})
}

// TestAccepted: a peer that is not in the address vector has no source. When its address is inserted, its messages
// have one, and operations to it use its connection.
func TestAccepted(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{aux: 1}), w.open(high, settings{aux: 1})
		from := b.insert(a)
		b.send(from, "one", 1)
		w.flow()
		w.aux(b, from, 1)
		a.want("one from ?")
		must(t, b.TSend([]byte("early"), 0, from, 1, 9)) // no receive waits for it
		w.flow()
		a.insertAddr(mid)
		to := a.insert(b)
		b.send(from, "two", 2)
		w.over(b, from, 1, "three", 3, true)
		w.flow()
		a.sorted("a", "", "two from 1, three from 1")
		a.bufs[5] = make([]byte, 8)
		must(t, a.TRecv(a.bufs[5], 0, core.AddrUnspec, 1, 0, 5))
		a.want("early from 1")
		a.send(to, "back", 4)
		w.flow()
		if b.sorted("b", "sent 1, sent 2, sent 3, sent 9", "back from 0"); w.n.dials != 2 {
			t.Errorf("%d connects, want 2", w.n.dials)
		}
	})
}

// TestRemove: the address of a peer is removed. Its messages have no source then, and operations to the old index
// fail. When it is inserted again, its connection is used.
func TestRemove(t *testing.T) {
	run(t, func(w *world) {
		a, b, to, from := w.connected(settings{aux: 1})
		w.aux(a, to, 1)
		must(t, a.av.Remove([]core.FIAddr{to}, 0))
		if err := a.Send(nil, 0, to, 2); err != core.ErrInval {
			t.Errorf("an operation to the old index: %v", err)
		}
		if err := a.Disconnect(to); err != core.ErrNotConn {
			t.Errorf("Disconnect of the old index: %v", err)
		}
		b.send(from, "one", 2)
		w.over(b, from, 1, "two", 3, true)
		w.flow()
		a.sorted("a", "", "one from ?, two from ?")
		a.conns(2)
		other := a.insertAddr(mid) // takes the index that is free
		to = a.insert(b)
		if other != 0 || to != 1 {
			t.Fatalf("indices %d and %d", other, to)
		}
		b.send(from, "three", 4)
		w.flow()
		a.want("three from 1")
		dials := w.n.dials
		a.send(to, "back", 5)
		w.flow()
		a.want("sent 5")
		if b.sorted("b", "sent 2, sent 3, sent 4", "back from 0"); w.n.dials != dials {
			t.Error("it has connected again")
		}
		a.send(other, "nobody", 6) // the old index is another peer now
		w.flow()
		a.want("failed 6: Connection refused")
		must(t, a.Disconnect(to))
		a.conns(0)
		a.send(to, "four", 7)
		w.flow()
		b.want("four from 0")
	})
}

// TestRemoveSelf: the address of the endpoint itself is removed, and both of its connections lose their source.
func TestRemoveSelf(t *testing.T) {
	run(t, func(w *world) {
		a := w.open(low, settings{})
		me := a.insert(a)
		a.send(me, "one", 1)
		w.flow()
		must(t, a.av.Remove([]core.FIAddr{me}, 0))
		a.insertAddr(mid)
		me = a.insert(a)
		a.send(me, "two", 2)
		w.flow()
		if a.sorted("a", "sent 1, sent 2", "one from 0, two from 1"); w.n.dials != 1 {
			t.Errorf("%d connects", w.n.dials)
		}
	})
}

// TestClose: an endpoint that closes delivers first what it has sent, and peers see an orderly end.
func TestClose(t *testing.T) {
	run(t, func(w *world) {
		a, b, to, from := w.connected(settings{aux: 1})
		w.aux(a, to, 1)
		b.sendAck(from, "lost", 2)
		a.send(to, "two", 3)
		done := make(chan error)
		go func() { done <- a.Endpoint.Close() }()
		w.pass(10 * time.Millisecond)
		b.want("two from 0, failed 2: Cannot send after transport endpoint shutdown")
		w.pass(2 * time.Second)
		must(t, <-done)
		b.conns(0)
		if w.n.listeners[low] != nil {
			t.Error("it listens after the close")
		}
		must(t, a.cq.Close())
		must(t, a.av.Close())
		a.Endpoint = nil
	})
}

// TestCloseUndelivered: the close fails when a peer has not taken what was sent.
func TestCloseUndelivered(t *testing.T) {
	run(t, func(w *world) {
		a, b, to, _ := w.connected(settings{})
		b.links()[0].Hold(true)
		a.send(to, "two", 3)
		a.want("sent 3")
		err := a.Endpoint.Close()
		if !errors.Is(err, core.ErrTimedOut) {
			t.Errorf("Close: %v, want FI_ETIMEDOUT", err)
		}
		must(t, a.cq.Close())
		must(t, a.av.Close())
		a.Endpoint = nil
	})
}
