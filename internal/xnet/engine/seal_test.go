// This file tests the seals of single-copy messages. They are broken before the buffer is given back, on every path,
// and read after the copy.

package engine

import (
	"errors"
	"fmt"
	"testing"

	"gofabric/internal/xnet/wire"
)

// announcer is an end whose completions overwrite the buffers that they give back, after a check that no whole seal
// covers them.
type announcer struct {
	e    *end
	p    *process
	bufs map[uint64][]byte // of operations under way, by context
}

func newAnnouncer(e *end) *announcer {
	l := &announcer{e: e, p: e.cfg.CMA.(*process), bufs: map[uint64][]byte{}}
	e.ended = l.ended
	return l
}

func (l *announcer) ended(c *Completion) {
	b := l.bufs[c.Ctx]
	if c.Kind != KindSend && c.Kind != KindColl || b == nil {
		return
	}
	delete(l.bufs, c.Ctx)
	l.check("completed", b)
	scribble(b)
}

// check fails if a whole seal covers b.
func (l *announcer) check(when string, b []byte) {
	l.e.t.Helper()
	for i, op := range l.announced() {
		if op != nil && &op.IOV[0][0] == &b[0] && l.sealed(uint8(i)) {
			l.e.t.Errorf("%s while its seal is whole", when)
		}
	}
	if n := l.p.whole(); n > len(l.bufs) {
		l.e.t.Errorf("%s: %d seals are whole, and %d messages are under way", when, n, len(l.bufs))
	}
}

func (l *announcer) announced() []*TxOp {
	if l.e.c.rdv.idle() {
		return nil
	}
	return l.e.c.rdv.t.sends[:]
}

func (l *announcer) sealed(i uint8) bool {
	f, ok := l.e.c.rdv.t.seals.(*fakeSeals)
	return ok && f.whole[i]
}

// Done makes it an Owner.
func (l *announcer) Done(*Completion) {}

// noEvents fails if there were events.
func (e *end) noEvents() {
	e.t.Helper()
	if len(e.events) > 0 {
		e.t.Errorf("%s: %q", e.name, e.events)
	}
}

func scribble(b []byte) {
	for i := range b {
		b[i] = 0xee
	}
}

// threeAnnounced is a script in which a has announced three messages of 5000 bytes, with the tags 1 to 3, which b
// has not copied because it has no room.
func threeAnnounced(t *testing.T) (*script, *fakeHost, *announcer) {
	s := newScript(t)
	r := agreedCMA(s)
	l := newAnnouncer(s.a)
	s.b.rx.PeerLimit = 10
	for i := range uint64(3) {
		l.bufs[i+1] = pattern(int(i), 5000)
		s.a.send(Send{Ctx: i + 1, Tagged: true, Tag: i + 1, Owner: l}, l.bufs[i+1])
	}
	s.flow()
	if l.p.whole() != 3 {
		t.Fatalf("%d seals are whole, want 3", l.p.whole())
	}
	return s, r, l
}

// waysToEnd has the ways in which buffers of announced messages come back although none was copied.
var waysToEnd = map[string]func(s *script, l *announcer){
	"failed":         func(s *script, _ *announcer) { s.a.c.Fail(errors.New("no more")) },
	"dropped":        func(s *script, _ *announcer) { s.a.c.Drop(ErrClosed) },
	"peer gone":      func(s *script, _ *announcer) { s.a.c.Fail(ErrPeerClose) },
	"peer broke off": func(s *script, _ *announcer) { s.a.inject([]byte("GET / HTTP/1.1\r\n\r\n")) },
	"done twice": func(s *script, _ *announcer) {
		s.b.c.stageExt(wire.AppendExtIndex(nil, wire.ExtDone, 200))
		s.b.transmit(1 << 20)
		s.receive(s.a, 1<<20)
	},
	"disowned": func(s *script, l *announcer) {
		bufs := l.bufs
		l.bufs = map[uint64][]byte{}
		s.a.c.Disown(l)
		for _, b := range bufs {
			l.check("disowned", b)
			scribble(b)
		}
	},
}

