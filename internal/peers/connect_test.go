package peers_test

import (
	"errors"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/telemetry"
)

// TestConnect: the first operation opens a connection. Operations wait for it, and both ends use it.
func TestConnect(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{}), w.open(high, settings{})
		to, from := a.insert(b), b.insert(a)
		a.send(to, "one", 1)
		a.send(to, "two", 2)
		a.want("-")
		a.conns(1)
		b.conns(0)
		w.flow()
		a.want("sent 1, sent 2")
		b.want("one from 0, two from 0")
		b.send(from, "back", 3)
		b.want("sent 3")
		w.flow()
		a.want("back from 0")
		if a.conns(1); w.n.dials != 1 {
			t.Errorf("%d connects", w.n.dials)
		}
		b.conns(1)
		if err := a.Send(nil, 0, 77, 4); err != core.ErrInval {
			t.Errorf("an index without address: %v", err)
		}
	})
}

// TestNoListener: operations fail when no endpoint listens at the address. The next one connects again.
func TestNoListener(t *testing.T) {
	run(t, func(w *world) {
		a := w.open(low, settings{})
		to := a.insertAddr(high)
		a.send(to, "one", 1)
		a.send(to, "two", 2)
		w.flow()
		a.want("failed 1: Connection refused, failed 2: Connection refused")
		a.conns(0)
		b := w.open(high, settings{})
		a.send(to, "three", 3)
		w.flow()
		a.want("sent 3")
		b.want("three from ?")
	})
}

// TestNoTransport: the call that needs a connection fails when none can be opened, and leaves nothing behind.
func TestNoTransport(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{}), w.open(high, settings{})
		to := a.insert(b)
		w.n.refuse = core.ErrHostUnreach
		if err := a.Send([]byte("one"), 0, to, 1); !errors.Is(err, core.ErrHostUnreach) {
			t.Errorf("no route: %v", err)
		}
		w.n.refuse = core.ErrAgain // an application would repeat the call for ever after EAGAIN
		if err := a.Send([]byte("one"), 0, to, 1); !errors.Is(err, core.ErrAddrNotAvail) {
			t.Errorf("no local ports: %v", err)
		}
		a.conns(0)
		a.want("-")
		w.n.refuse = nil
		a.send(to, "one", 1)
		w.flow()
		a.want("sent 1")
	})
}

// TestNoAnswer: a connect without an answer ends by its deadline.
func TestNoAnswer(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{}), w.open(high, settings{})
		a.send(a.insert(b), "one", 1)
		for _, l := range a.links() {
			l.Hold(true)
		}
		w.pass(handshake - 10*time.Millisecond)
		a.want("-")
		w.pass(20 * time.Millisecond)
		a.want("failed 1: Connection timed out")
		a.conns(0)
		w.flow()
		b.conns(0) // its end has closed, too
		b.want("-")
	})
}

// TestReset: the path breaks. Operations in progress fail at both ends, and the next one connects again.
func TestReset(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{}), w.open(high, settings{})
		to, from := a.insert(b), b.insert(a)
		a.sendAck(to, "one", 1)
		w.flow()
		a.want("sent 1")
		b.want("one from 0")
		a.sendAck(to, "lost", 2)
		b.sendAck(from, "lost", 3)
		a.links()[0].reset()
		w.flow()
		a.want("failed 2: Connection reset by peer")
		b.want("failed 3: Connection reset by peer")
		a.conns(0)
		b.conns(0)
		b.send(from, "two", 4)
		w.flow()
		b.want("sent 4")
		a.want("two from 0")
	})
}

// TestRefused: a peer refuses a request, and no connection of its own is on its way. The operation fails at once.
func TestRefused(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{}), w.open(high, settings{})
		b.deny = true
		a.send(a.insert(b), "one", 1)
		w.flow()
		a.want("failed 1: Connection refused")
		a.conns(0)
		if b.conns(0); w.n.dials != 1 || b.refused != 1 || b.crossed != 0 {
			t.Errorf("%d connects, %d refusals, %d of them in favour of another connection", w.n.dials, b.refused, b.crossed)
		}
	})
}

// TestRefusedAgain: a refusal may mean that the peer's own request is on its way. The request is repeated while the
// peer refuses, until Patience is over. An operation that was posted meanwhile fails, too.
func TestRefusedAgain(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{patience: 2 * time.Second}), w.open(high, settings{})
		a.stay, b.deny = true, true
		to := a.insert(b)
		a.send(to, "one", 1)
		w.pass(time.Second)
		a.want("-")
		b.deny = false
		w.pass(250 * time.Millisecond)
		a.want("sent 1")
		b.want("one from ?")

		a, b = a.restart(), b.restart()
		a.stay, b.deny = true, true
		to = a.insert(b)
		a.send(to, "one", 1)
		w.pass(time.Second)
		a.send(to, "two", 2)
		before := w.n.dials
		w.pass(1500 * time.Millisecond)
		a.want("failed 1: Connection refused, failed 2: Connection refused")
		a.conns(0)
		if n := w.n.dials - before; n < 3 || n > 10 {
			t.Errorf("%d connects in the last second", n)
		}
		dials := w.n.dials
		if w.pass(time.Second); w.n.dials != dials {
			t.Error("it connects, though no operation waits")
		}
	})
}

// TestNothingWaits: the operation is canceled while the peer has not answered. After a refusal there is no reason to
// connect again.
func TestNothingWaits(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{}), w.open(high, settings{})
		a.stay, b.deny = true, true
		a.send(a.insert(b), "one", 1)
		must(t, a.Cancel(1))
		if err := a.Cancel(1); err != core.ErrNoEnt {
			t.Errorf("Cancel again: %v", err)
		}
		w.pass(time.Second)
		a.want("failed 1: Operation canceled")
		if a.conns(0); w.n.dials != 1 {
			t.Errorf("%d connects", w.n.dials)
		}
	})
}

