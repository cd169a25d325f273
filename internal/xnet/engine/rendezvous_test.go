// This file tests the tagged rendezvous: announcement, OpCTS, data.

package engine

import (
	"fmt"
	"testing"

	"gofabric/internal/xnet/wire"
)

func withRendezvous(s *script) *script {
	s.a.cfg.RendezvousOver, s.b.cfg.RendezvousOver = 1000, 1000
	s.connect()
	s.a.c.Rendezvous, s.b.c.Rendezvous = true, true
	return s
}

func TestRendezvous(t *testing.T) {
	variants(t, func(s *script) {
		withRendezvous(s)
		for i, before := range []bool{true, false, true, false} {
			p, buf := pattern(i, 6000), make([]byte, 6000)
			if before {
				s.b.trecv(1, 2, 0, ^uint64(0), buf[:10], buf[10:])
			}
			s.a.send(Send{Ctx: 2, Tagged: true, Tag: 4, Ack: i > 1, HasData: i > 1, Data: 3}, p[:9], p[9:])
			s.flow()
			if !before {
				s.b.checkUnexpected(1)
				if s.b.rx.UnexpectedBytes() > 1000 {
					t.Error("the payload came without OpCTS")
				}
				s.b.trecv(1, 2, 4, 0, buf[:10], buf[10:])
			}
			s.flow()
			s.a.want("send 2")
			if i > 1 {
				s.b.want("recv 1 len 6000 tag 4 src 2 data 3")
			} else {
				s.b.want("recv 1 len 6000 tag 4 src 2")
			}
			same(t, "rendezvous", buf, p)
		}
	})
}

// TestRendezvousShort checks that a message short enough to be copied is announced as well, if the limit is lower
// still: the peer may have no room for it.
func TestRendezvousShort(t *testing.T) {
	variants(t, func(s *script) {
		withRendezvous(s)
		s.a.cfg.RendezvousOver = 100
		for i, n := range []int{101, 256} { // up to StageMax
			s.a.send(Send{Ctx: 2, Tagged: true, Tag: 4}, pattern(i, n))
			s.a.send(Send{Ctx: 3, Tagged: true, Tag: 5}, pattern(i, 100))
			s.flow()
			s.a.want("send 3")
			s.b.checkUnexpected(2)
			short, buf := make([]byte, 100), make([]byte, n)
			s.b.trecv(5, AnySource, 5, 0, short)
			s.b.trecv(1, AnySource, 4, 0, buf)
			s.flow()
			s.a.want("send 2")
			s.b.want("recv 5 len 100 tag 5 src 2", fmt.Sprintf("recv 1 len %d tag 4 src 2", n))
			same(t, "short rendezvous", buf, pattern(i, n))
		}
	})
}

// TestRendezvousOrder checks that OpCTS come in the order of the matches, that a receive that is too short gets
// what it has room for, and that discarded data is dropped.
func TestRendezvousOrder(t *testing.T) {
	variants(t, func(s *script) {
		withRendezvous(s)
		for i := range 4 {
			s.a.send(Send{Ctx: uint64(i), Tagged: true, Tag: uint64(i + 1), Ack: true}, pattern(i, 2000+i))
		}
		s.flow()
		b := [3][]byte{make([]byte, 2000), make([]byte, 1500), make([]byte, 3000)}
		s.b.trecv(12, AnySource, 3, 0, b[2])
		s.b.trecv(11, AnySource, 2, 0, b[1])
		must(t, s.b.rx.Peek(true, AnySource, 4, 0, 13, 0, false, true))
		s.b.trecv(10, AnySource, 1, 0, b[0])
		s.flow()
		s.b.want("recv 13 len 2003 tag 4 src 2", "recv 12 len 2002 tag 3 src 2",
			"recv 11 len 1500 tag 2 over 501: message longer than the posted buffer", "recv 10 len 2000 tag 1 src 2")
		s.a.want("send 2", "send 1", "send 3", "send 0")
		same(t, "third", b[2][:2002], pattern(2, 2002))
		same(t, "second", b[1], pattern(1, 2001)[:1500])
		same(t, "first", b[0], pattern(0, 2000))
	})
}

