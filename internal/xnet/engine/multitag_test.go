// This file tests multi-receive buffers of tagged messages (FI_TAGGED_MULTI_RECV).

package engine

import "testing"

func (e *end) tmulti(ctx, src, tag, ignore uint64, buf []byte) {
	op := e.rx.NewOp()
	op.Ctx, op.Multi = ctx, true
	op.SetBuf(buf)
	e.rx.PostTagged(op, src, tag, ignore)
}

// TestTaggedMultiReceive checks that a buffer takes the messages whose tags it accepts, and keeps its place among
// the receives, with messages before and after it.
func TestTaggedMultiReceive(t *testing.T) {
	variants(t, func(s *script) {
		s.b.rx.MinMulti = 100
		s.connect()
		for _, before := range []bool{true, false} {
			buf, other := make([]byte, 700), make([]byte, 300)
			post := func() {
				s.b.trecv(1, AnySource, 5, 0, other)
				s.b.tmulti(2, 2, 0, 0xf, buf)
			}
			if before {
				post()
			}
			for i, tag := range []uint64{3, 99, 5, 5, 8} {
				s.a.send(Send{Ctx: 9, Tagged: true, Tag: tag}, pattern(i, 200))
				s.a.want("send 9")
			}
			s.flow()
			if !before {
				post()
			}
			if before {
				s.b.want("recv 2 len 200 tag 3 src 2", "recv 1 len 200 tag 5 src 2", "recv 2 len 200 tag 5 src 2",
					"recv 2 len 200 tag 8 src 2")
			} else {
				s.b.want("recv 1 len 200 tag 5 src 2", "recv 2 len 200 tag 3 src 2", "recv 2 len 200 tag 5 src 2",
					"recv 2 len 200 tag 8 src 2")
			}
			same(t0(s), "first", buf[:200], pattern(0, 200))
			same(t0(s), "other", other[:200], pattern(2, 200))
			same(t0(s), "second", buf[200:400], pattern(3, 200))
			s.a.send(Send{Ctx: 9, Tagged: true, Tag: 1}, pattern(7, 50))
			s.flow()
			s.a.want("send 9")
			s.b.want("recv 2 len 50 tag 1 src 2 release")
			s.b.trecv(3, AnySource, 99, 0, other)
			s.b.want("recv 3 len 200 tag 99 src 2")
		}
	})
}

// TestTaggedMultiKnown checks that messages of a peer that is inserted into the address vector later go to the
// buffer that waits for it, and that the buffer keeps its place.
func TestTaggedMultiKnown(t *testing.T) {
	s := connected(t)
	s.b.rx.MinMulti = 1
	s.b.rx.SetSource(s.b.c, AnySource)
	s.b.trecv(1, 2, 5, 0, make([]byte, 10))
	s.b.tmulti(2, 2, 0, ^uint64(0), make([]byte, 100))
	for _, tag := range []uint64{4, 5, 6} {
		s.a.send(Send{Ctx: 9, Tagged: true, Tag: tag}, pattern(1, 10))
		s.a.want("send 9")
	}
	s.flow()
	s.b.rx.SetSource(s.b.c, 2)
	s.b.want("recv 2 len 10 tag 4 src 2", "recv 1 len 10 tag 5 src 2", "recv 2 len 10 tag 6 src 2")
	if !s.b.rx.Cancel(2) {
		t.Error("the buffer is no longer posted")
	}
	s.b.want("recv 2 release: operation canceled")
}
