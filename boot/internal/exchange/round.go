package exchange

import (
	"fmt"
	"maps"
	"slices"
)

// MaxJob bounds the values of all processes before a fence, in bytes.
const MaxJob = MaxMessage - 1<<16

// Rounds is rank 0's state of the fences of its job.
type Rounds struct {
	size    int
	round   uint32
	at      []bool // ranks at the fence
	count   int
	entries map[string][]byte
	bytes   int
}

// NewRounds returns the state of a job of size processes before its first fence.
func NewRounds(size int) *Rounds {
	return &Rounds{size: size, at: make([]bool, size), entries: map[string][]byte{}}
}

// Arrive handles the fence of a rank. For the last one it returns the release of all. An error ends the job.
func (r *Rounds) Arrive(rank int, f *Fence) (*Fence, error) {
	switch {
	case rank < 0 || rank >= r.size:
		return nil, fmt.Errorf("there is no rank %d", rank)
	case r.at[rank]:
		return nil, fmt.Errorf("rank %d reached fence %d twice", rank, r.round)
	case f.Round != r.round:
		return nil, fmt.Errorf("rank %d reached fence %d while the other ranks are at fence %d", rank, f.Round, r.round)
	}
	for _, e := range f.Entries {
		if old, ok := r.entries[e.Key]; ok {
			r.bytes -= 8 + len(e.Key) + len(old)
		}
		if r.bytes += 8 + len(e.Key) + len(e.Value); r.bytes > MaxJob {
			return nil, fmt.Errorf("all processes together put more than %d bytes before one fence", MaxJob)
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

// Here reports whether a rank is at the fence.
func (r *Rounds) Here(rank int) bool { return r.at[rank] }

// Waiting reports whether any rank is at the fence.
func (r *Rounds) Waiting() bool { return r.count > 0 }

// Round returns the number of the next fence to be released.
func (r *Rounds) Round() uint32 { return r.round }
