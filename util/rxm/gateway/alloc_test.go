package gateway

import (
	"testing"

	xengine "gofabric/internal/xnet/engine"
)

// copyingLower is a Lower that copies into one buffer.
type copyingLower struct {
	lower
	buf []byte
}

func (c *copyingLower) Send(head []byte, payload [][]byte, _ bool, _, _ uint64) (bool, error) {
	c.buf = append(c.buf[:0], head...)
	for _, p := range payload {
		c.buf = append(c.buf, p...)
	}
	return true, nil
}

// TestNoAllocs checks that a message in one packet allocates nothing at either end.
func TestNoAllocs(t *testing.T) {
	for _, n := range []int{64, 8192, 16384} {
		a, b := newPair(t, Config{})
		a.quiet, b.quiet = true, true
		low := &copyingLower{}
		a.g.low = low
		buf, msg := make([]byte, n), make([]byte, n)
		s := sendOf(1, msg)
		s.Tagged, s.Tag = true, 9
		one := func() {
			b.postQuiet(buf)
			if a.up.Submit(&s) != nil {
				t.Fatal("submit")
			}
			a.g.Pump()
			if !b.g.Received(0, low.buf) {
				t.Fatal("refused")
			}
		}
		for range 100 {
			one()
		}
		if got := testing.AllocsPerRun(200, one); got != 0 {
			t.Errorf("%d bytes: %v allocations", n, got)
		}
		clean(a, b)
	}
}

func (e *end) postQuiet(buf []byte) {
	op := e.rx.NewOp()
	op.SetBuf(buf)
	e.rx.PostTagged(op, xengine.AnySource, 9, 0)
}

// BenchmarkEager measures what the gateway adds to a small message.
func BenchmarkEager(b *testing.B) {
	x, y := newPair(b, Config{})
	x.quiet, y.quiet = true, true
	low := &copyingLower{}
	x.g.low = low
	buf, msg := make([]byte, 64), make([]byte, 64)
	s := sendOf(1, msg)
	s.Tagged, s.Tag = true, 9
	for b.Loop() {
		y.postQuiet(buf)
		_ = x.up.Submit(&s)
		x.g.Pump()
		y.g.Received(0, low.buf)
	}
}
