// This file tests steps of collective operations. They are matched apart from other messages, refused, sent to peers
// without collectives, cut off, or sent as another member.

package engine

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"gofabric/internal/xnet/wire"
)

// collEnd is the Collector and the Owner of all steps at one end.
type collEnd struct {
	e       *end
	refuses map[uint32]bool // groups
	heard   []string
}

func (k *collEnd) Wanted(tag, _ uint64) bool { return !k.refuses[uint32(tag>>wire.CollGroup)] }
func (k *collEnd) Aborted(tag, member, src uint64) {
	k.heard = append(k.heard, fmt.Sprintf("aborted %d by %d of %d", tag>>wire.CollGroup, uint32(member), int64(src)))
}
func (k *collEnd) Moved(from, to *Conn)    { k.heard = append(k.heard, "moved") }
func (k *collEnd) Lost(_ *Conn, err error) { k.heard = append(k.heard, "lost: "+err.Error()) }

func (k *collEnd) Done(c *Completion) {
	what := "sent"
	if c.Kind == KindRecv {
		what = "came"
	}
	if c.Err != nil {
		what += ": " + c.Err.Error()
	} else if c.Kind == KindRecv {
		what += fmt.Sprint(" ", c.Len)
	}
	k.heard = append(k.heard, fmt.Sprint(c.Ctx, " ", what))
}

func (k *collEnd) want(heard ...string) {
	k.e.t.Helper()
	if !slices.Equal(k.heard, heard) {
		k.e.t.Fatalf("%s heard %q, want %q", k.e.name, k.heard, heard)
	}
	k.heard = nil
}

func stepTag(group uint32, step uint64) uint64 { return uint64(group)<<wire.CollGroup | step }

// step sends a step as a member. It reports whether it was copied.
func (k *collEnd) step(tag, member, ctx uint64, b []byte) bool {
	k.e.t.Helper()
	copied, err := k.try(tag, member, ctx, b)
	must(k.e.t, err)
	return copied
}

func (k *collEnd) try(tag, member, ctx uint64, b []byte) (bool, error) {
	s := Send{Kind: KindColl, Tag: tag, Data: member, Ctx: ctx, Owner: k}
	s.IOV[0], s.NIOV = b, 1
	return k.e.c.SubmitColl(&s)
}

func (k *collEnd) expect(tag, member, ctx uint64, buf []byte) {
	op := k.e.rx.NewColl()
	op.SetBuf(buf)
	op.Ctx, op.Owner = ctx, k
	k.e.rx.PostColl(op, tag, member, k.e.c.Src, 0)
}

// withCollectives makes the ends gofabric peers with collectives, before they connect.
func withCollectives(s *script) (a, b *collEnd) {
	a, b = &collEnd{e: s.a, refuses: map[uint32]bool{}}, &collEnd{e: s.b, refuses: map[uint32]bool{}}
	s.a.rx.SetCollector(a)
	s.b.rx.SetCollector(b)
	return a, b
}

// connectedCollectives is withCollectives, connected.
func connectedCollectives(s *script) (a, b *collEnd) {
	a, b = withCollectives(s)
	s.a.cfg.Features, s.b.cfg.Features = wire.FeatureExtended|wire.FeatureSeals|wire.FeatureShow,
		wire.FeatureExtended|wire.FeatureSeals|wire.FeatureShow
	s.connect()
	return a, b
}

func TestColl(t *testing.T) {
	variants(t, func(s *script) {
		a, b := connectedCollectives(s)
		for _, size := range []int{0, 1, 200, 300, 5000} {
			for _, before := range []bool{true, false} {
				p, buf := pattern(size, size), make([]byte, size)
				tag := stepTag(7, 3)
				if before {
					b.expect(tag, 5, 1, buf)
				}
				copied := a.step(tag, 5, 2, p)
				if copied != (size <= 256) {
					t0(s).Fatalf("%d bytes copied: %v", size, copied)
				}
				s.flow()
				if !before {
					b.want()
					b.expect(tag, 4, 8, nil) // of another member
					b.expect(stepTag(7, 2), 5, 9, nil)
					b.expect(tag, 5, 1, buf)
					s.flow()
				}
				b.want(fmt.Sprint("1 came ", size))
				if copied {
					a.want()
				} else {
					a.want("2 sent")
				}
				same(s.t, "step", buf, p)
				if !before {
					var canceled []uint64
					s.b.rx.CancelColl(b, func(ctx uint64) { canceled = append(canceled, ctx) })
					slices.Sort(canceled)
					if !slices.Equal(canceled, []uint64{8, 9}) {
						t0(s).Fatalf("canceled %v", canceled)
					}
				}
			}
		}
		// The application's receives do not match steps, nor do receives of steps match messages.
		s.b.trecv(1, AnySource, 0, ^uint64(0), make([]byte, 10))
		a.step(stepTag(7, 4), 5, 2, []byte("step"))
		s.flow()
		buf := make([]byte, 4)
		s.a.send(Send{Ctx: 3, Tagged: true, Tag: stepTag(7, 5)}, []byte("message"))
		b.expect(stepTag(7, 5), 2, 1, buf)
		b.expect(stepTag(7, 4), 5, 2, buf)
		s.flow()
		s.a.want("send 3")
		s.b.want(fmt.Sprintf("recv 1 len 7 tag %d src 2", stepTag(7, 5)))
		b.want("2 came 4")
	})
}

