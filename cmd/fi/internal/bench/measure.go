package bench

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"gofabric/core"
)

// Measuring a stack.

const (
	controlLimit = 20 * time.Second // of an order that moves no data
	slack        = 10 * time.Second // beyond the expected time of a run
	maxIters     = 1 << 30
)

// Sample is one run of a test.
type Sample struct {
	Usec  float64 `json:"usec"`  // per message; of latency, half a round trip
	Value float64 `json:"value"` // in the test's unit
	Iters int     `json:"iters"`
	P50   float64 `json:"p50,omitempty"` // of latency, in us, over batches of round trips
	P99   float64 `json:"p99,omitempty"`
}

// session is an open stack, ready to measure.
type session struct {
	side    *side
	partner *partner
	guard   guard
	perIter map[Test]time.Duration // measured before
}

// openSession opens both ends of a stack.
func openSession(ctx context.Context, p Providers, command func(context.Context) *exec.Cmd, stack Stack, window int) (*session, error) {
	partner, err := startPartner(ctx, command)
	if err != nil {
		return nil, err
	}
	s := &session{partner: partner, perIter: map[Test]time.Duration{}}
	if err := s.open(ctx, p, stack, window); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *session) open(ctx context.Context, p Providers, stack Stack, window int) error {
	there, err := s.partner.order(ctx, order{Do: "open", Stack: stack.String(), Window: window}, controlLimit)
	if err != nil {
		return err
	}
	if s.side, err = newSide(p, stack, window); err != nil {
		return err
	}
	s.guard.set(s.side)
	return s.connect(ctx, there.Addr)
}

// connect makes the sides known to each other. Whoever accepts a connection must be doing so while the other connects.
func (s *session) connect(ctx context.Context, there string) error {
	a, err := core.ParseAddr(there)
	if err != nil {
		return err
	}
	here := ""
	if s.side.ep != nil {
		n, err := s.side.ep.Name()
		if err != nil {
			return err
		}
		here = n.String()
	}
	accepted := make(chan error, 1)
	go func() {
		_, err := s.partner.order(ctx, order{Do: "accept", Addr: here}, controlLimit)
		accepted <- err
	}()
	err = s.side.join(a)
	if other := <-accepted; err == nil {
		err = other
	}
	return err
}

func (s *session) close() {
	s.guard.set(nil)
	s.partner.close() // first: a peer that is gone cannot write to memory that is given back
	if s.side != nil {
		s.side.close()
	}
}

// measure runs a test for about d, after finding out how many iterations that takes.
func (s *session) measure(ctx context.Context, t Test, d time.Duration) (Sample, error) {
	here, err := s.side.prepare(t)
	if err != nil {
		return Sample{}, err
	}
	there, err := s.partner.order(ctx, order{Do: "prepare", Work: Work{Test: t}, Remote: here}, controlLimit)
	if err != nil {
		return Sample{}, err
	}
	s.side.remote = there.Remote
	per, err := s.calibrate(ctx, t, d)
	if err != nil {
		return Sample{}, err
	}
	var n int
	var took time.Duration
	var h *Histogram
	for range 4 { // a machine that was busy while calibrating makes runs too short
		n, h = t.round(float64(d)/float64(per)), &Histogram{}
		if took, err = s.run(ctx, Work{Test: t, Warmup: t.round(float64(n) / 20), Iters: n}, d, h); err != nil {
			return Sample{}, err
		}
		per = max(took/time.Duration(n), 1)
		if took > d/2 {
			break
		}
	}
	s.perIter[t] = per
	usec := float64(took) / float64(n) / 1e3
	if t.Kind == Latency {
		usec /= 2
	}
	return Sample{Usec: usec, Value: t.value(usec), Iters: n, P50: micros(h.Quantile(0.5)), P99: micros(h.Quantile(0.99))}, nil
}

func micros(d time.Duration) float64 { return float64(d) / 1e3 }

// calibrate returns the time of one iteration, from short runs of growing length or from the measurement before.
func (s *session) calibrate(ctx context.Context, t Test, d time.Duration) (time.Duration, error) {
	if per := s.perIter[t]; per > 0 {
		return per, nil
	}
	for n := t.round(16); ; n = t.round(float64(n) * 4) {
		took, err := s.run(ctx, Work{Test: t, Iters: n}, d, nil)
		if err != nil {
			return 0, err
		}
		if took > d/16 || n > maxIters/8 {
			return max(took/time.Duration(n), 1), nil
		}
	}
}

// round makes a number of iterations whole windows, at least one.
func (t Test) round(n float64) int {
	w := max(t.Window, 1)
	return max(int(min(n, maxIters)/float64(w)), 1) * w
}

// run does the work on both sides.
func (s *session) run(ctx context.Context, w Work, expect time.Duration, h *Histogram) (time.Duration, error) {
	limit := 4*expect + slack
	if err := s.side.arm(w, true); err != nil {
		return 0, err
	}
	if _, err := s.partner.order(ctx, order{Do: "run", Work: w, Limit: limit}, controlLimit); err != nil {
		return 0, err
	}
	stop := s.side.limit(limit)
	defer stop()
	defer context.AfterFunc(ctx, s.guard.stop)()
	took, err := s.side.run(w, true, h)
	if err != nil {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return 0, fmt.Errorf("%s of %d bytes: %w", w.Test.Name(), w.Test.Size, err)
	}
	_, err = s.partner.answer(ctx, limit)
	return took, err
}
