package peers_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"gofabric/core"
)

const idle = 400 * time.Millisecond

// TestIdle: a connection that is idle for IdleTime is closed at both ends. The next operation opens another one.
func TestIdle(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{idle: idle, aux: 1}), w.open(high, settings{aux: 1})
		to, from := a.insert(b), b.insert(a)
		a.send(to, "one", 1)
		w.flow()
		w.aux(a, to, 1)
		for i := range 4 { // in use
			w.pass(idle - 150*time.Millisecond)
			a.send(to, fmt.Sprint(i), 2)
		}
		w.flow()
		a.conns(2)
		b.conns(2)
		a.take()
		b.take()
		w.pass(idle + 200*time.Millisecond)
		a.conns(0)
		b.conns(0)
		b.send(from, "two", 3)
		w.flow()
		a.want("two from 0")
		if b.want("sent 3"); w.n.dials != 3 {
			t.Errorf("%d connects, want 3", w.n.dials)
		}
	})
}

// TestBusy: a connection with an operation in progress, or with a message that no receive waits for, is not idle.
func TestBusy(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{idle: idle}), w.open(high, settings{idle: idle})
		to := a.insert(b)
		a.sendAck(to, "one", 1)
		w.flow()
		a.links()[0].Hold(true) // the acknowledgement of the next one does not arrive
		must(t, a.TSendMsg(&core.TaggedArgs{IOV: [][]byte{[]byte("two")}, Addr: to, Tag: 1, Ctx: 2}, core.OpDeliveryComplete))
		w.pass(3 * idle)
		a.want("sent 1")
		a.conns(1)
		b.conns(1)
		a.links()[0].Hold(false)
		w.flow()
		w.pass(3 * idle) // a leaves, and b stays
		a.conns(1)
		b.conns(1)
		b.bufs[5] = make([]byte, 8)
		must(t, b.TRecv(b.bufs[5], 0, core.AddrUnspec, 1, 0, 5))
		w.flow()
		a.want("sent 2")
		b.want("one from ?, two from ?")
		w.pass(3 * idle)
		a.conns(0)
		b.conns(0)
	})
}

// leaving makes a connection from a to b of which a has sent bye. What a has sent since is held back.
func (w *world) leaving(s settings) (a, b *app, toB, toA core.FIAddr) {
	w.t.Helper()
	a, b = w.open(low, settings{idle: idle}), w.open(high, s)
	toB, toA = a.insert(b), b.insert(a)
	a.send(toB, "one", 1)
	w.flow()
	b.links()[0].Hold(true)
	w.pass(idle + 150*time.Millisecond)
	a.want("sent 1")
	b.want("one from 0")
	a.conns(2) // the one that is left, and its successor
	b.conns(1)
	return a, b, toB, toA
}

// TestBye: operations that are posted after the bye wait for the peer's answer, and use another connection.
func TestBye(t *testing.T) {
	run(t, func(w *world) {
		a, b, to, _ := w.leaving(settings{})
		a.sendAck(to, "two", 2)
		w.flow()
		a.want("-")
		b.links()[0].Hold(false)
		w.flow()
		a.want("sent 2")
		b.want("two from 0")
		a.conns(1)
		if b.conns(1); w.n.dials != 2 {
			t.Errorf("%d connects, want 2", w.n.dials)
		}
	})
}

// TestStay: the peer has an operation in progress when the bye arrives, and keeps the connection. Operations that
// were posted meanwhile return to it.
func TestStay(t *testing.T) {
	run(t, func(w *world) {
		a, b, to, from := w.leaving(settings{})
		a.links()[0].Hold(true)
		b.sendAck(from, "back", 3)
		a.sendAck(to, "two", 2)
		b.links()[0].Hold(false)
		w.flow()
		a.want("-")
		a.links()[0].Hold(false)
		w.flow()
		a.sorted("a", "sent 2", "back from 0")
		b.sorted("b", "sent 3", "two from 0")
		a.conns(1)
		if b.conns(1); w.n.dials != 1 {
			t.Errorf("%d connects, want 1", w.n.dials)
		}
		b.send(from, "three", 4)
		w.flow()
		a.want("three from 0")
	})
}

// TestBothLeave: both ends send bye at once. Operations of both that were posted since use one other connection.
func TestBothLeave(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{idle: idle}), w.open(high, settings{idle: idle})
		to, from := a.insert(b), b.insert(a)
		a.send(to, "one", 1)
		w.flow()
		for _, x := range []*app{a, b} {
			x.links()[0].Hold(true)
		}
		w.pass(idle + 150*time.Millisecond)
		a.conns(2)
		b.conns(2)
		a.send(to, "two", 2)
		b.send(from, "back", 3)
		for _, x := range []*app{a, b} {
			x.links()[0].Hold(false)
		}
		w.flow()
		a.sorted("a", "sent 1, sent 2", "back from 0")
		b.sorted("b", "sent 3", "one from 0, two from 0")
		a.conns(1)
		b.conns(1)
	})
}

