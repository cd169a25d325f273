package bench

import (
	"fmt"
	"time"
)

// This file has the measuring loops, each in two roles. first is the measuring process, which sends first.

// Work is the amount of a test: untimed iterations first, then timed ones.
type Work struct {
	Test   Test `json:"test"`
	Warmup int  `json:"warmup"`
	Iters  int  `json:"iters"`
}

// arm prepares a run before the other side starts, such as the first receives.
func (s *side) arm(w Work, first bool) error {
	t := w.Test
	switch {
	case t.Kind == Latency:
		return s.recv(s.in(t, 0), t.Tagged)
	case t.Kind == AllReduce && first:
		return nil
	case first || t.Kind != Rate && t.Kind != Sliding:
		return s.recv(s.in(t, 0), t.Tagged)
	}
	for i := range min(t.Window, w.Warmup+w.Iters) {
		if err := s.recv(s.in(t, i), t.Tagged); err != nil {
			return err
		}
	}
	return nil
}

// in and out return the buffers of a message. All messages have one buffer, as in fabtests, but each remote access
// of a window has its own.
func (s *side) in(t Test, i int) []byte {
	if !t.Kind.remote() {
		i = 0
	}
	n := max(t.Size, syncSize)
	at := (max(t.Window, 1) + i) * n
	return s.mem[at : at+n]
}

func (s *side) out(t Test, i int) []byte {
	if !t.Kind.remote() {
		i = 0
	}
	at := i * max(t.Size, syncSize)
	return s.mem[at : at+t.Size]
}

// run does the work after arm, and returns the time of its timed part. If h is not nil, it receives latencies.
func (s *side) run(w Work, first bool, h *Histogram) (time.Duration, error) {
	switch {
	case w.Test.Kind == Latency:
		return s.pingpong(w, first, h)
	case w.Test.Kind == Rate && first:
		return s.rateSender(w)
	case w.Test.Kind == Rate:
		return s.rateReceiver(w)
	case w.Test.Kind == Sliding && first:
		return s.slidingSender(w)
	case w.Test.Kind == Sliding:
		return s.slidingReceiver(w)
	case w.Test.Kind == Write || w.Test.Kind == Read:
		return s.rma(w, first)
	case w.Test.Kind == Atomic:
		return s.atomics(w, first)
	case w.Test.Kind == AllReduce:
		return s.sums(w, first)
	}
	return 0, fmt.Errorf("unknown test %q", w.Test.Kind)
}

// latencyBatch is the number of round trips between two reads of the clock.
const latencyBatch = 32

// pingpong bounces one message, as fi_msg_pingpong and fi_rdm_pingpong.
func (s *side) pingpong(w Work, first bool, h *Histogram) (time.Duration, error) {
	t := w.Test
	in, out := s.in(t, 0), s.out(t, 0)
	inject := t.Size <= s.inject
	total := w.Warmup + w.Iters
	begin := time.Now()
	last := begin
	for i := range total {
		if i == w.Warmup {
			begin = time.Now()
			last = begin
		}
		if first {
			if err := s.put(out, t.Tagged, inject); err != nil {
				return 0, err
			}
		}
		if err := s.await(s.rxq, 1); err != nil {
			return 0, err
		}
		if i+1 < total {
			if err := s.recv(in, t.Tagged); err != nil {
				return 0, err
			}
		}
		if !first {
			if err := s.put(out, t.Tagged, inject); err != nil {
				return 0, err
			}
		}
		if done := i + 1 - w.Warmup; h != nil && done > 0 && done%latencyBatch == 0 {
			now := time.Now()
			h.Add(now.Sub(last) / (2 * latencyBatch))
			last = now
		}
	}
	return time.Since(begin), nil
}

// put sends, and waits for the completion if there is one.
func (s *side) put(b []byte, tagged, inject bool) error {
	if err := s.send(b, tagged, inject); err != nil || inject {
		return err
	}
	return s.await(s.txq, 1)
}

