package flow

import (
	"math"
	"testing"

	"gofabric/util/rxd/wire"
)

// TestStalledSink closes the window while data is in flight. The data is kept, probes find the window open again,
// and nothing is lost.
func TestStalledSink(t *testing.T) {
	s := newScript(t, func(c *Config) { c.RecvWindow, c.PeerWindow = 20000, 20000 })
	s.a.toSend = 100000
	first := s.poll(s.a, -1)
	s.pass(50e3)
	s.b.stalled = true
	s.bring(s.b, first...)
	acks := s.poll(s.b, 1)
	if acks[0].h.Window != 0 || s.b.got != 1000 {
		t.Fatalf("window %d, got %d", acks[0].h.Window, s.b.got)
	}
	s.bring(s.a, acks...)
	s.poll(s.a, 0)
	for range 3 {
		s.fire(s.a)
		probe := s.poll(s.a, -1)
		if len(probe) == 0 {
			continue
		}
		if len(probe) != 1 || probe[0].h.Type != wire.XProbe {
			t.Fatal(heads(probe))
		}
		s.bring(s.b, probe...)
		s.bring(s.a, s.poll(s.b, 1)...)
	}
	s.b.f.Resume(s.w.Now) // still stalled: no effect
	s.poll(s.b, 0)
	s.b.stalled = false
	s.b.f.Resume(s.w.Now)
	if s.b.got != 20000 {
		t.Fatalf("got %d", s.b.got)
	}
	s.poll(s.b, 1) // this datagram is lost
	s.fire(s.a)
	s.bring(s.b, s.poll(s.a, 1)...)
	s.bring(s.a, s.poll(s.b, 1)...)
	s.settle()
	s.done()
}

// TestClosedWindow closes the window while nothing is in flight.
func TestClosedWindow(t *testing.T) {
	s := newScript(t, nil)
	s.bring(s.a, packet{h: wire.XHeader{Type: wire.XAck, Time: 5}})
	s.a.toSend = 100
	s.poll(s.a, 0)
	for i := range 4 {
		at := s.w.Now
		s.fire(s.a)
		if p := s.poll(s.a, 1); p[0].h.Type != wire.XProbe {
			t.Fatal(heads(p))
		}
		if s.w.Now-at < 1e6<<i {
			t.Errorf("probe %d after %d", i, s.w.Now-at)
		}
	}
	// Older than the header that set the edge: ignored.
	s.bring(s.a, packet{h: wire.XHeader{Type: wire.XAck, Time: 4, Window: 1000}})
	s.poll(s.a, 0)
	s.bring(s.a, packet{h: wire.XHeader{Type: wire.XAck, Time: 6, Window: 1000}})
	s.poll(s.a, 1)
}

// TestWindowRespected checks that a flow never sends beyond the peer's window, whose edge moves left and right.
func TestWindowRespected(t *testing.T) {
	s := newScript(t, func(c *Config) { c.PeerWindow = 5500 })
	s.a.toSend = 1 << 20
	if ps := s.poll(s.a, 5); ps[4].h.Flags&wire.FlagXAckNow == 0 {
		t.Error("the last segment of a window does not ask for an acknowledgement")
	}
	s.bring(s.a, packet{h: wire.XHeader{Type: wire.XAck, Time: 1, Ack: 1000, Window: 100}}) // the edge moves left
	s.poll(s.a, 0)
	s.bring(s.a, packet{h: wire.XHeader{Type: wire.XAck, Time: 2, Ack: 5000, Window: math.MaxUint32}})
	for _, p := range s.poll(s.a, -1) {
		if p.h.Offset+uint64(len(p.b)) > 1<<20 {
			t.Fatal(p.h)
		}
	}
}

// TestTimestampsWrap runs past the end of the 32-bit clock.
func TestTimestampsWrap(t *testing.T) {
	s := newScript(t, nil)
	s.w.Now = (1<<32)*1000 - 250e3
	s.a.f.path, s.b.f.path = path{}, path{}
	for range 20 {
		s.a.toSend += 1000
		s.a.lent = true
		s.settle()
	}
	s.done()
	if st := s.a.f.Stats(); st.SRTT != 100e3 && st.SRTT != 101e3 || st.Retransmitted != 0 {
		t.Errorf("%+v", st)
	}
}

