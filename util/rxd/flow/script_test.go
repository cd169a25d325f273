package flow

import (
	"testing"

	"gofabric/util/rxd/wire"
)

// packet is a transmitted datagram.
type packet struct {
	h wire.XHeader
	b []byte
}

// script drives two flows by hand: the test decides what happens to each datagram.
type script struct {
	t    *testing.T
	w    *world
	a, b *node
}

func newScript(t *testing.T, change func(*Config)) *script {
	cfg := testConfig(1048) // 1000 bytes of payload
	if change != nil {
		change(&cfg)
	}
	s := &script{t: t, w: newWorld(1)}
	s.a, s.b = s.w.pair(cfg, nil, nil)
	for _, n := range []*node{s.a, s.b} {
		n.f.AddRTT(s.w.Now, 100e3)
	}
	return s
}

// poll returns the datagrams that n transmits now. want is their number; -1: any.
func (s *script) poll(n *node, want int) []packet {
	s.t.Helper()
	var out []packet
	for n.poll(s.w.Now) {
		p := packet{h: n.dg.Header}
		for _, part := range n.dg.Parts {
			p.b = append(p.b, part...)
		}
		if len(p.b) != n.dg.Len {
			s.t.Fatalf("Len %d, parts %d", n.dg.Len, len(p.b))
		}
		out = append(out, p)
	}
	if want >= 0 && len(out) != want {
		s.t.Fatalf("%d datagrams, want %d: %v", len(out), want, heads(out))
	}
	return out
}

func heads(ps []packet) (out []wire.XHeader) {
	for _, p := range ps {
		out = append(out, p.h)
	}
	return out
}

// bring delivers datagrams to n.
func (s *script) bring(n *node, ps ...packet) {
	for _, p := range ps {
		n.f.Receive(s.w.Now, &p.h, p.b)
	}
}

// settle exchanges datagrams without loss until both ends are silent. Every datagram takes 50 us.
func (s *script) settle() {
	s.t.Helper()
	for range 1000 {
		pa, pb := s.poll(s.a, -1), s.poll(s.b, -1)
		if len(pa)+len(pb) == 0 {
			s.a.f.PassDone(s.w.Now)
			s.b.f.PassDone(s.w.Now)
			if pa, pb = s.poll(s.a, -1), s.poll(s.b, -1); len(pa)+len(pb) == 0 {
				return
			}
		}
		s.pass(50e3)
		s.bring(s.b, pa...)
		s.bring(s.a, pb...)
	}
	s.t.Fatal("the ends exchange datagrams without end")
}

// pass moves the time forward by d and serves the deadlines.
func (s *script) pass(d int64) {
	s.w.Now += d
	for _, n := range []*node{s.a, s.b} {
		if at := n.f.Deadline(); at != 0 && at <= s.w.Now {
			n.f.Advance(s.w.Now)
		}
	}
}

// fire moves the time to n's next deadline and serves it.
func (s *script) fire(n *node) {
	s.t.Helper()
	d := n.f.Deadline()
	if d == 0 {
		s.t.Fatal("no deadline")
	}
	s.w.Now = max(d, s.w.Now)
	n.f.Advance(s.w.Now)
}

// done checks that all of a's stream arrived and was acknowledged.
func (s *script) done() {
	s.t.Helper()
	if s.b.got != s.a.toSend || s.a.acked != s.a.toSend || s.b.bad {
		s.t.Fatalf("sent %d, got %d, acknowledged %d, bad %v", s.a.toSend, s.b.got, s.a.acked, s.b.bad)
	}
}

