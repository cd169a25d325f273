package sim

import (
	"fmt"
	"math/rand/v2"
)

// event is something to do at a time; events at the same time happen in the order in which they were scheduled.
type event struct {
	at  int64
	seq uint64
	do  func()
}

// Sched is the one event queue, with virtual time in nanoseconds, the only source of randomness, and the trace.
type Sched struct {
	*rand.Rand
	Now  int64
	Hash uint64 // FNV-1a of the trace
	Log  func(string)

	heap []event
	seq  uint64
}

// NewSched starts at time 1: engines take 0 for no time.
func NewSched(seed uint64) *Sched {
	return &Sched{Rand: rand.New(rand.NewPCG(seed, 0x5eed)), Now: 1, Hash: 14695981039346656037}
}

// Chance is true with a probability of n in 100.
func (s *Sched) Chance(n int) bool { return s.IntN(100) < n }

// After schedules do.
func (s *Sched) After(delay int64, do func()) {
	s.heap = append(s.heap, event{s.Now + delay, s.seq, do})
	s.seq++
	h := s.heap
	for i := len(h) - 1; i > 0; {
		p := (i - 1) / 2
		if !h[i].before(h[p]) {
			break
		}
		h[i], h[p] = h[p], h[i]
		i = p
	}
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// Step makes the next event happen, and is false when there is none.
func (s *Sched) Step() bool {
	h := s.heap
	if len(h) == 0 {
		return false
	}
	e, last := h[0], len(h)-1
	h[0] = h[last]
	h[last] = event{}
	h = h[:last]
	s.heap = h
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(h[i]) {
			break
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
	s.Now = e.at
	e.do()
	return true
}

// Trace adds to the hash, and to the log if there is one.
func (s *Sched) Trace(node int, what string, a, b uint64) {
	h := s.Hash
	for _, v := range [4]uint64{uint64(s.Now), uint64(node), a, b} {
		for range 8 {
			h = (h ^ v&0xff) * 1099511628211
			v >>= 8
		}
	}
	for i := range len(what) {
		h = (h ^ uint64(what[i])) * 1099511628211
	}
	s.Hash = h
	if s.Log != nil {
		s.Log(fmt.Sprintf("%12d node %d %s %d %d", s.Now, node, what, a, b))
	}
}