// TestCollRefused checks that a step of an unwanted group is refused by an answer.
func TestCollRefused(t *testing.T) {
	variants(t, func(s *script) {
		sameHost(s)
		a, b := connectedCollectives(s)
		b.refuses[9] = true
		a.step(stepTag(9, 1), 0, 1, nil)
		a.step(stepTag(9, 2), 0, 2, pattern(1, 400))
		a.step(stepTag(9, 3), 0, 3, pattern(1, 3000)) // through the connection, or by single copy
		a.step(stepTag(9, 4), 0, 4, pattern(1, 3000))
		a.step(stepTag(8, 4), 0, 5, []byte("after"))
		s.flow()
		buf := make([]byte, 5)
		b.expect(stepTag(8, 4), 0, 6, buf)
		s.flow()
		b.want("6 came 5")
		slices.Sort(a.heard)
		abort := "aborted 9 by 0 of 1"
		a.want("2 sent", "3 sent", "4 sent", abort, abort, abort, abort)
	})
	s := newScript(t) // an endpoint without collectives refuses every step
	a, _ := connectedCollectives(s)
	s.b.rx.coll = nil
	a.step(stepTag(1, 1), 0, 1, []byte("step"))
	s.flow()
	a.want("aborted 1 by 0 of 1")
}

// TestCollNative has a native peer, before and after the end knows that it is one.
func TestCollNative(t *testing.T) {
	s := newScript(t)
	a, _ := withCollectives(s)
	a.step(stepTag(1, 1), 0, 1, []byte("early"))
	s.connect()
	s.flow()
	a.want("1 sent: " + ErrUnsupported.Error())
	if !s.a.c.LacksCollectives() {
		t.Error("a native peer is accepted for a group")
	}
	if _, err := a.try(stepTag(1, 2), 0, 2, []byte("late")); err != ErrUnsupported {
		t.Errorf("got %v", err)
	}
	if _, err := a.try(stepTag(1, 2), 0, 3, pattern(1, 4000)); err != nil {
		t.Errorf("got %v", err)
	}
	s.flow()
	a.want("3 sent: " + ErrUnsupported.Error())
	s.b.inject(header(wire.Header{Op: wire.OpColl, Tag: 5, CQData: 1}, 0)) // a native peer must not send it
	s.b.want(fmt.Sprintf("failed %q: %v", "", ErrProtocol))
}

// TestCollNativeExpected expects messages of a peer that turns out to be native, on the connection or on one that
// replaces it. They are reported as lost.
func TestCollNativeExpected(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		s := newScript(t)
		a, _ := withCollectives(s)
		lost := "lost: " + ErrUnsupported.Error()
		if !replaced {
			s.a.c.SetExpected(1)
			s.connect()
			a.want(lost)
			continue
		}
		s.connect()
		from := NewWaiting(s.a.c.pool, &s.a.cfg, s.a.rx, nil, s.a)
		from.SetExpected(1)
		s.a.c.Adopt(from)
		if from.Expecting() || s.a.c.Expecting() {
			t.Error("something is still expected")
		}
		a.want("moved", lost)
	}
}