// TestLostSegments loses each of ten segments in turn. Loss detection has it sent again, and for the last one a
// tail loss probe.
func TestLostSegments(t *testing.T) {
	for lose := range 10 {
		s := newScript(t, nil)
		s.a.toSend, s.a.lent = 10000, true
		ps := s.poll(s.a, 10)
		s.pass(50e3)
		for i, p := range ps {
			if i != lose {
				s.bring(s.b, p)
			}
		}
		if lose == 9 {
			s.fire(s.b) // the delayed acknowledgement
		}
		acks := s.poll(s.b, 1)
		s.pass(50e3)
		s.bring(s.a, acks...)
		s.fire(s.a)
		again := s.poll(s.a, 1)
		if again[0].h.Offset != uint64(lose)*1000 || len(again[0].b) != 1000 || again[0].h.Flags&wire.FlagXAckNow == 0 {
			t.Fatalf("segment %d: %v", lose, heads(again))
		}
		s.pass(50e3)
		s.bring(s.b, again...)
		s.bring(s.a, s.poll(s.b, 1)...)
		s.done()
		if st := s.a.f.Stats(); st.Timeouts != 0 || st.Retransmitted != 1 {
			t.Errorf("segment %d: %+v", lose, st)
		}
	}
}

// TestLostAcknowledgement loses the only acknowledgement. The probe brings another.
func TestLostAcknowledgement(t *testing.T) {
	s := newScript(t, nil)
	s.a.toSend, s.a.lent = 3000, true
	ps := s.poll(s.a, 3)
	if ps[2].h.Flags&wire.FlagXAckNow == 0 {
		t.Error("the last segment of lent data does not ask for an acknowledgement")
	}
	s.bring(s.b, ps...)
	s.poll(s.b, 1)
	s.fire(s.a)
	s.bring(s.b, s.poll(s.a, 1)...)
	s.bring(s.a, s.poll(s.b, 1)...)
	s.done()
	if s.b.f.Stats().Duplicates != 1 {
		t.Errorf("%+v", s.b.f.Stats())
	}
}

// TestLostRetransmission loses a segment twice. Segments that were sent after the retransmission and arrive show
// the second loss.
func TestLostRetransmission(t *testing.T) {
	s := newScript(t, nil)
	s.a.toSend = 10000
	ps := s.poll(s.a, 10)
	s.pass(50e3)
	s.bring(s.b, ps[1:]...)
	s.bring(s.a, s.poll(s.b, 1)...)
	s.fire(s.a)
	s.poll(s.a, 1) // lost too
	s.a.toSend += 1000
	later := s.poll(s.a, 1)
	s.pass(100e3)
	s.bring(s.b, later...)
	s.bring(s.a, s.poll(s.b, 1)...)
	s.pass(30e3)
	again := s.poll(s.a, 1)
	if again[0].h.Offset != 0 {
		t.Fatal(heads(again))
	}
	s.bring(s.b, again...)
	s.bring(s.a, s.poll(s.b, 1)...)
	s.done()
	if s.a.f.Stats().Timeouts != 0 {
		t.Errorf("%+v", s.a.f.Stats())
	}
}

// TestAllLost loses a whole flight and the probes after it. The time-out grows. The first answer brings the rest.
func TestAllLost(t *testing.T) {
	s := newScript(t, nil)
	s.a.toSend = 10000
	s.poll(s.a, 10)
	last := s.w.Now
	for i := range 5 {
		s.fire(s.a)
		for s.poll(s.a, -1) == nil {
			s.fire(s.a)
		}
		if i > 2 && s.w.Now-last < 2e6 {
			t.Errorf("time-out %d after %d ns", i, s.w.Now-last)
		}
		last = s.w.Now
	}
	s.fire(s.a)
	head := s.poll(s.a, 2)
	if head[0].h.Offset != 0 || len(head[0].b) != 1000 || head[1].h.Type != wire.XProbe {
		t.Fatal(heads(head))
	}
	s.pass(50e3)
	s.bring(s.b, head...)
	s.bring(s.a, s.poll(s.b, 1)...)
	s.pass(100e3)
	s.settle()
	for range 5 {
		s.pass(5e6)
		s.settle()
	}
	s.done()
}

