// This file tests multi-receive buffers. Each takes many messages, and is released when too little room is left.

package engine

import "testing"

func (e *end) multi(ctx, src uint64, buf []byte) {
	op := e.rx.NewOp()
	op.Ctx, op.Multi = ctx, true
	op.SetBuf(buf)
	e.rx.PostMsg(op, src)
}

func TestMultiReceive(t *testing.T) {
	variants(t, func(s *script) {
		s.b.rx.MinMulti = 100
		s.connect()
		for _, before := range []bool{true, false} {
			buf := make([]byte, 1000)
			if before {
				s.b.multi(1, 2, buf)
			}
			for i := range 6 { // 200 each: four leave 200, the fifth nothing
				s.a.send(Send{Ctx: 2}, pattern(i, 200))
				s.a.want("send 2")
			}
			s.flow()
			if !before {
				s.b.multi(1, AnySource, buf)
			}
			s.b.want("recv 1 len 200 src 2", "recv 1 len 200 src 2", "recv 1 len 200 src 2", "recv 1 len 200 src 2",
				"recv 1 len 200 src 2 release")
			for i := range 5 {
				same(t, "part", buf[200*i:200*i+200], pattern(i, 200))
			}
			s.b.recv(3, 2, make([]byte, 200))
			s.b.want("recv 3 len 200 src 2")
		}
	})
}

func TestMultiReceiveEdges(t *testing.T) {
	s := connected(t)
	s.b.rx.MinMulti = 100
	send := func(n int) {
		s.a.send(Send{}, pattern(n, n))
		s.flow()
		s.a.want("send 0")
	}
	s.b.multi(1, 2, make([]byte, 300))
	send(0) // uses no room
	send(200)
	s.b.want("recv 1 len 0 src 2", "recv 1 len 200 src 2")
	send(101) // longer than what is left
	s.b.want("recv 1 len 100 release over 1: message longer than the posted buffer")
	s.b.multi(1, 2, make([]byte, 300))
	send(201) // leaves 99
	s.b.want("recv 1 len 201 src 2 release")
	s.b.rx.MinMulti = 0
	s.b.multi(1, 2, make([]byte, 2))
	send(1)
	send(1)
	s.b.want("recv 1 len 1 src 2", "recv 1 len 1 src 2 release")
	s.b.multi(1, 2, make([]byte, 50)) // cancelled unused, and after use
	if !s.b.rx.Cancel(1) || s.b.rx.Cancel(1) {
		t.Error("cancel: want true, then false")
	}
	s.b.want("recv 1 len 0 release: operation canceled"[:6] + " release: operation canceled")
	s.b.multi(1, 2, make([]byte, 50))
	send(20)
	s.b.rx.Flush(ErrClosed)
	s.b.want("recv 1 len 20 src 2", "recv 1 release: the endpoint is closed")
}

// TestMultiReleaseIsLast checks that the buffer is released with the last completion, not with the last part.
func TestMultiReleaseIsLast(t *testing.T) {
	s := connected(t)
	s.b.rx.MinMulti = 1
	other := s.second()
	s.b.multi(1, AnySource, make([]byte, 2000))
	s.a.send(Send{Ctx: 2}, pattern(0, 1000))
	s.a.transmit(1 << 20)
	s.a.want("send 2")
	s.receive(s.b, 500) // the first half of the buffer, in pieces
	other.Receive(0, message0(1000, 'x'))
	s.b.want("recv 1 len 1000 src 3")
	s.flow()
	s.b.want("recv 1 len 1000 src 2 release")

	s.b.multi(1, AnySource, make([]byte, 2000))
	s.a.send(Send{Ctx: 2}, pattern(0, 1000))
	s.a.transmit(1 << 20)
	s.a.want("send 2")
	s.receive(s.b, 500)
	if !s.b.rx.Cancel(1) {
		t.Error("not cancelled")
	}
	s.b.want("recv 1: operation canceled")
	s.b.c.Fail(ErrPeerClose)
	s.b.want("recv 1 release: the connection ended without a closing message",
		`failed "": the connection ended without a closing message`)
}

// TestMultiKeepsPlace checks that an older directed receive keeps its precedence while messages of others fill a
// buffer.
func TestMultiKeepsPlace(t *testing.T) {
	s := connected(t)
	other := s.second()
	s.b.recv(1, 3, make([]byte, 10))
	s.b.multi(2, AnySource, make([]byte, 100))
	s.a.send(Send{Silent: true}, []byte("abc"))
	s.flow()
	s.a.want("silent send 0")
	other.Receive(0, message0(5, 'x'))
	s.b.want("recv 2 len 3 src 2", "recv 1 len 5 src 3")
}
