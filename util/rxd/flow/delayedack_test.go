package flow

import (
	"testing"

	"gofabric/util/rxd/wire"
)

// answeredExchange makes b receive a message of a's and answer it. The answer acknowledges the message.
func answeredExchange(t *testing.T, change func(*script)) (*script, []packet) {
	s := newScript(t, nil)
	s.a.toSend = 80
	s.bring(s.b, s.poll(s.a, 1)...)
	if change != nil {
		change(s)
	}
	s.b.toSend = 80
	answer := s.poll(s.b, 1)
	s.pass(50e3)
	return s, answer
}

// TestDelayedAck checks that the acknowledgement in an answer is processed after the application had a chance to
// post, or as soon as another step depends on it.
func TestDelayedAck(t *testing.T) {
	another := packet{h: wire.XHeader{Type: wire.XData, Offset: 80, Ack: 80, Window: 1 << 20}, b: slice(80, 10)}
	for name, then := range map[string]func(s *script){
		"quiet":    func(s *script) { s.a.f.PassDone(s.w.Now) },
		"advance":  func(s *script) { s.a.f.Advance(s.w.Now) },
		"another":  func(s *script) { s.bring(s.a, another) },
		"close":    func(s *script) { s.a.f.Close(s.w.Now) },
		"expect":   func(s *script) { s.a.f.Expect(s.w.Now, true) },
		"much":     func(s *script) { s.a.toSend += 1001; s.poll(s.a, 2) },
		"window":   func(s *script) { s.a.f.sndEdge = s.a.f.sndNxt + 10; s.a.toSend += 6; s.poll(s.a, 1) },
		"in air":   func(s *script) { s.a.f.cwnd = 85; s.a.toSend += 3; s.poll(s.a, 1) },
		"ask":      func(s *script) { s.a.f.flags |= fProbe; s.poll(s.a, 1) },
		"deadline": func(s *script) { s.fire(s.a) },
	} {
		t.Run(name, func(t *testing.T) {
			s, answer := answeredExchange(t, nil)
			s.bring(s.a, answer...)
			if s.a.got != 80 || s.a.acked != 0 || s.a.f.path.srtt != 100e3 {
				t.Fatalf("got %d, acknowledged %d, round trip %d", s.a.got, s.a.acked, s.a.f.path.srtt)
			}
			s.w.Now += 200
			then(s)
			if s.a.acked != 80 || s.a.f.flags&fAckDelayed != 0 {
				t.Fatalf("acknowledged %d, %b", s.a.acked, s.a.f.flags)
			}
			if rtt := s.a.f.path.srtt; rtt >= 100e3 || rtt < 90e3 {
				t.Errorf("round trip %d, want 50 us", rtt)
			}
			invariants(t, s.a)
			s.settle()
		})
	}
}

// TestAnswerFirst checks that the application's own answer leaves before the acknowledgement is processed.
func TestAnswerFirst(t *testing.T) {
	s, answer := answeredExchange(t, nil)
	s.bring(s.a, answer...)
	s.a.toSend += 80
	if ps := s.poll(s.a, 1); ps[0].h.Ack != 80 || ps[0].h.Offset != 80 {
		t.Fatalf("%v", heads(ps))
	}
	if s.a.acked != 0 {
		t.Fatal("the acknowledgement was processed before the answer left")
	}
	s.a.f.PassDone(s.w.Now)
	if s.a.acked != 80 || s.a.f.tx.inFlight != 80 {
		t.Fatalf("acknowledged %d, in flight %d", s.a.acked, s.a.f.tx.inFlight)
	}
	invariants(t, s.a)
	s.fire(s.a) // a loss is detected as before
	s.bring(s.b, s.poll(s.a, 1)...)
	s.settle()
	if s.b.got != 160 || s.b.bad || s.a.acked != 160 {
		t.Fatalf("got %d, acknowledged %d", s.b.got, s.a.acked)
	}
}

// TestNotDelayedAck has acknowledgements on which other steps may depend. They are processed at once.
func TestNotDelayedAck(t *testing.T) {
	for name, change := range map[string]func(*script){
		"awaited":    func(s *script) { s.a.awaited = true },
		"more":       func(s *script) { s.a.toSend += 2000 },
		"closing":    func(s *script) { s.a.f.Close(s.w.Now) },
		"owed":       func(s *script) { s.a.f.Expect(s.w.Now, true) },
		"short path": func(s *script) { s.a.f.payload /= 2 },
		"limited":    func(s *script) { s.a.f.flags |= fWindowLimited },
	} {
		t.Run(name, func(t *testing.T) {
			s, answer := answeredExchange(t, change)
			s.bring(s.a, answer...)
			if s.a.acked != 80 {
				t.Error("the acknowledgement waits")
			}
		})
	}
	t.Run("lost", func(t *testing.T) { // the packet is late rather than lost
		s, answer := answeredExchange(t, nil)
		s.a.f.markLost(s.a.f.tx.head)
		if s.bring(s.a, answer...); s.a.acked != 80 || len(s.poll(s.a, 0)) > 0 {
			t.Error("the acknowledgement waits")
		}
	})
	t.Run("last", func(t *testing.T) {
		s, answer := answeredExchange(t, nil)
		answer[0].h.Flags |= wire.FlagXFin
		if s.bring(s.a, answer...); s.a.acked != 80 || s.a.f.Dead() != ErrClosed {
			t.Error("the acknowledgement waits: ", s.a.f.Dead())
		}
	})
	t.Run("reset", func(t *testing.T) {
		s, answer := answeredExchange(t, nil)
		answer[0].h.Type = wire.XReset
		if s.bring(s.a, answer...); s.a.acked != 80 || s.a.f.Dead() != ErrReset {
			t.Error("the acknowledgement waits: ", s.a.f.Dead())
		}
	})
	t.Run("partial", func(t *testing.T) {
		s, answer := answeredExchange(t, func(s *script) { s.a.toSend += 50; s.poll(s.a, 1) })
		if s.bring(s.a, answer...); s.a.acked != 80 {
			t.Error("the acknowledgement waits")
		}
	})
	t.Run("no payload", func(t *testing.T) {
		s, _ := answeredExchange(t, nil)
		s.bring(s.a, packet{h: wire.XHeader{Type: wire.XAck, Ack: 80, Window: 1 << 20}})
		if s.a.acked != 80 {
			t.Error("the acknowledgement waits")
		}
	})
}