// TestReordered delivers in reverse order. Nothing is sent again before the reordering window is over.
func TestReordered(t *testing.T) {
	s := newScript(t, nil)
	s.a.toSend = 10000
	ps := s.poll(s.a, 10)
	s.pass(50e3)
	for i := range ps {
		s.bring(s.b, ps[9-i])
		s.bring(s.a, s.poll(s.b, -1)...)
		s.w.Now += 500
	}
	s.done()
	if st := s.a.f.Stats(); st.Retransmitted != 0 || st.Lost != 0 {
		t.Errorf("%+v", st)
	}
}

// TestDuplicates delivers every datagram twice.
func TestDuplicates(t *testing.T) {
	s := newScript(t, nil)
	s.a.toSend = 5000
	ps := s.poll(s.a, 5)
	s.bring(s.b, ps...)
	s.bring(s.b, ps...)
	acks := s.poll(s.b, 1)
	s.bring(s.a, acks...)
	s.bring(s.a, acks...)
	s.done()
	if s.b.f.Stats().Duplicates != 5 {
		t.Errorf("%+v", s.b.f.Stats())
	}
}

// TestOverlaps delivers pieces that overlap with delivered data and with held data.
func TestOverlaps(t *testing.T) {
	s := newScript(t, nil)
	piece := func(from, to uint64) packet {
		return packet{h: wire.XHeader{Type: wire.XData, Offset: from, Window: 1 << 20}, b: slice(from, int(to-from))}
	}
	s.a.toSend, s.a.handed = 60000, 60000
	for _, p := range []packet{
		piece(0, 1000), piece(500, 1500), piece(3000, 4000), piece(3500, 5000), piece(2500, 3500), piece(2000, 6000), piece(8000, 9000), piece(20000, 60000),
		piece(40000, 41000), piece(1400, 30000),
	} {
		s.bring(s.b, p)
	}
	if s.b.got != 60000 || s.b.bad {
		t.Fatalf("got %d, bad %v", s.b.got, s.b.bad)
	}
	if p := s.b.cfg.Pool; p.OutPages != 0 || p.used != 0 {
		t.Errorf("%d pages left", p.OutPages)
	}
}

// TestSmallerMaxDatagram loses a flight whose datagrams are too long for the path from then on. All of it arrives
// in smaller pieces.
func TestSmallerMaxDatagram(t *testing.T) {
	for _, chunk := range []int{0, 300} {
		s := newScript(t, nil)
		s.a.chunk = chunk
		s.a.toSend, s.a.lent = 5000, true
		s.poll(s.a, 5)
		s.a.f.SetMaxDatagram(500)
		for k := 0; s.a.acked < 5000; k++ {
			if k > 100 {
				t.Fatalf("the transfer does not end: %d acknowledged", s.a.acked)
			}
			ps := s.poll(s.a, -1)
			for _, p := range ps {
				if wire.XHeaderLen+len(p.b) > 500 {
					t.Fatal(p.h)
				}
			}
			if len(ps) == 0 {
				s.fire(s.a)
				continue
			}
			s.pass(50e3)
			s.bring(s.b, ps...)
			s.b.f.PassDone(s.w.Now)
			s.bring(s.a, s.poll(s.b, -1)...)
			invariants(t, s.a)
		}
		s.done()
	}
}

// TestPartialAcknowledgement acknowledges in the middle of a segment. The rest is sent again.
func TestPartialAcknowledgement(t *testing.T) {
	s := newScript(t, nil)
	s.a.chunk = 300
	s.a.toSend = 2000
	s.poll(s.a, 2)
	s.bring(s.a, packet{h: wire.XHeader{Type: wire.XAck, Ack: 700, Window: 1 << 20}})
	if s.a.acked != 700 || s.a.f.tx.inFlight != 1000 || s.a.f.tx.lostBytes != 300 {
		t.Fatalf("acknowledged %d, in flight %d", s.a.acked, s.a.f.tx.inFlight)
	}
	ps := s.poll(s.a, 1)
	if ps[0].h.Offset != 700 || len(ps[0].b) != 300 || string(ps[0].b) != string(slice(700, 300)) {
		t.Fatalf("%v", heads(ps))
	}
}