// rateSender sends windows of messages. After each it waits for all completions and for the other side's answer, as
// fi_msg_bw does.
func (s *side) rateSender(w Work) (time.Duration, error) {
	t := w.Test
	out, tagged, inject := s.out(t, 0), t.Tagged, t.Size <= s.inject
	total := w.Warmup + w.Iters
	begin := time.Now()
	for i, j := 0, 0; i < total; i++ {
		if i == w.Warmup {
			begin = time.Now()
		}
		if err := s.send(out, tagged, inject); err != nil {
			return 0, err
		}
		if j++; j < t.Window && i+1 < total {
			continue
		}
		if !inject {
			if err := s.await(s.txq, j); err != nil {
				return 0, err
			}
		}
		if err := s.await(s.rxq, 1); err != nil {
			return 0, err
		}
		if i+1 < total {
			if err := s.recv(s.in(t, 0), t.Tagged); err != nil {
				return 0, err
			}
		}
		j = 0
	}
	return time.Since(begin), nil
}

// rateReceiver posts a window of receives at a time, and answers each window.
func (s *side) rateReceiver(w Work) (time.Duration, error) {
	t := w.Test
	in, tagged := s.in(t, 0), t.Tagged
	total := w.Warmup + w.Iters
	begin := time.Now()
	for done := 0; done < total; {
		n := min(t.Window, total-done)
		if done > 0 { // arm posted the first window
			for range n {
				if err := s.recv(in, tagged); err != nil {
					return 0, err
				}
			}
		}
		if err := s.await(s.rxq, n); err != nil {
			return 0, err
		}
		if err := s.sendSync(t.Tagged); err != nil {
			return 0, err
		}
		done += n
	}
	return time.Since(begin), nil
}

// slidingSender keeps up to a window of sends without completion. The time ends with the other side's answer to the
// last one.
func (s *side) slidingSender(w Work) (time.Duration, error) {
	t := w.Test
	total := w.Warmup + w.Iters
	begin := time.Now()
	open, slot := 0, 0
	for i := range total {
		if i == w.Warmup {
			begin = time.Now()
		}
		for open == t.Window {
			n, err := s.take(s.txq)
			if err != nil {
				return 0, err
			}
			open -= n
		}
		if err := s.send(s.out(t, slot), t.Tagged, false); err != nil {
			return 0, err
		}
		open++
		if slot++; slot == t.Window {
			slot = 0
		}
	}
	if err := s.await(s.txq, open); err != nil {
		return 0, err
	}
	if err := s.await(s.rxq, 1); err != nil {
		return 0, err
	}
	return time.Since(begin), nil
}

// slidingReceiver keeps a window of receives posted.
func (s *side) slidingReceiver(w Work) (time.Duration, error) {
	t := w.Test
	total := w.Warmup + w.Iters
	begin := time.Now()
	posted, slot := min(t.Window, total), 0
	for done := 0; done < total; {
		n, err := s.take(s.rxq)
		if err != nil {
			return 0, err
		}
		done += n
		for ; n > 0 && posted < total; n-- {
			if err := s.recv(s.in(t, slot), t.Tagged); err != nil {
				return 0, err
			}
			posted++
			if slot++; slot == t.Window {
				slot = 0
			}
		}
	}
	return time.Since(begin), s.sendSync(t.Tagged)
}

// rma reads or writes windows of remote memory, as fi_rma_bw does: both sides at once unless the test is one-way. A
// message to the other side says that this side is done. Memory and endpoint must exist until then.
func (s *side) rma(w Work, first bool) (time.Duration, error) {
	t := w.Test
	inject := t.Kind == Write && t.Size <= s.inject
	begin := time.Now()
	total := w.Warmup + w.Iters
	if t.OneWay && !first {
		total = 0
	}
	// Writes of the other side go to the second half of the memory here. Reads come from the first half there.
	far := uint64(t.Window * max(t.Size, syncSize))
	if t.Kind == Read {
		far = 0
	}
	for i, j := 0, 0; i < total; i++ {
		if i == w.Warmup {
			begin = time.Now()
		}
		local := s.out(t, j)
		if t.Kind == Read {
			local = s.in(t, j)[:t.Size]
		}
		if err := s.access(local, far+uint64(j*max(t.Size, syncSize)), t.Kind, inject); err != nil {
			return 0, err
		}
		if j++; j < t.Window && i+1 < total && i+1 != w.Warmup {
			continue
		}
		if !inject {
			if err := s.await(s.txq, j); err != nil {
				return 0, err
			}
		}
		j = 0
	}
	took := time.Since(begin)
	if err := s.sendSync(false); err != nil {
		return 0, err
	}
	return took, s.await(s.rxq, 1)
}
