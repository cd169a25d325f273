package batch

import "gofabric/internal/mono"

// testHost is a domain with a virtual clock and timer, which the test controls.
type testHost struct {
	now     mono.Time
	clock   int       // number of readings
	timer   mono.Time // 0: not set
	polled  bool
	noTimer bool
}

func newHost() *testHost { return &testHost{now: 1e9, polled: true} }

func (h *testHost) Now() mono.Time { h.clock++; return h.now }

func (h *testHost) WakeIn(now mono.Time, ns int64) bool {
	if !h.noTimer {
		h.timer = now + mono.Time(ns)
	}
	return !h.noTimer
}

func (h *testHost) Polled() bool { return h.polled }

// testDriver is a driver with one stream. It counts its messages.
type testDriver struct {
	s      *Scheduler
	h      *testHost
	b      Stream
	queued int
	sent   int
	oldest mono.Time // when the first of queued was posted
	worst  mono.Time // the longest time that a message has waited
	cost   mono.Time // duration of a transmission
	doing  func()
}

var testLimits = Limits{Copied: 24, Lent: 100}

func newDriver() *testDriver {
	d := &testDriver{s: &Scheduler{}, h: newHost()}
	d.s.Init(d.h)
	return d
}

// another returns a further driver of the same domain.
func (d *testDriver) another() *testDriver { return &testDriver{s: d.s, h: d.h} }

// post posts a message, and reports whether it left at once.
func (d *testDriver) post(more bool) bool {
	if d.b.Admits(d.s, d.queued) {
		d.queued++
		d.b.Joined()
		return false
	}
	if d.queued++; d.queued == 1 {
		d.oldest = d.h.now
	}
	if !d.b.Posted(d.s, d, &testLimits, d.queued, false, more) {
		return d.queued == 0 // flushed meanwhile
	}
	d.transmit()
	d.b.Transmitted(d.s)
	return true
}

func (d *testDriver) transmit() {
	if d.queued > 0 {
		d.worst = max(d.worst, d.h.now-d.oldest)
	}
	d.sent += d.queued
	d.queued = 0
	d.h.now += d.cost
}

func (d *testDriver) Flush() {
	d.b.Flushed()
	if d.doing != nil {
		d.doing()
	}
	d.transmit()
}

// pass is a pass of the application.
func (d *testDriver) pass() {
	d.s.Pass()
	d.s.Flush(true)
}

// burst posts n messages, one per microsecond, and returns the number of those that left at once.
func (d *testDriver) burst(n int) (left int) {
	for range n {
		if d.post(false) {
			left++
		}
		d.h.now += 1000
	}
	return left
}
