package peers_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/xnet/engine"
)

// aux makes operations of a to a peer ask for auxiliary connections until n were opened or tried.
func (w *world) aux(a *app, to core.FIAddr, n int) {
	w.t.Helper()
	for range n {
		w.locked(func() {
			c, err := a.Route(to)
			must(w.t, err)
			a.Spread(c)
		})
		w.flow()
	}
}

// spread returns the connections of the next n operations that may overtake, as numbers; 0 is the main one.
func (w *world) spread(a *app, to core.FIAddr, n int) (list []int) {
	w.locked(func() {
		c, err := a.Route(to)
		must(w.t, err)
		for range n {
			list = append(list, a.index(a.Spread(c)))
		}
	})
	return list
}

// index returns the number of a connection, as telemetry sees it. Locked.
func (a *app) index(c *engine.Conn) int {
	i := -1
	a.ObservePeers(func(v endpoint.PeerView) bool {
		if v.Conn == c {
			i = v.Index
		}
		return i < 0
	})
	return i
}

// over posts a message on the connection with a number, as an operation that may overtake. ack is as for sendAck.
func (w *world) over(a *app, to core.FIAddr, index int, text string, ctx uint64, ack bool) {
	w.locked(func() {
		main, err := a.Route(to)
		must(w.t, err)
		var c *engine.Conn
		a.ObservePeers(func(v endpoint.PeerView) bool {
			if v.Index == index {
				c = v.Conn
			}
			return c == nil
		})
		if c == nil || c == main {
			w.t.Fatalf("there is no connection %d", index)
		}
		s := engine.Send{Kind: engine.KindSend, Ctx: ctx, Ack: ack, NIOV: 1}
		s.IOV[0] = []byte(text)
		must(w.t, c.Submit(&s))
		a.Posted(c, false)
	})
}

// TestAux: a peer's auxiliary connections are opened when operations may overtake, and used in turn by both ends.
func TestAux(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{aux: 3}), w.open(high, settings{aux: 3})
		to, from := a.insert(b), b.insert(a)
		a.send(to, "one", 1)
		if got := w.spread(a, to, 2); !slices.Equal(got, []int{0, 0}) || w.n.dials != 1 {
			t.Errorf("before the first connection is up: %v, %d connects", got, w.n.dials)
		}
		w.flow()
		if got := w.spread(a, to, 2); !slices.Equal(got, []int{0, 0}) || w.n.dials != 3 {
			t.Errorf("while they are opened: %v, %d connects, want 3", got, w.n.dials)
		}
		w.flow()
		if got := w.spread(b, from, 6); !slices.Equal(got, []int{2, 3, 0, 2, 3, 0}) || w.n.dials != 4 {
			t.Errorf("the peer uses %v, %d connects, want the two that are there, and one of its own", got, w.n.dials)
		}
		w.flow()
		w.aux(a, to, 3)
		a.conns(4)
		b.conns(4)
		for name, x := range map[string][]int{"a": w.spread(a, to, 6), "b": w.spread(b, from, 6)} {
			turns := slices.Clone(x[:3])
			if slices.Sort(turns); !slices.Equal(x[:3], x[3:]) || !slices.Equal(turns, []int{1, 2, 3}) {
				t.Errorf("%s uses %v, want each in turn", name, x)
			}
		}
		if w.n.dials != 4 {
			t.Errorf("%d connects", w.n.dials)
		}
		w.over(a, to, 2, "two", 2, true)
		w.over(b, from, 1, "three", 3, true)
		w.flow()
		a.want("sent 1, three from 0, sent 2")
		b.want("one from 0, two from 0, sent 3")
	})
}

