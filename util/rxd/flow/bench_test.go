package flow

import "testing"

// ends is a pair of flows without a network between them: each receives at once what the other transmits.
type ends struct {
	now  int64
	a, b node
	dg   Datagram
	buf  []byte
}

func newEnds(cfg Config) *ends {
	e := &ends{now: 1e9, buf: make([]byte, 0, 1<<16)}
	e.a.cfg, e.b.cfg = cfg, cfg
	e.a.f.Init(&e.a.cfg, &e.a, &countingSink{}, e.now)
	e.b.f.Init(&e.b.cfg, &e.b, &countingSink{}, e.now)
	return e
}

// countingSink is a sink that only counts.
type countingSink struct{ n int }

func (t *countingSink) Deliver(b []byte) { t.n += len(b) }
func (t *countingSink) Stalled() bool    { return false }

// carry delivers the datagrams that from transmits to the other end, and returns their number.
func (e *ends) carry(from, to *node) int {
	n := 0
	for from.f.Poll(e.now, &e.dg) {
		var p []byte
		if len(e.dg.Parts) > 0 {
			p = e.dg.Parts[0]
		}
		e.now += 100
		to.f.Receive(e.now, &e.dg.Header, p)
		n++
	}
	return n
}

func (e *ends) advance(n *node) {
	if d := n.f.Deadline(); d != 0 && d <= e.now {
		n.f.Advance(e.now)
	}
}

// exchange is a ping-pong with messages of n bytes.
func (e *ends) exchange(n uint64) {
	e.a.toSend += n
	e.carry(&e.a, &e.b)
	e.b.toSend += n
	e.carry(&e.b, &e.a)
	e.advance(&e.a)
	e.advance(&e.b)
}

// BenchmarkPingPong measures the work of both ends for a message of 64 bytes and an answer of as many: four times
// the work of one end for a datagram.
func BenchmarkPingPong(b *testing.B) {
	e := newEnds(testConfig(1472))
	b.ReportAllocs()
	for b.Loop() {
		e.exchange(64)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4, "ns/side")
}

// BenchmarkRate measures the work of both ends for messages of 64 bytes in one direction, each in a datagram of its
// own, with acknowledgements as the rules demand.
func BenchmarkRate(b *testing.B) {
	e := newEnds(testConfig(1472))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e.a.toSend += 64
		e.carry(&e.a, &e.b)
		if i%32 == 31 {
			e.b.f.PassDone(e.now)
			e.carry(&e.b, &e.a)
			e.advance(&e.a)
			e.advance(&e.b)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2, "ns/side")
}

// BenchmarkBulk measures the work of both ends for full datagrams.
func BenchmarkBulk(b *testing.B) {
	e := newEnds(testConfig(60000))
	b.ReportAllocs()
	for b.Loop() {
		e.a.toSend += uint64(e.a.f.payload)
		e.carry(&e.a, &e.b)
		e.carry(&e.b, &e.a)
		e.advance(&e.a)
		e.advance(&e.b)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2, "ns/side")
}

// BenchmarkLoss measures the work of both ends for datagrams of 1,400 bytes, of which one in fifty is lost. It
// includes the copies of data behind holes.
func BenchmarkLoss(b *testing.B) {
	e := newEnds(testConfig(1472))
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		e.a.toSend += uint64(e.a.f.payload)
		for e.a.f.Poll(e.now, &e.dg) {
			e.now += 1000
			if i++; i%50 != 0 {
				e.b.f.Receive(e.now, &e.dg.Header, e.dg.Parts[0])
			}
		}
		e.carry(&e.b, &e.a)
		e.advance(&e.a)
		e.advance(&e.b)
	}
}

// TestNoAllocation checks that the steady state allocates nothing, with and without loss.
func TestNoAllocation(t *testing.T) {
	e := newEnds(testConfig(1472))
	for range 100 {
		e.exchange(64)
	}
	if n := testing.AllocsPerRun(1000, func() { e.exchange(64) }); n != 0 {
		t.Errorf("%v allocations in a ping-pong", n)
	}
	lossy := func() {
		e.a.toSend += 64 << 10
		for i := 0; e.a.f.sndUna < e.a.toSend; i++ {
			for e.a.f.Poll(e.now, &e.dg) {
				e.now += 1000
				if i++; i%10 != 0 && len(e.dg.Parts) > 0 {
					e.b.f.Receive(e.now, &e.dg.Header, e.dg.Parts[0])
				}
			}
			e.carry(&e.b, &e.a)
			e.now += 100e3
			e.a.f.Advance(e.now)
			e.b.f.Advance(e.now)
		}
	}
	for range 20 {
		lossy()
	}
	if n := testing.AllocsPerRun(100, lossy); n != 0 {
		t.Errorf("%v allocations in a lossy transfer", n)
	}
}