// TestByeUnanswered: the peer does not answer the bye. The connection is given up, because an operation waits.
func TestByeUnanswered(t *testing.T) {
	run(t, func(w *world) {
		a, b, to, _ := w.leaving(settings{})
		a.sendAck(to, "two", 2)
		b.links()[0].Hold(true)
		w.pass(patience - time.Second)
		a.want("-")
		w.pass(2 * time.Second) // a gives the old connection up
		a.want("sent 2")
		if b.want("two from 0"); w.n.dials != 2 {
			t.Errorf("%d connects, want 2", w.n.dials)
		}
	})
}

// TestByeReset: the connection fails while the bye has no answer. Operations that were posted since are not lost.
func TestByeReset(t *testing.T) {
	run(t, func(w *world) {
		a, _, to, _ := w.leaving(settings{})
		a.sendAck(to, "two", 2)
		a.links()[0].reset()
		w.n.links[0].other.held = false
		w.flow()
		a.want("sent 2")
		a.conns(1)
	})
}

// TestNativeIdle: a peer that does not understand bye sees the end of the stream, and closes its own.
func TestNativeIdle(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{idle: idle}), w.open(high, settings{native: true})
		to := a.insert(b)
		a.send(to, "one", 1)
		w.flow()
		a.want("sent 1")
		b.want("one from ?")
		w.pass(2 * time.Second)
		a.conns(1) // a request that was given up for it may be on its way
		w.pass(4 * time.Second)
		a.conns(0)
		b.conns(0)
		a.send(to, "two", 2)
		w.flow()
		a.want("sent 2")
		b.want("two from ?")
	})
}

// TestMaxConns: the connection that was idle the longest is closed when there are too many.
func TestMaxConns(t *testing.T) {
	run(t, func(w *world) {
		a := w.open(low, settings{maxConns: 2})
		var peers []*app
		var fis []core.FIAddr
		for i := range 4 {
			b := w.open(netip.AddrPortFrom(high.Addr(), uint16(10+i)), settings{})
			peers, fis = append(peers, b), append(fis, a.insert(b))
			a.send(fis[i], "one", 1)
			w.flow()
			w.pass(10 * time.Millisecond)
		}
		w.pass(1100 * time.Millisecond)
		a.conns(2)
		for i, b := range peers {
			b.want("one from ?")
			b.conns(min(i/2, 1))
		}
		a.want("sent 1, sent 1, sent 1, sent 1")
	})
}

// TestByeMessage: the peer has sent a message before its bye, and no receive waits for it. It is received later, and
// those that follow on the next connection stay behind it.
func TestByeMessage(t *testing.T) {
	run(t, func(w *world) {
		a, b, _, from := w.leaving(settings{})
		must(t, b.TSend([]byte("late"), 0, from, 1, 2))
		b.links()[0].Hold(false)
		w.flow()
		must(t, b.TSend([]byte("later"), 0, from, 1, 3))
		w.flow()
		b.want("sent 2, sent 3")
		for ctx := core.OpContext(1); ctx <= 2; ctx++ {
			a.bufs[ctx] = make([]byte, 8)
			must(t, a.TRecv(a.bufs[ctx], 0, core.AddrUnspec, 1, 0, ctx))
		}
		a.want("late from 0, later from 0")
	})
}

// TestStayRenamed: the peer's address gets another index while the bye has no answer.
func TestStayRenamed(t *testing.T) {
	run(t, func(w *world) {
		a, b, to, from := w.leaving(settings{})
		a.links()[0].Hold(true)
		b.sendAck(from, "back", 3)
		b.links()[0].Hold(false)
		w.flow()
		must(t, a.av.Remove([]core.FIAddr{to}, 0))
		a.insertAddr(mid)
		if to = a.insert(b); to != 1 {
			t.Fatalf("index %d", to)
		}
		a.links()[0].Hold(false)
		w.flow()
		a.take()
		b.send(from, "two", 4)
		w.flow()
		a.want("two from 1")
		a.send(to, "three", 5)
		w.flow()
		b.sorted("b", "sent 3, sent 4", "three from 0")
		if w.n.dials != 1 {
			t.Errorf("%d connects, want 1", w.n.dials)
		}
	})
}

// TestNativeIdleAux: a peer that does not understand bye closes its connections. What it has sent on an auxiliary
// one is received, though the end of the main one arrives first.
func TestNativeIdleAux(t *testing.T) {
	run(t, func(w *world) {
		a, b := w.open(low, settings{idle: 5 * time.Second, aux: 1}), w.open(high, settings{native: true, aux: 1})
		to, from := a.insert(b), b.insert(a)
		a.send(to, "one", 1)
		w.flow()
		w.aux(a, to, 1)
		x, main := a.auxLink(), b.links()[0]
		w.pass(4 * time.Second)
		x.Hold(true)
		main.Hold(true)
		w.pass(3 * time.Second)
		if a.conns(3); a.links()[0].shut != true {
			t.Error("it has not left")
		}
		w.over(b, from, 1, "two", 2, false)
		main.Hold(false)
		w.flow()
		a.want("sent 1")
		x.Hold(false)
		w.flow()
		a.want("two from 0")
		b.want("one from 0, sent 2")
	})
}
