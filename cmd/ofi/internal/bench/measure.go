package bench

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"time"

	"gofabric/core"
)

// This file measures a stack.

const (
	controlLimit = 20 * time.Second // for an order that moves no data
	slack        = 10 * time.Second // beyond the expected time of a run
	maxIters     = 1 << 30

	calibrations = 16 // number of calibrations that would fit into a measurement

	// warmUp is the duration of the same work before the timed part, unless that takes longer than the measurement.
	// A Go process that has slept is slower for 5 to 10 ms. At first the runtime's monitor wakes every 20 us (with
	// the kernel's timer slack 85 us), on a processor that a polling thread could use. Its wake-ups become rare
	// after it has found nothing to do 50 times (sysmon in runtime/proc.go).
	warmUp = 20 * time.Millisecond
)

// Sample is one run of a test.
type Sample struct {
	At    time.Time `json:"at"`    // start time
	Usec  float64   `json:"usec"`  // per message; of latency, half a round trip
	Value float64   `json:"value"` // in the test's unit
	Iters int       `json:"iters"`
	P50   float64   `json:"p50,omitempty"` // for latency, in us, over batches of round trips
	P99   float64   `json:"p99,omitempty"`
	Lost  uint64    `json:"lost,omitempty"` // datagrams that either side dropped during the measurement
}

// session is an open stack that is ready to measure.
type session struct {
	side    *side
	others  []*partner // the peer, or the other members of a group
	guard   guard
	perIter map[Test]time.Duration // measured before
	lost    uint64                 // datagrams that the other side dropped
}

// openSession opens both ends of a stack.
func openSession(ctx context.Context, p Providers, command func(context.Context) *exec.Cmd, stack Stack, window int, n needs) (*session, error) {
	s := &session{perIter: map[Test]time.Duration{}}
	for len(s.others) < n.members-1 {
		partner, err := startPartner(ctx, command)
		if err != nil {
			s.close()
			return nil, err
		}
		s.others = append(s.others, partner)
	}
	if err := s.open(ctx, p, stack, window, n.caps); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *session) open(ctx context.Context, p Providers, stack Stack, window int, more core.Caps) error {
	there, err := s.orderAll(ctx, order{Do: "open", Stack: stack.String(), Window: window, Caps: more})
	if err != nil {
		return err
	}
	if s.side, err = newSide(p, stack, window, more); err != nil {
		return err
	}
	s.guard.set(s.side)
	if more&core.CapCollective != 0 {
		return s.meet(ctx, there)
	}
	return s.connect(ctx, there[0].Addr)
}

// orderAll sends an order to the others and waits for all answers.
func (s *session) orderAll(ctx context.Context, o order) ([]reply, error) {
	for _, p := range s.others {
		if err := p.say(o); err != nil {
			return nil, err
		}
	}
	return s.answers(ctx, controlLimit)
}

func (s *session) answers(ctx context.Context, limit time.Duration) (all []reply, err error) {
	for _, p := range s.others {
		r, bad := p.answer(ctx, limit)
		if all = append(all, r); err == nil {
			err = bad
		}
	}
	return all, err
}

// meet makes a group of all processes.
func (s *session) meet(ctx context.Context, there []reply) error {
	n, err := s.side.ep.Name()
	if err != nil {
		return err
	}
	team := []string{n.String()}
	for _, r := range there {
		team = append(team, r.Addr)
	}
	met := make(chan error, 1)
	go func() {
		_, err := s.orderAll(ctx, order{Do: "team", Team: team})
		met <- err
	}()
	err = s.side.meet(team)
	return cmp.Or(err, <-met)
}

// connect connects the sides or exchanges their addresses. A side that accepts a connection must do so while the
// other one connects.
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
		_, err := s.orderAll(ctx, order{Do: "accept", Addr: here})
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
	for _, p := range s.others { // first: a peer that has ended cannot write to memory that is freed
		p.close()
	}
	if s.side != nil {
		s.side.close()
	}
}

