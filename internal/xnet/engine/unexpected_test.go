// This file tests messages before their receives: budgets and stalls, peek, claim, discard, and sources that become
// known late.

package engine

import (
	"testing"

	"gofabric/internal/xnet/wire"
)

// TestRedirect posts the receive at every moment of a message's arrival.
func TestRedirect(t *testing.T) {
	const n = 9000
	p := pattern(0, n)
	for _, at := range []int{0, 1, 100, 4096, 4999, 8999, n} {
		for _, room := range []int{0, 50, 5000, n} {
			for _, direct := range []bool{false, true} {
				s := connected(t)
				s.direct = direct
				s.a.send(Send{Ctx: 1, Ack: true}, p)
				s.a.send(Send{Ctx: 2}, []byte("next"))
				s.a.transmit(1 << 20)
				for k := 16 + at; k > 0; {
					k -= s.receive(s.b, min(k, 1500))
				}
				buf := make([]byte, room)
				s.b.recv(3, 2, buf[:room/3], buf[room/3:])
				s.b.recv(4, 2, make([]byte, 4))
				s.flow()
				if room < n {
					s.b.want("recv 3 len " + num(uint64(room)) + " over " + num(uint64(n-room)) +
						": message longer than the posted buffer")
				} else {
					s.b.want("recv 3 len 9000 src 2")
				}
				s.b.want("recv 4 len 4 src 2")
				s.a.want("send 2", "send 1")
				same(t, "redirected", buf, p[:room])
			}
		}
	}
}

// second connects another peer with number 3 to b's endpoint, and returns its connection there. The test acts as
// the peer.
func (s *script) second() *Conn {
	c := NewPassive(&s.b.pool, &s.b.cfg, s.b, 0)
	c.Attach(&s.b.pool, &s.b.cfg, s.b.rx, &s.b.mem, s.b)
	c.Receive(0, wire.AppendCM(nil, wire.CMConnReq, nil))
	must(s.t, c.Accept(nil))
	s.b.want(`requested ""`, `connected ""`)
	c.Src = 3
	s.t.Cleanup(func() { c.Drop(ErrClosed) }) // runs before that of the script
	return c
}

func message0(n int, fill byte) []byte {
	b := header(wire.Header{Op: wire.OpMsg}, uint64(n))
	for range n {
		b = append(b, fill)
	}
	return b
}

// TestPeerBudget checks that a peer that uses up its budget is not read until a receive takes something, and that
// the other peer is not affected.
func TestPeerBudget(t *testing.T) {
	for name, limit := range map[string]func(rx *RxContext){
		"bytes": func(rx *RxContext) { rx.PeerLimit = 20000 }, "messages": func(rx *RxContext) { rx.PeerMessages = 4 },
	} {
		s := connected(t)
		s.cut = 4096
		limit(s.b.rx)
		other := s.second()
		for i := range 20 {
			s.a.send(Send{Ctx: uint64(i)}, pattern(i, 5000))
		}
		s.flow()
		if !s.b.c.Stalled() || s.b.rx.Unexpected() > 6 || len(s.a.wire) < 60000 {
			t.Fatalf("%s: %d messages taken", name, s.b.rx.Unexpected())
		}
		s.b.recv(50, 3, make([]byte, 10))
		other.Receive(0, message0(9, 'x'))
		s.b.want("recv 50 len 9 src 3")
		other.Receive(0, message0(9, 'y'))
		if other.Stalled() {
			t.Errorf("%s: the other peer is stalled", name)
		}
		for i := range 20 {
			buf := make([]byte, 5000)
			s.b.recv(uint64(i), 2, buf)
			s.flow()
			s.b.want("recv " + num(uint64(i)) + " len 5000 src 2")
			s.a.want("send " + num(uint64(i)))
			same(t, name, buf, pattern(i, 5000))
		}
		if s.b.c.Stalled() || s.b.resumed == 0 {
			t.Errorf("%s: still stalled", name)
		}
		s.b.recv(51, AnySource, make([]byte, 10))
		s.b.want("recv 51 len 9 src 3")
	}
}

