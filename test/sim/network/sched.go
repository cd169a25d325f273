package network

import (
	"fmt"
	"math/rand/v2"

	"gofabric/internal/queue"
)

// Sched is the event queue with virtual time in nanoseconds. It is also the only source of randomness, and has the
// trace.
type Sched struct {
	*rand.Rand
	Now  int64
	Hash uint64 // FNV-1a of the trace
	Log  func(string)

	events queue.Heap[int64, func()] // by time
}

// NewSched starts at time 1, because engines use 0 for no time.
func NewSched(seed uint64) *Sched {
	return &Sched{Rand: rand.New(rand.NewPCG(seed, 0x5eed)), Now: 1, Hash: 14695981039346656037}
}

// Chance returns true with a probability of n percent.
func (s *Sched) Chance(n int) bool { return s.IntN(100) < n }

// After schedules do. Events for the same time happen in the order in which they were scheduled.
func (s *Sched) After(delay int64, do func()) { s.events.Push(s.Now+delay, do) }

// Next returns when the next event happens, and false if there is none.
func (s *Sched) Next() (at int64, ok bool) {
	if s.events.Len() == 0 {
		return 0, false
	}
	return s.events.MinKey(), true
}

// Step runs the next event, at once if its time has passed. It returns false if there is none.
func (s *Sched) Step() bool {
	if s.events.Len() == 0 {
		return false
	}
	s.Now = max(s.Now, s.events.MinKey())
	s.events.Pop()()
	return true
}

// Trace adds an entry to the hash, and to the log if there is one.
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
