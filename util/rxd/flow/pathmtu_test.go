package flow

import (
	"fmt"
	"testing"

	"gofabric/test/sim/network"
	"gofabric/util/rxd/wire"
)

// TestBlackHole has paths that lose all datagrams above some size, with and without chance loss. Everything arrives
// soon, in datagrams of at least half the possible size.
func TestBlackHole(t *testing.T) {
	for _, most := range []int{520, 600, 1400, 1472, 3000, 8000} {
		for _, mtu := range []int{8952, 65507} {
			for _, l := range []network.Link{{Delay: 50e3}, {Delay: 5e6}, {Delay: 50e3, Loss: 0.01}, {Delay: 50e3, Loss: 0.1}, {Delay: 50e3, Loss: 0.2}} {
				for seed := range uint64(3) {
					t.Run(fmt.Sprintf("%d of %d, %d us, loss %v, %d", most, mtu, l.Delay/1000, l.Loss, seed), func(t *testing.T) {
						ab, ba := l, l
						ab.Longest = most
						d, a, _ := transfer(t, seed, 4<<20, testConfig(mtu), &ab, &ba)
						limit := int64(3e9)
						if l.Delay > 1e6 || l.Loss > 0.1 {
							limit = 8e9
						}
						if d > limit {
							t.Errorf("took %d ms, %+v", d/1e6, a.f.Stats())
						}
						got := int(a.f.payload) + wire.XHeaderLen
						if a.f.Stats().BlackHoles == 0 || got > most || l.Loss < 0.1 && got < most/2 && got > 512 {
							t.Errorf("datagrams of %d bytes, %+v", got, a.f.Stats())
						}
						drained(t, a, a.peer)
					})
				}
			}
		}
	}
}

// TestPathMTUFallsAndRises has the path lose long datagrams for some time in the middle of a transfer. Soon after
// that time the datagrams are as long as before.
func TestPathMTUFallsAndRises(t *testing.T) {
	w := newWorld(1)
	ab := &network.Link{Delay: 50e3, Rate: 12.5e6, Queue: 128 << 10}
	a, b := w.pair(testConfig(8952), ab, &network.Link{Delay: 50e3})
	a.toSend = 1 << 40
	grows := func(what string, limit int64) {
		t.Helper()
		if from := a.acked; w.run(limit, func() bool { return a.acked > from+1<<20 }) != true {
			t.Fatalf("%s: %d bytes more, %+v", what, a.acked-from, a.f.Stats())
		}
	}
	grows("wide", 1e9)
	ab.Longest = 1472
	grows("narrow", 2e9)
	if got := a.f.Stats(); a.f.payload+wire.XHeaderLen != 1452 || got.BlackHoles != 1 {
		t.Fatalf("payload %d, %+v", a.f.payload, got)
	}
	w.run(20e9, nil)
	if n := a.f.pathMTU.failedProbes; n < 6 || n > 9 {
		t.Errorf("%d longer ones were tried in 20 s", n)
	}
	ab.Longest = 0
	if !w.run(40e9, func() bool { return a.f.payload == uint32(a.f.maxPayload) }) {
		t.Errorf("payload %d, %+v", a.f.payload, a.f.Stats())
	}
	grows("wide again", 1e9)
	if got := a.f.Stats(); got.BlackHoles != 1 || b.bad {
		t.Errorf("bad %v, %+v", b.bad, got)
	}
}

