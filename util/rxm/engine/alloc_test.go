package engine

import (
	"testing"

	xengine "gofabric/internal/xnet/engine"
)

// copier is a lower that copies into one buffer.
type copier struct {
	lower
	buf []byte
}

func (c *copier) Send(head []byte, payload [][]byte, _ bool, _, _ uint64) (bool, error) {
	c.buf = append(c.buf[:0], head...)
	for _, p := range payload {
		c.buf = append(c.buf, p...)
	}
	return true, nil
}

// TestNoAllocs: a message in one packet costs no memory at either end.
func TestNoAllocs(t *testing.T) {
	for _, n := range []int{64, 8192, 16384} {
		a, b := newPair(t, Config{})
		a.quiet, b.quiet = true, true
		low := &copier{}
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

// BenchmarkEager is what the gateway adds to a small message, there and back not included.
func BenchmarkEager(b *testing.B) {
	x, y := newPair(b, Config{})
	x.quiet, y.quiet = true, true
	low := &copier{}
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
