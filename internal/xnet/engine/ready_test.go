// This file tests connections whose transport has its own handshake.

package engine

import "testing"

func TestReady(t *testing.T) {
	s := readyPair(t)
	s.a.wantState(Connected)
	if !s.a.c.Idle() || s.a.c.Deadline() != 0 {
		t.Error("a new connection is not idle")
	}
	buf := make([]byte, 5000)
	s.b.recv(1, 2, buf)
	s.a.send(Send{Ctx: 2, Ack: true}, pattern(1, 5000))
	if s.a.c.InFlight() != 1 || s.a.c.Idle() {
		t.Error("an operation does not count")
	}
	s.flow()
	s.a.want("send 2")
	s.b.want("recv 1 len 5000 src 2")
	same(t, "received", buf, pattern(1, 5000))
	s.a.send(Send{Ctx: 3}, []byte("unexpected"))
	s.a.want("send 3")
	if s.a.c.InFlight() != 0 || s.a.c.Idle() {
		t.Error("a connection with bytes to transmit counts as idle")
	}
	s.flow()
	if !s.a.c.Idle() || s.b.c.Idle() {
		t.Error("want a idle and b not: it has a message")
	}
	s.b.recv(4, 2, buf)
	s.b.want("recv 4 len 10 src 2")
	if !s.b.c.Idle() {
		t.Error("not idle")
	}
}

// TestWaiting checks that operations wait for a peer that is not connected yet, including those whose buffer goes
// back to the caller.
func TestWaiting(t *testing.T) {
	s := readyPair(t)
	s.a.c = NewWaiting(&s.a.pool, &s.a.cfg, s.a.rx, &s.a.mem, s.a)
	p := pattern(0, 300)
	s.a.send(Send{Ctx: 1}, p[:100])
	s.a.send(Send{Ctx: 2, Inject: true}, p[100:])
	clear(p[100:])
	s.a.c.Advance(1 << 62)
	if !s.a.c.Waiting() || s.a.c.InFlight() != 2 || s.a.c.Unsent() != 0 {
		t.Error("not waiting")
	}
	must(t, s.a.c.Ready())
	if s.a.c.Ready() != ErrState {
		t.Error("ready twice")
	}
	s.flow()
	s.a.want(`connected ""`, "send 1", "inject send 2")
	buf := make([]byte, 300)
	s.b.recv(5, 2, buf)
	s.b.recv(6, 2, buf[100:])
	s.b.want("recv 5 len 100 src 2", "recv 6 len 200 src 2")
	same(t, "received", buf, pattern(0, 300))

	s.a.c = NewWaiting(&s.a.pool, &s.a.cfg, s.a.rx, &s.a.mem, s.a)
	s.a.send(Send{Ctx: 1}, p)
	s.a.c.Fail(ErrTimeout)
	s.a.want(`failed "": `+ErrTimeout.Error(), "send 1: "+ErrTimeout.Error())
	if s.a.c.Ready() != ErrState {
		t.Error("ready after the end")
	}
}