// TestLossIsNoBlackHole loses a third of all datagrams. They become shorter at times, but not for long.
func TestLossIsNoBlackHole(t *testing.T) {
	w := newWorld(1)
	a, b := w.pair(testConfig(8952), &network.Link{Delay: 50e3, Loss: 0.3}, &network.Link{Delay: 50e3, Loss: 0.3})
	var full, shorter int64
	last := w.Now
	// One long message at a time: with bulk data other datagrams would show that the length is not the reason.
	for i := range uint64(4000) {
		a.toSend += 8000
		if !w.run(60e9, func() bool { return a.acked == a.toSend }) {
			t.Fatalf("message %d: %+v", i, a.f.Stats())
		}
		if a.f.payload >= 8000 {
			full += w.Now - last
		} else {
			shorter += w.Now - last
		}
		last = w.Now
	}
	t.Logf("full %d ms, shorter %d ms, %+v", full/1e6, shorter/1e6, a.f.Stats())
	if a.f.Stats().BlackHoles == 0 {
		t.Error("no datagram became shorter: the test has no effect")
	}
	if shorter > full/4 || b.bad {
		t.Errorf("bad %v", b.bad)
	}
}

// holed drives a flow over a path that loses a's datagrams of more than most bytes of payload, until done. It
// returns the payload lengths of the lost datagrams.
func (s *script) holed(most int, done func() bool) (gone []int) {
	s.t.Helper()
	for k := 0; !done(); k++ {
		if k > 1000 {
			s.t.Fatalf("the transfer does not end: %d acknowledged, %+v, %+v", s.a.acked, s.a.f.Stats(), s.a.f.pathMTU)
		}
		ps := s.poll(s.a, -1)
		if len(ps) == 0 {
			s.fire(s.a)
			continue
		}
		s.pass(50e3)
		for _, p := range ps {
			if len(p.b) > most {
				gone = append(gone, len(p.b))
			} else {
				s.bring(s.b, p)
			}
		}
		s.b.f.PassDone(s.w.Now)
		back := s.poll(s.b, -1)
		s.pass(50e3)
		s.bring(s.a, back...)
		invariants(s.t, s.a)
	}
	return gone
}

// TestBlackHoleStepByStep follows one segment into a black hole, and the longer datagrams that are tried
// afterwards.
func TestBlackHoleStepByStep(t *testing.T) {
	for _, chunk := range []int{0, 300} {
		s := newScript(t, func(c *Config) { c.MaxDatagram, c.PeerMaxDatagram = 9048, 9048 })
		s.a.chunk = chunk
		size := uint64(9000)
		if chunk != 0 {
			size = 1200 // four slices
		}
		s.a.toSend = size
		start := s.w.Now
		gone := s.holed(1000, func() bool { return s.a.acked == size })
		want := fmt.Sprint([]int{9000, 9000, 9000, 9000, 9000, 9000, 9000, 4500, 2250, 1404, 1184})
		if chunk != 0 {
			want = fmt.Sprint([]int{1200, 1200, 1200, 1200, 1200, 1200, 1200, 1184})
		}
		if fmt.Sprint(gone) != want {
			t.Errorf("lost %v, want %v", gone, want)
		}
		if d := s.w.Now - start; d > 1e9 {
			t.Errorf("took %d us", d/1000)
		}
		s.done()
		if st := s.a.f.Stats(); st.BlackHoles != 1 {
			t.Errorf("%+v", st)
		}
		narrow := s.a.f.payload
		if s.a.f.SetMaxDatagram(3048); s.a.f.payload != narrow {
			t.Errorf("payload %d after a router reported 3000, want no change", s.a.f.payload)
		}
		if s.a.f.SetMaxDatagram(5048); s.a.f.payload != 5000 {
			t.Errorf("payload %d on a new path, want 5000", s.a.f.payload)
		}
	}
}

// TestBadLuckIsNoBlackHole loses one segment again and again while others of its length arrive. The datagrams stay
// as long as they are.
func TestBadLuckIsNoBlackHole(t *testing.T) {
	s := newScript(t, nil)
	s.a.toSend = 3000
	for lost := 0; lost < 12; {
		for _, p := range s.poll(s.a, -1) {
			s.pass(1e3)
			if p.h.Type == wire.XData && p.h.Offset == 0 {
				if lost++; len(p.b) != 1000 {
					t.Fatalf("a datagram of %d bytes after %d losses", len(p.b), lost)
				}
				continue
			}
			s.bring(s.b, p)
		}
		s.pass(50e3)
		s.bring(s.a, s.poll(s.b, -1)...)
		s.a.toSend += 1000
		s.pass(1e6)
	}
	if s.a.f.Stats().BlackHoles != 0 {
		t.Errorf("%+v", s.a.f.Stats())
	}
}