// TestRoom: operations that wait count against the depth of the connection.
func TestRoom(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{depth: 2}), w.open(high, settings{})
		to := a.insert(b)
		a.send(to, "one", 1)
		a.send(to, "two", 2)
		if err := a.Send([]byte("three"), 0, to, 3); err != core.ErrAgain {
			t.Errorf("a third operation: %v, want FI_EAGAIN", err)
		}
		w.flow()
		a.send(to, "three", 3)
		a.want("sent 1, sent 2, sent 3")
		w.flow()
		b.want("one from ?, two from ?, three from ?")
	})
}

// TestDisconnect: the application aborts a connection. Its operations fail with FI_ECANCELED, and the next one
// connects again.
func TestDisconnect(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{aux: 1}), w.open(high, settings{aux: 1})
		to := a.insert(b)
		if err := a.Disconnect(to); err != core.ErrNotConn {
			t.Errorf("no connection: %v", err)
		}
		a.send(to, "one", 1)
		must(t, a.Disconnect(to)) // it waits for the connection
		a.want("failed 1: Operation canceled")
		a.conns(0)
		w.flow()
		b.want("-")
		b.conns(0)
		a.sendAck(to, "two", 2)
		w.flow()
		w.aux(a, to, 1)
		a.want("sent 2")
		b.want("two from ?")
		a.sendAck(to, "three", 3)
		must(t, a.Disconnect(to))
		a.want("failed 3: Operation canceled")
		a.conns(0)
		w.flow()
		b.want("three from ?")
		b.conns(0)
		a.send(to, "four", 4)
		w.flow()
		a.want("sent 4")
		b.want("four from ?")
	})
}

// TestHidden: an endpoint does not connect to a peer that has said that it accepts no connections. It uses the
// peer's own connection.
func TestHidden(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{}), w.open(high, settings{hidden: true})
		to, from := a.insert(b), b.insert(a)
		b.send(from, "one", 1)
		w.flow()
		a.want("one from 0")
		a.send(to, "two", 2)
		w.flow()
		b.want("sent 1, two from 0")
		if a.want("sent 2"); w.n.dials != 1 {
			t.Errorf("%d connects", w.n.dials)
		}
		b = b.restart()
		a.links()[0].reset()
		w.flow()
		if err := a.Send(nil, 0, to, 3); !errors.Is(err, core.ErrFirewallAddr) {
			t.Errorf("its connection has ended: %v", err)
		}
		b.send(b.insert(a), "three", 4)
		w.flow()
		a.want("three from 0")
	})
}

// TestDenied: endpoints with different authorization keys do not connect. The one that was asked counts it.
func TestDenied(t *testing.T) {
	run(t, func(w *world) {
		a, b, c := w.open(low, settings{key: "a"}), w.open(high, settings{key: "b"}), w.open(mid, settings{key: "a"})
		a.send(a.insert(b), "one", 1)
		w.flow()
		a.want("failed 1: Permission denied")
		a.conns(0)
		b.conns(0)
		w.locked(func() {
			counts := telemetry.Counts{}
			if b.ObserveCounts(counts); b.Denied != 1 || counts["drops.denied"] != 1 {
				t.Errorf("%d denied, counted %v", b.Denied, counts)
			}
			counts = telemetry.Counts{}
			if a.ObserveCounts(counts); len(counts) > 0 {
				t.Errorf("counted %v where nothing was denied", counts)
			}
		})
		a.send(a.insert(c), "two", 2)
		w.flow()
		a.want("sent 2")
		c.want("two from ?")
	})
}

// TestSelf: an endpoint sends to itself. One connection sends, the other receives.
func TestSelf(t *testing.T) {
	run(t, func(w *world) {
		a := w.open(low, settings{aux: 2})
		me := a.insert(a)
		a.sendAck(me, "one", 1)
		w.flow()
		a.send(me, "two", 2)
		w.flow()
		a.sorted("a", "sent 1, sent 2", "one from 0, two from 0")
		if a.conns(2); w.n.dials != 1 {
			t.Errorf("%d connects", w.n.dials)
		}
		w.locked(func() {
			if c, _ := a.Route(me); a.Spread(c) != c {
				t.Error("an endpoint has auxiliary connections with itself")
			}
		})
		w.flow()
		if w.n.dials != 1 {
			t.Errorf("%d connects", w.n.dials)
		}
		a.send(me, "lost", 3)
		a.links()[0].reset()
		w.flow()
		a.want("sent 3")
		a.conns(0)
		a.send(me, "three", 4)
		w.flow()
		a.sorted("a", "sent 4", "three from 0")
	})
}

// TestForget: all connections and their links learn that a memory region has closed.
func TestForget(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{aux: 1}), w.open(high, settings{aux: 1})
		to := a.insert(b)
		a.send(to, "one", 1)
		w.flow()
		w.aux(a, to, 1)
		r, err := w.d.RegMR(&core.MRAttr{IOV: [][]byte{make([]byte, 8)}, Access: core.AccessRemoteWrite, RequestedKey: 3})
		must(t, err)
		must(t, r.Close())
		for _, x := range []*app{a, b} {
			if list := x.links(); len(list) != 2 {
				t.Errorf("%v has %d links, want 2", x.at, len(list))
			}
			for _, l := range x.links() {
				if len(l.forgotten) != 1 || l.forgotten[0] != 3 {
					t.Errorf("%v: a link has forgotten %v, want key 3", x.at, l.forgotten)
				}
			}
		}
	})
}