// TestCollAgain checks that a member may try again if nothing more can be staged.
func TestCollAgain(t *testing.T) {
	s := newScript(t)
	a, b := connectedCollectives(s)
	n := 0
	for ; n < 1<<20; n++ {
		if _, err := a.try(stepTag(1, uint64(n)), 0, 1, pattern(n, 100)); err == ErrAgain {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if n < 100 || n > s.a.cfg.StageLimit/100 {
		t.Fatalf("ErrAgain after %d steps", n)
	}
	s.flow()
	a.step(stepTag(1, uint64(n)), 0, 1, pattern(n, 100))
	s.flow()
	for i := range n + 1 {
		buf := make([]byte, 100)
		b.expect(stepTag(1, uint64(i)), 0, 1, buf)
		b.want("1 came 100")
		same(t, "step", buf, pattern(i, 100))
	}
}

// TestCollCMA sends large steps by single copy.
func TestCollCMA(t *testing.T) {
	variants(t, func(s *script) {
		sameHost(s)
		a, b := connectedCollectives(s)
		a.step(stepTag(1, 0), 0, 1, pattern(0, 3000)) // starts the agreement on single copy
		b.expect(stepTag(1, 0), 0, 1, make([]byte, 3000))
		s.flow()
		a.want("1 sent")
		b.want("1 came 3000")
		before := s.b.c.BytesIn
		// expected; unexpected; unexpected and beyond the budget.
		for i, limit := range []uint64{1 << 20, 1 << 20, 1000} {
			s.b.rx.PeerLimit = limit
			p, buf := pattern(i, 6000), make([]byte, 6000)
			if i == 0 {
				b.expect(stepTag(1, 1), 0, 2, buf)
			}
			a.step(stepTag(1, 1), 0, 3, p)
			s.flow()
			if i == 2 {
				a.want()
			}
			if i > 0 {
				b.want()
				b.expect(stepTag(1, 1), 0, 2, buf)
				s.flow()
			}
			a.want("3 sent")
			b.want("2 came 6000")
			same(s.t, "step", buf, p)
		}
		if in := s.b.c.BytesIn - before; in > 3*6000+3*200 {
			t0(s).Errorf("%d bytes came in: the payload went through the connection as well", in)
		}
	})
}

// TestCollCut checks that the end of a connection is reported where messages are expected, and ends those under
// way.
func TestCollCut(t *testing.T) {
	for _, what := range []string{"expected", "in the middle", "unexpected in the middle", "complete"} {
		t.Run(what, func(t *testing.T) {
			s := newScript(t)
			a, b := connectedCollectives(s)
			s.b.c.SetExpected(1)
			if !s.b.c.Expecting() {
				t.Error("nothing is expected")
			}
			buf, wanted := make([]byte, 5000), []string{"lost: " + ErrPeerClose.Error()}
			tag := stepTag(wire.CollJoin>>wire.CollGroup|3, 1)
			if what == "expected" || what == "in the middle" {
				b.expect(tag, 0, 1, buf)
			}
			if what != "expected" {
				a.step(tag, 0, 2, pattern(1, 5000))
				s.a.transmit(1 << 20)
				n := 3000
				if what == "complete" {
					n = 1 << 20
				}
				s.receive(s.b, n)
			}
			if what == "in the middle" {
				wanted = append(wanted, "1 came: "+ErrPeerClose.Error())
			}
			s.b.c.Fail(ErrPeerClose)
			s.b.want(fmt.Sprintf("failed %q: %v", "", ErrPeerClose))
			slices.Sort(b.heard)
			slices.Sort(wanted)
			b.want(wanted...)
			s.a.c.Fail(ErrPeerClose)
			s.a.want(fmt.Sprintf("failed %q: %v", "", ErrPeerClose))
			a.heard = nil
			if what == "expected" {
				s.b.rx.CancelColl(b, func(uint64) {})
				// A member that has left does not join.
			} else if what != "in the middle" && s.b.rx.coll.q.Unexpected() != 0 {
				t.Error("a message is left")
			}
		})
	}
}

// TestCollWrongMember checks that a step counts only for the member that its connection belongs to.
func TestCollWrongMember(t *testing.T) {
	s := newScript(t)
	a, b := connectedCollectives(s)
	tag, buf := stepTag(1, 1), make([]byte, 4)
	expectOf := func(src uint64) {
		op := s.b.rx.NewColl()
		op.SetBuf(buf)
		op.Ctx, op.Owner = 1, b
		s.b.rx.PostColl(op, tag, 0, src, 0)
	}
	a.step(tag, 0, 1, []byte("lies")) // b does not know the source yet
	s.flow()
	expectOf(77)
	b.want()
	s.b.rx.CancelColl(b, func(uint64) {})
	for _, src := range []uint64{AnySource, 2} { // unknown, and the right one
		expectOf(src)
		a.step(tag, 0, 1, []byte("true"))
		s.flow()
		b.want("1 came 4")
	}
	expectOf(77)
	a.step(tag, 0, 1, []byte("lies"))
	s.flow()
	s.b.want(fmt.Sprintf("failed %q: %v", "", ErrProtocol))
	b.want()
	if !bytes.Equal(buf, []byte("true")) {
		t.Errorf("the receive got %q", buf)
	}
	s.b.rx.CancelColl(b, func(ctx uint64) { b.heard = append(b.heard, "still expected") })
	b.want("still expected")
}

// TestCollAborts checks that a given up group is reported, and that steps about joining it are dropped.
func TestCollAborts(t *testing.T) {
	s := newScript(t)
	a, b := connectedCollectives(s)
	group := uint32(wire.CollJoin>>wire.CollGroup | 3)
	for range 3 {
		a.step(stepTag(group, 1), 4, 1, pattern(1, 100))
		a.step(stepTag(2, 1), 4, 1, pattern(1, 100))
	}
	s.flow()
	a.step(stepTag(group, 1), wire.CollAbort|104<<32|4, 1, nil)
	s.flow()
	b.want(fmt.Sprintf("aborted %d by 4 of 2", group))
	if n := s.b.rx.coll.q.Unexpected(); n != 3 {
		t.Errorf("%d messages are left, want those of the other group", n)
	}
	s.b.rx.DiscardColl(func(c *Conn, tag uint64) bool { return c == s.b.c && tag == stepTag(2, 1) })
	if n := s.b.rx.coll.q.Unexpected(); n != 0 || s.b.rx.UnexpectedBytes() != 0 {
		t.Errorf("%d messages, %d bytes are left", n, s.b.rx.UnexpectedBytes())
	}
	a.step(stepTag(2, 2), 4, 1, pattern(1, 100)) // Release drops this step and the posted receives
	s.flow()
	b.expect(stepTag(2, 3), 4, 1, nil)
}

// TestCollAbortFindsRoom checks that an abort is sent even if nothing else has room: on a full stage, and behind as
// many operations as may wait for the connection.
func TestCollAbortFindsRoom(t *testing.T) {
	s := newScript(t)
	a, b := connectedCollectives(s)
	n := 0
	for ; ; n++ {
		if _, err := a.try(stepTag(1, uint64(n)), 0, 1, pattern(n, 100)); err == ErrAgain {
			break
		} else if err != nil || n > 1<<20 {
			t.Fatal(n, err)
		}
	}
	if !a.step(stepTag(1, 0), wire.CollAbort|104<<32, 1, nil) {
		t.Error("it was not staged")
	}
	s.flow()
	b.want("aborted 1 by 0 of 2")
	for i := range n {
		b.expect(stepTag(1, uint64(i)), 0, 1, make([]byte, 100))
		b.want("1 came 100")
	}

	s = newScript(t)
	a, b = withCollectives(s)
	s.a.cfg.Features, s.b.cfg.Features = wire.FeatureExtended, wire.FeatureExtended
	s.a.cfg.TxDepth = 3
	for n = 0; ; n++ {
		if _, err := a.try(stepTag(1, uint64(n)), 0, uint64(n), nil); err == ErrAgain {
			break
		} else if err != nil || n > 3 {
			t.Fatal(n, err)
		}
	}
	a.step(stepTag(1, 0), wire.CollAbort|104<<32, 9, nil)
	s.connect()
	s.flow()
	b.want("aborted 1 by 0 of -1") // its source is unknown
	a.want("0 sent", "1 sent", "2 sent", "9 sent")
	s.b.rx.DiscardColl(func(c *Conn, tag uint64) bool {
		c.RefuseColl(tag)
		return true
	})
	s.flow()
	abort := "aborted 1 by 0 of 1"
	a.want(abort, abort, abort)
}

// TestCollJoinTakenBack checks that steps that a peer withdraws are found without a search through those of others.
// The cost of a step does not depend on how many members join and give up.
func TestCollJoinTakenBack(t *testing.T) {
	measure := func(kept int) time.Duration {
		s := newScript(t)
		a, b := connectedCollectives(s)
		s.b.rx.PeerLimit, s.b.rx.Limit = 1<<40, 1<<40
		join := func(group, attempt int) uint64 {
			return stepTag(uint32(wire.CollJoin>>wire.CollGroup|uint64(group)), uint64(attempt))
		}
		for i := range kept {
			a.step(join(i, i), 4, 1, nil)
			if i%100 == 0 {
				s.flow()
			}
		}
		s.flow()
		const rounds = 1000
		begin := time.Now()
		for i := range rounds {
			a.step(join(kept, i), 4, 1, nil)
			a.step(join(kept, i), wire.CollAbort|125<<32|4, 1, nil)
			s.flow()
		}
		took := time.Since(begin)
		if n := s.b.rx.coll.q.Unexpected(); n != kept || len(b.heard) != rounds {
			t.Fatalf("%d messages are left of %d, and %d aborts were received", n, kept, len(b.heard))
		}
		s.b.rx.DiscardColl(func(*Conn, uint64) bool { return true })
		return took
	}
	var few, many time.Duration
	for range 5 { // another process may delay one of the two measurements
		if few, many = measure(100), measure(20000); many <= 10*few+20*time.Millisecond {
			return
		}
	}
	t.Errorf("%v among 100, %v among 20000", few, many)
}