// measure runs a test for about d. It first determines the number of iterations for that time.
func (s *session) measure(ctx context.Context, t Test, d time.Duration) (Sample, error) {
	here, err := s.side.prepare(t)
	if err != nil {
		return Sample{}, err
	}
	there, err := s.orderAll(ctx, order{Do: "prepare", Work: Work{Test: t}, Remote: here})
	if err != nil {
		return Sample{}, err
	}
	s.side.remote = there[0].Remote
	before := s.lost + s.side.lost()
	per, err := s.calibrate(ctx, t, d)
	if err != nil {
		return Sample{}, err
	}
	var w Work
	var began time.Time
	var took time.Duration
	var h *Histogram
	for range 4 { // a machine that was busy during calibration makes runs too short
		w, h, began = t.work(per, d), &Histogram{}, time.Now()
		if took, err = s.run(ctx, w, d, h); err != nil {
			return Sample{}, err
		}
		per = max(took/time.Duration(w.Iters), 1)
		if took > d/2 {
			break
		}
	}
	s.perIter[t] = per
	usec := float64(took) / float64(w.Iters) / 1e3
	if t.Kind == Latency {
		usec /= 2
	}
	return Sample{At: began, Usec: usec, Value: t.value(usec), Iters: w.Iters, P50: micros(h.Quantile(0.5)), P99: micros(h.Quantile(0.99)),
		Lost: s.lost + s.side.lost() - before}, nil
}

func micros(d time.Duration) float64 { return float64(d) / 1e3 }

// calibrate returns the time of one iteration, from short runs of growing length. The previous measurement only
// determines the first length: two processes that now share a processor with a third take hundreds of times as long
// for an exchange.
func (s *session) calibrate(ctx context.Context, t Test, d time.Duration) (time.Duration, error) {
	n := t.round(16)
	if per := s.perIter[t]; per > 0 {
		n = t.round(float64(d/calibrations) / float64(per))
	}
	for ; ; n = t.round(float64(n) * 4) {
		took, err := s.run(ctx, Work{Test: t, Iters: n}, d, nil)
		if err != nil {
			return 0, err
		}
		if took > d/(2*calibrations) || n > maxIters/8 {
			return max(took/time.Duration(n), 1), nil
		}
	}
}

// work returns the work for about d, if an iteration takes per, and its warm-up.
func (t Test) work(per, d time.Duration) Work {
	n := t.round(float64(d) / float64(per))
	return Work{Test: t, Warmup: t.round(max(float64(n)/20, float64(min(warmUp, d))/float64(per))), Iters: n}
}

// round rounds a number of iterations to whole windows, at least one.
func (t Test) round(n float64) int {
	w := max(t.Window, 1)
	return max(int(min(n, maxIters)/float64(w)), 1) * w
}

// run does the work on both sides.
func (s *session) run(ctx context.Context, w Work, expect time.Duration, h *Histogram) (time.Duration, error) {
	limit := 4*expect + slack*time.Duration(max(w.Test.Members/2, 1)) // members share processors, and may each wait for a whole time slice
	if err := s.side.arm(w, true); err != nil {
		return 0, err
	}
	if _, err := s.orderAll(ctx, order{Do: "run", Work: w, Limit: limit}); err != nil {
		return 0, err
	}
	stop := s.side.limit(limit)
	defer stop()
	defer context.AfterFunc(ctx, s.guard.stop)()
	before := s.side.lost()
	took, err := s.side.run(w, true, h)
	if err != nil && ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if err != nil {
		err = fmt.Errorf("%s of %d bytes: %w", w.Test.Name(), w.Test.Size, err)
		if !mayHaveLost(err) {
			return 0, err
		}
		limit = lastWords
	}
	there, other := s.answers(ctx, limit)
	lost := s.side.lost() - before
	for _, r := range there {
		s.lost += r.Lost
		lost += r.Lost
	}
	if err == nil {
		err = other
	}
	return took, withLost(err, lost)
}
