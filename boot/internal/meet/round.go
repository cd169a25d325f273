package meet

import (
	"fmt"
	"maps"
	"slices"
)

// MaxJob bounds what all processes together put before a fence, bytes.
const MaxJob = MaxMessage - 1<<16

// Rounds is what rank 0 knows of the fences of its job.
type Rounds struct {
	size    int
	round   uint32
	at      []bool // who is at the fence
	count   int
	entries map[string][]byte
	bytes   int
}

// NewRounds is a job of size processes before its first fence.
func NewRounds(size int) *Rounds {
	return &Rounds{size: size, at: make([]bool, size), entries: map[string][]byte{}}
}

// Arrive takes the fence of a rank. It returns the release of all when it was the last. An error ends the job.
func (r *Rounds) Arrive(rank int, f *Fence) (*Fence, error) {
	switch {
	case rank < 0 || rank >= r.size:
		return nil, fmt.Errorf("there is no rank %d", rank)
	case r.at[rank]:
		return nil, fmt.Errorf("rank %d came to fence %d twice", rank, r.round)
	case f.Round != r.round:
		return nil, fmt.Errorf("rank %d came to fence %d while the others are at fence %d", rank, f.Round, r.round)
	}
	for _, e := range f.Entries {
		if old, ok := r.entries[e.Key]; ok {
			r.bytes -= 8 + len(e.Key) + len(old)
		}
		if r.bytes += 8 + len(e.Key) + len(e.Value); r.bytes > MaxJob {
			return nil, fmt.Errorf("the processes put more than %d bytes before a fence", MaxJob)
		}
		r.entries[e.Key] = e.Value
	}
	r.at[rank] = true
	if r.count++; r.count < r.size {
		return nil, nil
	}
	all := &Fence{Round: r.round, Entries: make([]Entry, 0, len(r.entries))}
	for _, k := range slices.Sorted(maps.Keys(r.entries)) {
		all.Entries = append(all.Entries, Entry{k, r.entries[k]})
	}
	r.round++
	r.count, r.bytes = 0, 0
	clear(r.at)
	clear(r.entries)
	return all, nil
}

// Missing returns the ranks that are not at the fence.
func (r *Rounds) Missing() []int {
	var list []int
	for rank, here := range r.at {
		if !here {
			list = append(list, rank)
		}
	}
	return list
}

// Here says whether a rank is at the fence.
func (r *Rounds) Here(rank int) bool { return r.at[rank] }

// Waiting says whether somebody is at the fence.
func (r *Rounds) Waiting() bool { return r.count > 0 }

// Round is the number of the next fence to be released.
func (r *Rounds) Round() uint32 { return r.round }
