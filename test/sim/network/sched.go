package network

import (
	"fmt"
	"math/rand/v2"

	"gofabric/internal/queue"
)

// Sched is the one event queue, with virtual time in nanoseconds, the only source of randomness, and the trace.
type Sched struct {
	*rand.Rand
	Now  int64
	Hash uint64 // FNV-1a of the trace
	Log  func(string)

	events queue.Heap[int64, func()] // by time
}

// NewSched starts at time 1: engines take 0 for no time.
func NewSched(seed uint64) *Sched {
	return &Sched{Rand: rand.New(rand.NewPCG(seed, 0x5eed)), Now: 1, Hash: 14695981039346656037}
}

// Chance is true with a probability of n in 100.
func (s *Sched) Chance(n int) bool { return s.IntN(100) < n }

// After schedules do. What is scheduled for the same time happens in the order in which it was scheduled.
func (s *Sched) After(delay int64, do func()) { s.events.Push(s.Now+delay, do) }

// Next is when the next event happens; false: there is none.
func (s *Sched) Next() (at int64, ok bool) {
	if s.events.Len() == 0 {
		return 0, false
	}
	return s.events.MinKey(), true
}

// Step makes the next event happen, now if its time has passed, and is false when there is none.
func (s *Sched) Step() bool {
	if s.events.Len() == 0 {
		return false
	}
	s.Now = max(s.Now, s.events.MinKey())
	s.events.Pop()()
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