// TestInvalidDatagrams sends datagrams that break the protocol. They are counted and change nothing.
func TestInvalidDatagrams(t *testing.T) {
	for name, h := range map[string]wire.XHeader{
		"acknowledges what was never sent": {Type: wire.XAck, Ack: 5001, Window: 9},
		"acknowledges everything":          {Type: wire.XAck, Ack: math.MaxUint64, Window: 9},
		"inverted block":                   {Type: wire.XAck, Window: 1 << 24, NSACK: 1, SACK: [16]wire.Range{{Start: 3000, End: 1000}}},
		"block beyond what was sent":       {Type: wire.XAck, Window: 1 << 24, NSACK: 1, SACK: [16]wire.Range{{Start: 1000, End: 5001}}},
		"block of everything":              {Type: wire.XAck, Window: 1 << 24, NSACK: 1, SACK: [16]wire.Range{{Start: 0, End: math.MaxUint64}}},
		"offset that wraps":                {Type: wire.XData, Offset: math.MaxUint64 - 5, Window: 1 << 24},
	} {
		s := newScript(t, nil)
		s.a.toSend = 5000
		s.poll(s.a, 5)
		s.bring(s.a, packet{h: h, b: make([]byte, 100)}) // its payload is at offset 0, or is refused with the header
		if st := s.a.f.Stats(); st.Nonsense != 1 {
			t.Errorf("%s: %+v", name, st)
		}
		if s.a.acked != 0 || s.a.f.tx.inFlight != 5000 {
			t.Errorf("%s: acknowledged %d, in flight %d", name, s.a.acked, s.a.f.tx.inFlight)
		}
	}
	s := newScript(t, nil)
	s.bring(s.a, packet{h: wire.XHeader{Type: wire.XData, Offset: 1 << 40, Window: 1}, b: make([]byte, 100)})
	s.bring(s.a, packet{h: wire.XHeader{Type: wire.XData, Offset: 16<<20 - 50, Window: 1}, b: make([]byte, 100)})
	if st := s.a.f.Stats(); st.Dropped != 2 || s.a.cfg.Pool.OutPages != 0 {
		t.Errorf("beyond the window: %+v", st)
	}
}

// TestBudget uses up the budget of the pool with pieces behind holes.
func TestBudget(t *testing.T) {
	s := newScript(t, func(c *Config) { c.Pool.Budget = 10 * pageSize })
	for i := range uint64(100) {
		s.bring(s.b, packet{h: wire.XHeader{Type: wire.XData, Offset: (i + 1) * pageSize, Window: 1}, b: make([]byte, 1)})
	}
	if p := s.b.cfg.Pool; p.OutPages != 10 || s.b.f.Stats().Dropped != 90 {
		t.Errorf("%d pages, %+v", p.OutPages, s.b.f.Stats())
	}
	for i := range uint64(2 * maxSpans) {
		s.bring(s.b, packet{h: wire.XHeader{Type: wire.XData, Offset: pageSize + 2*i, Window: 1}, b: make([]byte, 1)})
	}
	if n := len(s.b.f.rx.spans); n > maxSpans {
		t.Errorf("%d spans", n)
	}
	s.bring(s.b, packet{h: wire.XHeader{Type: wire.XReset}})
	if s.b.f.Dead() != ErrReset || s.b.cfg.Pool.OutPages != 0 || s.b.f.Deadline() != 0 {
		t.Errorf("dead %v, %d pages", s.b.f.Dead(), s.b.cfg.Pool.OutPages)
	}
}

// TestPeerTimeout checks that a silent peer is given up in time, with data in flight and before a closed window,
// and never while the flow waits for nothing.
func TestPeerTimeout(t *testing.T) {
	for name, prepare := range map[string]func(*script){
		"in flight": func(s *script) { s.a.toSend = 5000 },
		"closed window": func(s *script) {
			s.bring(s.a, packet{h: wire.XHeader{Type: wire.XAck, Time: 5}})
			s.a.toSend = 100
		},
	} {
		s := newScript(t, func(c *Config) { c.PeerTimeout = 3e9 })
		prepare(s)
		start := s.w.Now
		sent := len(s.poll(s.a, -1))
		for s.a.f.Dead() == nil && s.w.Now-start < 100e9 {
			s.fire(s.a)
			sent += len(s.poll(s.a, -1))
		}
		if d := s.w.Now - start; s.a.f.Dead() != ErrTimeout || d != 3e9 || sent < probesPerTimeout ||
			sent > 3*probesPerTimeout {
			t.Errorf("%s: %v after %d ns and %d datagrams", name, s.a.f.Dead(), d, sent)
		}
		if p := s.a.cfg.Pool; p.OutSenders != 0 {
			t.Errorf("%s: a dead flow keeps memory", name)
		}
		s.poll(s.a, 0)
	}
	s := newScript(t, nil)
	if s.a.f.Deadline() != 0 {
		t.Error("an idle flow has a deadline")
	}
}