// TestAuxCrossing: both ends open the same auxiliary connection at once. One remains, and the main connection
// stays as it is.
func TestAuxCrossing(t *testing.T) {
	dials := 0
	n := everyOrder(t, func(w *world) {
		a, b := w.open(low, settings{aux: 1}), w.open(high, settings{aux: 1})
		to, from := a.insert(b), b.insert(a)
		a.send(to, "one", 1)
		pick := w.n.pick
		w.n.pick = nil
		w.flow()
		w.n.pick = pick
		w.spread(a, to, 1)
		w.spread(b, from, 1)
		w.flow()
		a.conns(2)
		b.conns(2)
		if x, y := w.spread(a, to, 1), w.spread(b, from, 1); x[0] != 1 || y[0] != 1 {
			t.Errorf("the ends use %v and %v", x, y)
		}
		w.over(a, to, 1, "two", 2, true)
		w.over(b, from, 1, "three", 3, true)
		w.flow()
		a.sorted("a", "sent 1, sent 2", "three from 0")
		b.sorted("b", "sent 3", "one from 0, two from 0")
		dials = max(dials, w.n.dials)
	})
	if n < 50 || dials != 3 {
		t.Errorf("%d orders, %d connects", n, dials)
	}
}

// TestAuxFails: when an auxiliary connection ends, only its own operations fail, and it is opened again later.
func TestAuxFails(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{aux: 1}), w.open(high, settings{aux: 1})
		to := a.insert(b)
		a.send(to, "one", 1)
		w.flow()
		w.aux(a, to, 1)
		a.want("sent 1")
		b.want("one from ?")
		w.over(a, to, 1, "lost", 2, true)
		a.sendAck(to, "two", 3)
		a.auxLink().reset()
		w.flow()
		a.sorted("a", "failed 2: Connection reset by peer, sent 3", "")
		b.want("two from ?")
		a.conns(1)
		b.conns(1)
		dials := w.n.dials
		if w.spread(a, to, 3); w.n.dials != dials {
			t.Error("it is opened again at once")
		}
		w.pass(100 * time.Millisecond)
		w.aux(a, to, 1)
		if got := w.spread(a, to, 1); got[0] != 1 {
			t.Errorf("after a pause the operations use %v", got)
		}
	})
}

// auxLink returns the endpoint's link of its auxiliary connection 1.
func (a *app) auxLink() (found *link) {
	a.w.locked(func() {
		a.ObservePeers(func(v endpoint.PeerView) bool {
			for _, l := range a.links() {
				if v.Index == 1 && l.c == v.Conn {
					found = l
				}
			}
			return true
		})
	})
	if found == nil {
		a.t.Fatal("there is no auxiliary connection")
	}
	return found
}

// TestAuxRefused: auxiliary connections that cannot be opened, that the peer refuses or that do not fit have no
// effect on the main one. In the end they are not tried any more.
func TestAuxRefused(t *testing.T) {
	for name, prepare := range map[string]func(w *world, a, b *app){
		"no transport": func(w *world, _, _ *app) { w.n.refuse = core.ErrAgain },
		"refused":      func(_ *world, _, b *app) { b.deny = true },
		"unlike":       func(_ *world, a, _ *app) { a.unlike = true },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				a, b := w.open(low, settings{aux: 1}), w.open(high, settings{aux: 1})
				to := a.insert(b)
				a.send(to, "0", 1)
				w.flow()
				a.want("sent 1")
				b.want("0 from ?")
				prepare(w, a, b)
				for i := range 20 {
					w.aux(a, to, 2)
					a.conns(1)
					b.conns(1)
					text := fmt.Sprint(i)
					a.send(to, text, 2)
					w.flow()
					a.want("sent 2")
					b.want(text + " from ?")
					w.pass(3 * time.Second)
				}
				if tries := w.n.dials - 1; tries != 8 {
					t.Errorf("tried %d times, want 8", tries)
				}
			})
		})
	}
}

// TestAuxDrained: the peer closes its connections in order. What it has sent on auxiliary ones is received, though
// the close of the main one arrives first.
func TestAuxDrained(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{aux: 1}), w.open(high, settings{aux: 1})
		to, from := a.insert(b), b.insert(a)
		a.send(to, "one", 1)
		w.flow()
		w.aux(a, to, 1)
		x := a.auxLink()
		x.Hold(true)
		w.over(b, from, 1, "two", 2, false)
		b.links()[0].End() // the main connection
		w.flow()
		a.want("sent 1")
		a.conns(1)
		x.Hold(false)
		w.flow()
		a.want("two from 0")
		a.conns(0)
		b.want("one from 0, sent 2")
	})
}