// TestRemainderIsDropped acknowledges the first piece of a segment before the other pieces leave. Each of them
// leaves once.
func TestRemainderIsDropped(t *testing.T) {
	s := newScript(t, nil)
	s.a.toSend = 1000
	s.poll(s.a, 1)
	s.a.f.SetMaxDatagram(300)
	s.fire(s.a)
	for !s.a.poll(s.w.Now) {
		s.fire(s.a)
	}
	if s.a.dg.Len != 252 {
		t.Fatalf("a piece of %d", s.a.dg.Len)
	}
	s.bring(s.a, packet{h: wire.XHeader{Type: wire.XAck, Ack: 252, Window: 1 << 20}})
	ps := s.poll(s.a, 3)
	for i, p := range ps {
		if off := uint64(252 * (i + 1)); p.h.Offset != off || string(p.b) != string(slice(off, len(p.b))) {
			t.Errorf("%v", p.h)
		}
	}
}

// TestSilenceIsNoBlackHole has a peer that does not answer for some time. Datagrams stay as long as before.
func TestSilenceIsNoBlackHole(t *testing.T) {
	s := newScript(t, nil)
	s.a.toSend = 1000
	for s.w.Now < 8e9 {
		for _, p := range s.poll(s.a, -1) {
			if p.h.Type == wire.XData && len(p.b) != 1000 {
				t.Fatal(p.h)
			}
		}
		s.fire(s.a)
	}
	s.settle()
	for s.a.acked < 1000 {
		s.fire(s.a)
		s.settle()
	}
	if st := s.a.f.Stats(); st.BlackHoles != 0 || s.a.f.tx.search.lostInRow != 0 {
		t.Errorf("%+v", st)
	}
}

// TestUnusablePath gives up a peer that answers and has room, but receives no data, not even the shortest
// datagrams. A peer whose window is closed is not given up.
func TestUnusablePath(t *testing.T) {
	for _, size := range []uint64{9000, 100} {
		s := newScript(t, func(c *Config) { c.MaxDatagram, c.PeerMaxDatagram, c.PeerTimeout = 9048, 9048, 5e9 })
		s.a.toSend = size
		start := s.w.Now
		s.holed(0, func() bool { return s.a.f.Dead() != nil })
		if d := s.w.Now - start; s.a.f.Dead() != ErrTimeout || d < 5e9 || d > 12e9 {
			t.Errorf("%v after %d ms", s.a.f.Dead(), d/1e6)
		}
	}
	s := newScript(t, func(c *Config) { c.MaxDatagram, c.PeerMaxDatagram, c.PeerTimeout = 9048, 9048, 5e9 })
	s.a.toSend = 9000
	s.poll(s.a, 1)
	s.b.stalled = true
	s.b.f.flags |= fStalled
	s.b.cfg.Pool.Budget = 1 // no room to hold the data either
	start := s.w.Now
	s.holed(0, func() bool { return s.w.Now > start+60e9 })
	if s.a.f.Dead() != nil || s.a.f.tx.search.lostInRow != 0 {
		t.Errorf("%v, %+v", s.a.f.Dead(), s.a.f.tx.search)
	}
	s.b.stalled, s.b.cfg.Pool.Budget = false, 0
	s.b.f.Resume(s.w.Now)
	s.holed(9000, func() bool { return s.a.acked == 9000 })
	s.done()
	if s.a.f.Stats().BlackHoles != 0 {
		t.Errorf("%+v", s.a.f.Stats())
	}
}