// TestKeepAlive probes an idle peer, and gives it up when it does not answer.
func TestKeepAlive(t *testing.T) {
	s := newScript(t, func(c *Config) { c.KeepAlive, c.PeerTimeout = 5e9, 2e9 })
	start := s.w.Now
	for range 3 {
		s.fire(s.a)
		for len(s.poll(s.a, -1)) == 0 {
			s.fire(s.a)
		}
		s.bring(s.a, packet{h: wire.XHeader{Type: wire.XAck, Window: 1 << 20}})
	}
	if s.w.Now-start != 15e9 {
		t.Errorf("three probes within %d ns", s.w.Now-start)
	}
	for s.a.f.Dead() == nil {
		s.fire(s.a)
		s.poll(s.a, -1)
	}
	if s.w.Now-start != 22e9 {
		t.Errorf("the peer is given up after %d ns", s.w.Now-start)
	}
}

// TestClose checks that the end of the stream follows the stream.
func TestClose(t *testing.T) {
	s := newScript(t, nil)
	s.a.toSend = 5000
	s.a.f.Close(s.w.Now)
	ps := s.poll(s.a, 5)
	s.bring(s.b, ps...)
	if s.a.f.Done() {
		t.Error("the flow is closed before any data arrived")
	}
	s.bring(s.a, s.poll(s.b, 1)...)
	fin := s.poll(s.a, 1)
	if fin[0].h.Flags&wire.FlagXFin == 0 || !s.a.f.Done() {
		t.Fatal(heads(fin))
	}
	s.bring(s.b, fin...)
	s.done()
	if s.b.f.Dead() != ErrClosed {
		t.Error(s.b.f.Dead())
	}
	s.b.f.Receive(s.w.Now, &fin[0].h, nil)
	s.poll(s.b, 0)
}

// TestAbort checks that the peer gets a reset.
func TestAbort(t *testing.T) {
	s := newScript(t, nil)
	s.a.toSend = 500
	s.poll(s.a, 1)
	s.a.f.Abort(ErrClosed)
	rst := s.poll(s.a, 1)
	s.bring(s.b, rst...)
	if s.b.f.Dead() != ErrReset || s.a.f.Dead() != ErrClosed {
		t.Error(s.b.f.Dead(), s.a.f.Dead())
	}
}

// TestAcknowledgementsWait checks when an acknowledgement leaves.
func TestAcknowledgementsWait(t *testing.T) {
	data := func(n int, flags wire.XFlags, off uint64) packet {
		return packet{h: wire.XHeader{Type: wire.XData, Flags: flags, Offset: off, Window: 1 << 20, Time: 9}, b: slice(off, n)}
	}
	s := newScript(t, nil)
	s.bring(s.b, data(100, 0, 0))
	s.poll(s.b, 0) // the acknowledgement waits for data
	if d := s.b.f.Deadline(); d != s.w.Now+1e6 {
		t.Errorf("deadline in %d", d-s.w.Now)
	}
	s.b.f.PassDone(s.w.Now)
	if p := s.poll(s.b, 1); p[0].h.Ack != 100 || p[0].h.Type != wire.XAck || p[0].h.Echo != 9 {
		t.Error(p[0].h)
	}
	s.bring(s.b, data(100, 0, 100))
	s.b.toSend = 50 // the answer carries it
	if p := s.poll(s.b, 1); p[0].h.Ack != 200 || p[0].h.Type != wire.XData {
		t.Error(p[0].h)
	}
	s.bring(s.b, data(100, wire.FlagXAckNow, 200))
	s.poll(s.b, 1)
	off := uint64(300)
	for off < 300+ackEveryBytes-1000 {
		s.bring(s.b, data(1000, 0, off))
		off += 1000
	}
	s.poll(s.b, 0)
	s.bring(s.b, data(1000, 0, off))
	s.poll(s.b, 1)
}