// TestSealBroken checks that a buffer that comes back, for any reason, has no whole seal, and that a late peer gets
// none of the bytes that overwrite it.
func TestSealBroken(t *testing.T) {
	for name, end := range waysToEnd {
		t.Run(name, func(t *testing.T) {
			s, r, l := threeAnnounced(t)
			end(s, l)
			if n := l.p.whole(); n != 0 || len(l.bufs) != 0 {
				t.Fatalf("%d seals are whole, %d buffers are not back", n, len(l.bufs))
			}
			s.a.events = nil
			reads := r.reads
			buf := make([]byte, 5000)
			s.b.trecv(9, AnySource, 2, 0, buf)
			if r.reads == reads {
				t.Error("the message was not looked for")
			}
			s.b.noEvents() // not complete
			if s.a.c.State() == Connected {
				s.flow()
				s.b.want("recv 9 len 5000 tag 2 src 2")
				same(t, "of a copy", buf, pattern(1, 5000))
			} else {
				s.b.c.Fail(ErrPeerClose)
				s.b.want("recv 9 tag 2: "+ErrPeerClose.Error(), fmt.Sprintf("failed %q: %v", "", ErrPeerClose))
			}
			for tag := range uint64(3) {
				if s.b.c.State() == Connected && tag != 1 {
					s.b.trecv(9, AnySource, tag+1, 0, buf)
					s.flow()
					s.b.want("recv 9 len 5000 tag " + num(tag+1) + " src 2")
					same(t, "of a copy", buf, pattern(int(tag), 5000))
				}
			}
			s.a.events = nil
		})
	}
}

// TestSealEnds checks that the normal ends of a message break its seal before the completion.
func TestSealEnds(t *testing.T) {
	for name, denied := range map[string]bool{"copied": false, "asked for": true} {
		t.Run(name, func(t *testing.T) {
			s, r, l := threeAnnounced(t)
			r.denied = denied
			for _, i := range []uint64{2, 1, 3} {
				buf := make([]byte, 5000)
				s.b.trecv(9, AnySource, i, 0, buf)
				s.flow()
				s.b.want("recv 9 len 5000 tag " + num(i) + " src 2")
				same(t, "message", buf, pattern(int(i-1), 5000))
				s.a.events = nil
			}
			if l.p.whole() != 0 || len(l.bufs) != 0 {
				t.Errorf("%d seals are whole, %d buffers are not back", l.p.whole(), len(l.bufs))
			}
		})
	}
}

// TestSealReadAfterCopy withdraws a message between the copy and the read of its seal. It is not delivered: not
// into a posted receive, not into memory for unexpected messages, and not as a step of a collective operation that
// is expected or unexpected.
func TestSealReadAfterCopy(t *testing.T) {
	for _, coll := range []bool{false, true} {
		for _, early := range []bool{false, true} {
			t.Run(fmt.Sprintf("coll %v, unexpected %v", coll, early), func(t *testing.T) {
				s := newScript(t)
				a, b := withCollectives(s)
				r := agreedCMA(s)
				l := newAnnouncer(s.a)
				buf, msg := make([]byte, 5000), pattern(1, 5000)
				l.bufs[7] = msg
				post := func() { s.b.recv(9, AnySource, buf) }
				if coll {
					post = func() { b.expect(stepTag(1, 1), 0, 9, buf) }
				}
				if !early {
					post()
				}
				if coll {
					a.step(stepTag(1, 1), 0, 7, msg)
				} else {
					s.a.send(Send{Ctx: 7}, msg)
				}
				r.copied = func() { s.a.c.Drop(ErrClosed) }
				s.flow()
				if r.copied != nil || msg[0] != 0xee {
					t.Fatal("nothing was copied, or the buffer did not come back")
				}
				if early {
					s.b.noEvents()
					post()
				}
				b.want()
				s.b.noEvents()
				s.b.c.Fail(ErrPeerClose)
				if coll {
					b.heard = nil
				} else {
					s.b.want("recv 9: " + ErrPeerClose.Error())
				}
				s.b.want(fmt.Sprintf("failed %q: %v", "", ErrPeerClose))
				s.a.events, a.heard = nil, nil
			})
		}
	}
}