// TestTotalBudget checks that a message without room, because of one peer's flood, is still matched, and does not
// wait for the flood.
func TestTotalBudget(t *testing.T) {
	for _, size := range []int{0, 100, 9000} {
		s := connected(t)
		s.b.rx.Limit = 10000
		flood := s.second()
		for !flood.Stalled() {
			flood.Receive(0, message0(3000, 'f'))
		}
		stored := s.b.rx.UnexpectedBytes()
		for i := range 5 {
			s.a.send(Send{Ctx: 1}, pattern(i, size))
			s.a.send(Send{Ctx: 2, Tagged: true, Tag: 1}, pattern(i, size))
		}
		s.flow()
		s.a.events = nil
		if s.b.rx.UnexpectedBytes() > stored+2*messageOverhead {
			t.Errorf("%d more bytes stored beyond the limit", s.b.rx.UnexpectedBytes()-stored)
		}
		for i := range 5 {
			buf := make([]byte, size)
			s.b.recv(7, 2, buf)
			s.flow()
			s.b.want("recv 7 len " + num(uint64(size)) + " src 2")
			same(t, "message", buf, pattern(i, size))
			s.b.trecv(8, 2, 1, 0, buf)
			s.flow()
			s.b.want("recv 8 len " + num(uint64(size)) + " tag 1 src 2")
		}
		s.a.events = nil
		if !flood.Stalled() {
			t.Error("the flood goes on")
		}
		s.b.rx.Release()
	}
}

// TestRendezvousAmongFlood checks that the data of a rendezvous is received although others use up the room.
func TestRendezvousAmongFlood(t *testing.T) {
	s := newScript(t)
	s.b.rx.Limit = 10000
	withRendezvous(s)
	flood := s.second()
	for !flood.Stalled() {
		flood.Receive(0, message0(3000, 'f'))
	}
	for i := range 3 {
		s.a.send(Send{Ctx: 1, Tagged: true, Tag: uint64(i)}, pattern(i, 5000))
	}
	s.flow()
	for i := range 3 {
		buf := make([]byte, 5000)
		s.b.trecv(2, 2, uint64(i), 0, buf)
		s.flow()
		s.b.events[0] = s.b.events[0][:15]
		s.b.want("recv 2 len 5000")
		s.a.want("send 1")
		same(t, "data", buf, pattern(i, 5000))
	}
	s.b.rx.Release()
}

// claim receives the message that a peek with this ctx has set aside.
func (e *end) claim(ctx uint64, room int) ([]byte, error) {
	op, buf := e.rx.NewOp(), make([]byte, room)
	op.Ctx = ctx
	op.SetBuf(buf)
	err := e.rx.Claim(op)
	if err != nil {
		e.rx.FreeOp(op)
	}
	return buf, err
}

func TestPeek(t *testing.T) {
	for _, tagged := range []bool{false, true} {
		s := connected(t)
		rx := s.b.rx
		tag, text := uint64(0), ""
		if tagged {
			tag, text = 6, " tag 6"
		}
		peek := func(ctx uint64, claim, discard bool) {
			t.Helper()
			must(t, rx.Peek(tagged, 2, tag, 0, ctx, 0, claim, discard))
		}
		peek(1, true, false)
		s.b.want("recv 1" + text + ": no matching message")
		for i := range 4 {
			s.a.send(Send{Ctx: 9, Tagged: tagged, Tag: tag, HasData: i == 1, Data: 8, Ack: true}, pattern(i, 500+i))
		}
		s.flow()
		s.a.want("send 9", "send 9", "send 9", "send 9")
		peek(2, false, false)
		peek(3, true, false)
		s.b.want("recv 2 len 500"+text+" src 2", "recv 3 len 500"+text+" src 2")
		if err := rx.Peek(tagged, 2, tag, 0, 3, 0, true, false); err != ErrState {
			t.Errorf("claimed twice with one context: %v", err)
		}
		s.b.events = nil
		peek(4, false, true)
		s.b.want("recv 4 len 501" + text + " src 2 data 8")
		peek(5, true, false)
		s.b.want("recv 5 len 502" + text + " src 2")
		if _, err := s.b.claim(77, 10); err != ErrNoMessage {
			t.Errorf("claim of nothing: %v", err)
		}
		if err := rx.Discard(77, 0); err != ErrNoMessage {
			t.Errorf("discard of nothing: %v", err)
		}
		must(t, rx.Discard(5, 0))
		s.b.want("recv 5 len 0" + text + " src 2")
		buf, err := s.b.claim(3, 500)
		must(t, err)
		s.b.want("recv 3 len 500" + text + " src 2")
		same(t, "claimed", buf, pattern(0, 500))
		s.b.checkUnexpected(1)
	}
}

