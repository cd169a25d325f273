package flow

import (
	"testing"

	"gofabric/util/rxd/wire"
)

// TestSmallWindowPingPong plays ping-pong with small messages through windows of one full segment, which losses
// leave on paths with long segments. The answer is the acknowledgement, and neither end asks for a separate one.
func TestSmallWindowPingPong(t *testing.T) {
	s := newScript(t, nil)
	turn := func(from, to *node) {
		from.toSend += 80
		ps := s.poll(from, 1)
		if ps[0].h.Type != wire.XData || ps[0].h.Flags&wire.FlagXAckNow != 0 {
			t.Fatalf("%v", heads(ps))
		}
		s.pass(5e3)
		s.bring(to, ps...)
		s.poll(to, 0)
	}
	turn(s.a, s.b)
	turn(s.b, s.a)
	for range 100 {
		s.a.f.cwnd, s.b.f.cwnd = int(s.a.f.payload), int(s.b.f.payload)
		turn(s.a, s.b)
		turn(s.b, s.a)
	}
	// Several messages leave while there is room for them. The one that fills the window asks for an acknowledgement.
	s.a.f.cwnd = 1000
	s.settle()
	for i := range 11 {
		s.a.toSend += 90
		ps := s.poll(s.a, 1)
		if asks := ps[0].h.Flags&wire.FlagXAckNow != 0; asks != (i == 10) {
			t.Fatalf("message %d: %v", i, heads(ps))
		}
	}
	s.a.toSend += 90
	s.poll(s.a, 0)
	if s.b.bad {
		t.Fatal("the bytes differ")
	}
}