// TestSealDisowned is the same with an owner that closes while the connection continues. The message comes through
// the connection, and later ones by single copy.
func TestSealDisowned(t *testing.T) {
	for _, early := range []bool{false, true} {
		s := newScript(t)
		r := agreedCMA(s)
		l := newAnnouncer(s.a)
		buf, msg := make([]byte, 5000), pattern(1, 5000)
		if !early {
			s.b.recv(9, AnySource, buf)
		}
		s.a.send(Send{Ctx: 7, Owner: l}, msg)
		r.copied = func() {
			s.a.c.Disown(l)
			scribble(msg)
		}
		s.flow()
		if early {
			s.b.noEvents()
			s.b.recv(9, AnySource, buf)
			s.flow()
		}
		s.b.want("recv 9 len 5000 src 2")
		same(t, "of a copy", buf, pattern(1, 5000))
		before := s.b.c.BytesIn
		s.b.recv(9, AnySource, buf)
		s.a.send(Send{Ctx: 8}, pattern(2, 5000))
		s.flow()
		s.a.want("send 8")
		s.b.want("recv 9 len 5000 src 2")
		same(t, "after it", buf, pattern(2, 5000))
		if in := s.b.c.BytesIn - before; in > 5000+300 {
			t.Errorf("%d bytes came in: single copies ended with a message that was withdrawn", in)
		}
	}
}

// TestSealsKept checks that seals are made with the first announcement and used again, and that an idle connection
// holds none.
func TestSealsKept(t *testing.T) {
	s := newScript(t)
	r := sameHost(s)
	s.connect()
	p := s.a.cfg.CMA.(*process)
	for i := range 5 {
		buf := make([]byte, 5000)
		s.b.recv(1, AnySource, buf)
		s.a.send(Send{Ctx: 2}, pattern(i, 5000))
		s.flow()
		s.a.want("send 2")
		s.b.want("recv 1 len 5000 src 2")
		same(t, "message", buf, pattern(i, 5000))
		if !s.a.c.rdv.idle() || !s.b.c.rdv.idle() {
			t.Fatal("an idle connection has a table")
		}
	}
	if len(p.seals) != 1 || len(s.b.cfg.CMA.(*process).seals) != 0 || r.number != 8 {
		t.Errorf("%d and %d tables of seals, last number %d", len(p.seals), len(s.b.cfg.CMA.(*process).seals), r.number)
	}
}

// TestSealsNotAgreed checks that messages go through the connection if only one end seals, and that no memory of a
// peer is read.
func TestSealsNotAgreed(t *testing.T) {
	for _, which := range []string{"sender", "receiver"} {
		t.Run(which, func(t *testing.T) {
			s := newScript(t)
			r := sameHost(s)
			if which == "sender" {
				s.a.cfg.Features = wire.FeatureExtended
			} else {
				s.b.cfg.Features = wire.FeatureExtended
			}
			s.connect()
			for range 3 {
				buf := make([]byte, 5000)
				s.b.recv(1, AnySource, buf)
				s.a.send(Send{Ctx: 2}, pattern(1, 5000))
				s.flow()
				s.a.want("send 2")
				s.b.want("recv 1 len 5000 src 2")
				same(t, "message", buf, pattern(1, 5000))
			}
			hello := (&Identity{PID: 1, PIDNS: 7, Process: [16]byte{1}}).Append(nil)
			// This hello comes from an end without seals.
			s.b.inject(append(header(wire.Header{Op: wire.OpExt}, uint64(len(hello))), hello...))
			s.flow()
			if s.b.c.ext.cma.copies || s.b.c.ext.cma.pid != 0 || r.reads != 0 {
				t.Error("memory of an end without seals would be read")
			}
		})
	}
}
