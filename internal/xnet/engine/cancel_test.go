// This file tests the cancellation of sends and receives.

package engine

import (
	"testing"

	"gofabric/internal/xnet/wire"
)

func TestCancelReceive(t *testing.T) {
	s := connected(t)
	s.b.recv(1, 2, make([]byte, 4))
	s.b.trecv(1, 2, 5, 0, make([]byte, 4))
	for range 2 {
		if !s.b.rx.Cancel(1) {
			t.Error("not cancelled")
		}
	}
	if s.b.rx.Cancel(1) {
		t.Error("cancelled twice")
	}
	s.b.want("recv 1: operation canceled", "recv 1 tag 5: operation canceled")
	s.b.recv(2, 2, make([]byte, 5000))
	s.a.send(Send{Ctx: 3}, pattern(0, 5000))
	s.a.transmit(1 << 20)
	s.receive(s.b, 100)
	if s.b.rx.Cancel(2) {
		t.Error("cancelled a receive that has begun")
	}
	s.flow()
	s.a.want("send 3")
	s.b.want("recv 2 len 5000 src 2")
}

// TestCancelSend checks in each state of a send (waiting, queued, begun, transmitted, asked for) that it can be
// cancelled while nothing of it has left.
func TestCancelSend(t *testing.T) {
	s := newScript(t)
	s.a.cfg.RendezvousOver = 2000
	for i := range 3 {
		s.a.send(Send{Ctx: uint64(i)}, pattern(i, 1000))
	}
	if !s.a.c.Cancel(2) || !s.a.c.Cancel(1) || s.a.c.Cancel(1) {
		t.Error("waiting: want true, true, false")
	}
	s.a.send(Send{Ctx: 4}, pattern(4, 1000))
	s.a.want("send 2: operation canceled", "send 1: operation canceled")
	s.connect()
	s.flow()
	s.a.want("send 0", "send 4")
	s.b.checkUnexpected(2)

	s.a.c.Rendezvous = true
	s.a.send(Send{Ctx: 10}, pattern(0, 1000))
	s.a.send(Send{Ctx: 11, Ack: true}, pattern(1, 100), pattern(1, 30))
	s.a.send(Send{Ctx: 12}, pattern(2, 1000), pattern(2, 1000))
	s.a.send(Send{Ctx: 13, Tagged: true}, pattern(3, 3000))
	s.a.send(Send{Kind: KindRead, Ctx: 14}, nil)
	s.a.send(Send{Kind: KindWrite, Ctx: 15}, nil)
	s.a.transmit(1)
	for ctx, want := range map[uint64]bool{10: false, 11: true, 12: true, 13: false, 14: false, 15: true, 99: false} {
		if got := s.a.c.Cancel(ctx); got != want {
			t.Errorf("cancel %d: %v", ctx, got)
		}
		if want {
			s.a.want([]string{"send 11", "send 12", "", "", "write 15"}[ctx-11] + ": operation canceled")
		}
	}
	s.b.trecv(20, 2, 0, 0, make([]byte, 3000))
	s.flow()
	s.a.want("send 10", "read 14 len 0", "send 13")
	s.b.want("silent rread 0 len 0", "recv 20 len 3000 src 2")
	s.b.checkUnexpected(3)
	for i := range uint64(3) {
		s.b.recv(i, AnySource, make([]byte, 1000))
		// The first two came before the source was set.
		s.b.want("recv " + num(i) + " len 1000" + []string{"", "", " src 2"}[i])
	}
}

// TestCancelLast checks that a queue that cancelling has emptied holds no memory, and works.
func TestCancelLast(t *testing.T) {
	s := connected(t)
	s.a.send(Send{Ctx: 1}, pattern(0, 1000))
	if !s.a.c.Cancel(1) {
		t.Error("not cancelled")
	}
	s.a.want("send 1: operation canceled")
	s.a.checkPool()
	s.b.recv(2, 2, make([]byte, 10))
	s.a.send(Send{Ctx: 2, Ack: true}, []byte("on"))
	s.flow()
	s.a.want("send 2")
	s.b.want("recv 2 len 2 src 2")
}

// TestCancelSparesResponses checks that cancelling does not remove answers that the peer waits for.
func TestCancelSparesResponses(t *testing.T) {
	s := connected(t)
	s.b.mem.regions = [][]byte{make([]byte, 1000)}
	s.a.send(Send{Kind: KindRead, Ctx: 1, NRMA: 1, RMA: segs(wire.RMAIov{Len: 1000})}, make([]byte, 1000))
	s.flow0(s.a, s.b)
	if s.b.c.Cancel(0) {
		t.Error("a response was cancelled")
	}
	s.flow()
	s.a.want("read 1 len 1000")
	s.b.want("silent rread 0 len 1000")
}
