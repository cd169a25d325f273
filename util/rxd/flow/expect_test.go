package flow

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gofabric/util/rxd/wire"
)

// TestExpect checks that a peer that owes an answer is probed though no data is in flight, and is given up if it
// stays silent. A peer that answers the probes is never given up.
func TestExpect(t *testing.T) {
	for _, keepAlive := range []int64{0, 60e9} {
		s := newScript(t, func(c *Config) { c.KeepAlive, c.PeerTimeout = keepAlive, 8e9 })
		s.w.Now += 30e9 // idle until then
		start := s.w.Now
		s.a.f.Expect(s.w.Now, true)
		for range 5 {
			for len(s.poll(s.a, -1)) == 0 {
				s.fire(s.a)
			}
			s.bring(s.a, packet{h: wire.XHeader{Type: wire.XAck, Window: 1 << 20}})
		}
		if d := s.w.Now - start; d != 10e9 {
			t.Errorf("five probes in %d ns", d)
		}
		start = s.w.Now
		for s.a.f.Dead() == nil && s.w.Now-start < 100e9 {
			s.fire(s.a)
			s.poll(s.a, -1)
		}
		if d := s.w.Now - start; s.a.f.Dead() != ErrTimeout || d != 8e9 {
			t.Errorf("%v after %d ns", s.a.f.Dead(), d)
		}
	}
	s := newScript(t, func(c *Config) { c.PeerTimeout = 8e9 })
	s.a.f.Expect(s.w.Now, true)
	s.a.f.Expect(s.w.Now, false)
	for s.a.f.Deadline() != 0 {
		s.fire(s.a)
		s.poll(s.a, 0)
	}
	if s.a.f.Dead() != nil {
		t.Error("the peer is given up though it owes no answer")
	}
}

// TestDelayAcks checks that acknowledgements wait for PassDone or ackDelayMax while DelayAcks is on, even if the
// peer asks for one. The acknowledgement of a hole leaves at once.
func TestDelayAcks(t *testing.T) {
	for _, quiet := range []bool{true, false} {
		s := newScript(t, nil)
		s.b.f.DelayAcks(true)
		s.a.toSend = 50_000
		ps := s.poll(s.a, -1)
		ps[len(ps)-1].h.Flags |= wire.FlagXAckNow
		s.bring(s.b, ps...)
		s.poll(s.b, 0)
		if quiet {
			s.b.f.PassDone(s.w.Now)
		} else {
			start := s.w.Now
			if s.fire(s.b); s.w.Now-start != ackDelayMax {
				t.Errorf("the acknowledgement waits for %d ns", s.w.Now-start)
			}
		}
		if out := s.poll(s.b, 1); out[0].h.Ack != 50_000 {
			t.Errorf("%d acknowledged", out[0].h.Ack)
		}
		s.a.toSend += 3000
		ps = s.poll(s.a, -1)
		s.bring(s.b, ps[1:]...)
		s.poll(s.b, 1)
		s.b.f.DelayAcks(false)
		s.bring(s.b, ps[0])
		s.poll(s.b, 1)
	}
}

// TestLossyIsNotDead probes a living peer that owes an answer, over a path that loses 30 % each way, for 1,500
// times PeerTimeout. It must not be given up.
func TestLossyIsNotDead(t *testing.T) {
	const timeout = int64(3e9)
	s := newScript(t, func(c *Config) { c.PeerTimeout = timeout })
	rng := rand.New(rand.NewPCG(1, 2))
	lossy := func(ps []packet) []packet {
		return slices.DeleteFunc(ps, func(packet) bool { return rng.IntN(10) < 3 })
	}
	s.a.f.Expect(s.w.Now, true)
	for end := s.w.Now + 1500*timeout; s.w.Now < end; s.fire(s.a) {
		s.bring(s.b, lossy(s.poll(s.a, -1))...)
		s.b.f.PassDone(s.w.Now)
		s.bring(s.a, lossy(s.poll(s.b, -1))...)
		if s.a.f.Dead() != nil {
			t.Fatalf("the peer is given up after %v", time.Duration(s.w.Now))
		}
	}
}