// TestRendezvousIndices uses all 254 indices. Further posts wait, and each index is used again after its data.
func TestRendezvousIndices(t *testing.T) {
	s := newScript(t)
	s.a.cfg.TxDepth, s.b.rx.PeerLimit = 1000, 1000 // announcements do not count for the peer's budget
	withRendezvous(s)
	p := pattern(0, 1001)
	o := Send{Tagged: true, Tag: 1}
	must(t, o.SetIOV([][]byte{p}))
	for round := range 3 {
		n := 0
		for ; ; n++ {
			o.Ctx = uint64(n)
			if err := s.a.c.Submit(&o); err == ErrAgain {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if n != 254 {
			t.Fatalf("round %d: %d announced", round, n)
		}
		s.flow()
		s.b.checkUnexpected(254)
		buf := make([]byte, 1001)
		for i := range uint64(254) {
			s.b.trecv(i, 2, 1, 0, buf)
		}
		s.flow()
		for i := range uint64(254) {
			s.a.want("send " + num(i))
			s.b.want("recv " + num(i) + " len 1001 tag 1 src 2")
		}
	}
}

// TestRendezvousOverflow checks that sends that waited for the connection are sent eagerly if there are more of
// them than indices.
func TestRendezvousOverflow(t *testing.T) {
	s := newScript(t)
	s.a.cfg.TxDepth, s.a.cfg.RendezvousOver = 300, 100
	s.a.c.Rendezvous = true
	p := pattern(0, 400)
	for range 260 {
		s.a.send(Send{Ctx: 1, Tagged: true, Tag: 1}, p)
	}
	s.connect0()
	s.a.want(`connected ""`)
	s.flow()
	for i := range 260 {
		s.b.trecv(2, AnySource, 1, 0, make([]byte, 400))
		_ = i
	}
	s.flow()
	for range 260 {
		s.a.want("send 1")
		s.b.want("recv 2 len 400 tag 1")
	}
}

// TestRendezvousClosed checks that the end of the connection ends receives that wait for data, and removes
// announced messages.
func TestRendezvousClosed(t *testing.T) {
	s := withRendezvous(newScript(t))
	for i := range 3 {
		s.a.send(Send{Ctx: uint64(i), Tagged: true, Tag: uint64(i + 1)}, pattern(i, 2000))
	}
	s.b.trecv(10, AnySource, 1, 0, make([]byte, 2000))
	s.flow0(s.a, s.b)
	must(t, s.b.rx.Peek(true, AnySource, 2, 0, 20, 0, true, false))
	must(t, s.b.rx.Peek(true, AnySource, 2, 0, 21, 0, true, false))
	s.b.want("recv 20 len 2000 tag 2 src 2", "recv 21 tag 2: no matching message")
	s.b.c.Fail(ErrPeerClose)
	s.b.want("recv 10 tag 1: the connection ended without a closing message",
		`failed "": the connection ended without a closing message`)
	s.b.checkUnexpected(0)
	op := s.b.rx.NewOp()
	op.Ctx = 20
	must(t, s.b.rx.Claim(op))
	s.b.want("recv 20 tag 2: the connection ended without a closing message")
	s.a.c.Fail(ErrPeerClose)
	for i := range uint64(3) {
		s.a.want("send " + num(i) + ": the connection ended without a closing message")
	}
	s.a.want(`failed "": the connection ended without a closing message`)
}

// flow0 moves bytes in one direction.
func (s *script) flow0(from, to *end) {
	from.transmit(1 << 30)
	for s.receive(to, s.cut) > 0 {
	}
}

func TestRendezvousEmptyMessage(t *testing.T) {
	s := connected(t)
	s.b.trecv(1, 2, 8, 0, make([]byte, 4))
	s.b.inject(header(wire.Header{Op: wire.OpTagRTS, OpData: 255, Tag: 8}, 0))
	s.b.inject(header(wire.Header{Op: wire.OpData, OpData: 255}, 0))
	s.b.want("recv 1 len 0 tag 8 src 2")
}