// TestPeekInProgress peeks, claims and discards a message that is still coming, also while the connection is
// stalled for it.
func TestPeekInProgress(t *testing.T) {
	for _, limit := range []uint64{1, 1 << 20} {
		for _, how := range []string{"claim", "discard", "claim, discard", "claim, close", "release"} {
			s := connected(t)
			s.b.rx.PeerLimit = limit
			p := pattern(0, 20000)
			s.a.send(Send{Ctx: 1, Tagged: true, Tag: 3, Ack: true}, p)
			s.a.send(Send{Ctx: 2, Tagged: true, Tag: 4})
			s.a.want("send 2")
			s.a.transmit(10000)
			s.receive(s.b, 9000)
			must(t, s.b.rx.Peek(true, AnySource, 3, 0, 5, 0, how != "discard", how == "discard"))
			s.b.want("recv 5 len 20000 tag 3 src 2")
			s.b.trecv(6, 2, 4, 0, nil)
			switch how {
			case "claim":
				buf, err := s.b.claim(5, 20000)
				must(t, err)
				s.flow()
				s.b.want("recv 5 len 20000 tag 3 src 2", "recv 6 len 0 tag 4 src 2")
				same(t, "claimed", buf, p)
			case "claim, discard":
				must(t, s.b.rx.Discard(5, 0))
				s.b.want("recv 5 len 0 tag 3 src 2")
				s.flow()
				s.b.want("recv 6 len 0 tag 4 src 2")
			case "discard":
				s.flow()
				s.b.want("recv 6 len 0 tag 4 src 2")
			case "claim, close":
				s.b.c.Fail(ErrPeerClose)
				s.b.want(`failed "": the connection ended without a closing message`)
				must(t, s.b.rx.Discard(5, 0))
				s.b.want("recv 5 len 0 tag 3 src 2")
				s.a.c.Drop(ErrClosed)
				s.a.want("send 1: the endpoint is closed")
				continue
			case "release":
				s.b.rx.Release()
				s.b.c.Drop(ErrClosed)
				s.a.c.Drop(ErrClosed)
				s.a.want("send 1: the endpoint is closed")
				continue
			}
			s.a.want("send 1")
		}
	}
}

// TestMessagesAfterClose checks that complete messages outlive their connection, and incomplete ones do not.
func TestMessagesAfterClose(t *testing.T) {
	s := connected(t)
	s.a.send(Send{Ctx: 1}, []byte("whole"))
	s.a.send(Send{Ctx: 2}, pattern(0, 5000))
	s.a.transmit(1 << 20)
	s.a.want("send 1", "send 2")
	s.receive(s.b, 3000)
	s.b.c.Fail(ErrPeerClose)
	s.b.want(`failed "": the connection ended without a closing message`)
	s.b.checkUnexpected(1)
	s.b.recv(3, 2, make([]byte, 10))
	s.b.want("recv 3 len 5 src 2")
	s.b.recv(4, 2, make([]byte, 10))
}

// TestSetSource checks that the messages of a peer get their source when it is inserted into the address vector,
// and that receives that waited for it take them.
func TestSetSource(t *testing.T) {
	s := connected(t)
	s.b.c.Src = AnySource
	s.b.rx.MinMulti = 1
	s.b.recv(1, 2, make([]byte, 600))
	s.b.trecv(2, 2, 5, 0, make([]byte, 5000))
	op := s.b.rx.NewOp()
	op.Ctx, op.Multi = 3, true
	op.SetBuf(make([]byte, 1400))
	s.b.rx.PostMsg(op, 2)
	for i := range 4 {
		s.a.send(Send{Ctx: 9}, pattern(i, 500))
	}
	s.a.send(Send{Ctx: 9, Tagged: true, Tag: 6}, nil)
	s.a.send(Send{Ctx: 9, Tagged: true, Tag: 5}, pattern(0, 5000))
	s.a.transmit(1 << 20)
	s.a.want("send 9", "send 9", "send 9", "send 9", "send 9", "send 9")
	s.receive(s.b, 5000) // half of the last message
	s.b.checkUnexpected(6)
	s.b.rx.SetSource(s.b.c, 2)
	s.b.want("recv 1 len 500 src 2", "recv 3 len 500 src 2", "recv 3 len 500 src 2",
		"recv 3 len 400 release over 100: message longer than the posted buffer")
	s.flow()
	s.b.want("recv 2 len 5000 tag 5 src 2")
	s.b.trecv(4, 2, 6, 0, nil)
	s.b.want("recv 4 len 0 tag 6 src 2")
	s.a.send(Send{Ctx: 9}, []byte("later"))
	s.a.want("send 9")
	s.b.recv(5, 2, make([]byte, 10))
	s.flow()
	s.b.want("recv 5 len 5 src 2")
}
