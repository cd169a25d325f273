// Posted receives by age, for callers that walk them while they are in the hash table.

package match

import (
	"cmp"
	"slices"
)

// minAgeIndex is the length up to which an age index is kept, however many of its entries are stale.
const minAgeIndex = 64

// An ageIndex lists at least all posted receives, oldest first. It is built when a caller walks them in order while
// they are in the hash table. From then on new receives are appended, but those that leave are not searched for: an
// entry whose number is not its receive's any more is stale. When half are stale the index is dropped. A queue that
// is never walked pays nothing, and consecutive walks do not sort again.
type ageIndex[R any] struct {
	on      bool
	entries []ageEntry[R]
}

// An ageEntry is a receive with its number at the time.
type ageEntry[R any] struct {
	r   *Recv[R]
	seq int64
}

// add appends r, the youngest of n posted receives.
func (o *ageIndex[R]) add(r *Recv[R], n int) {
	if !o.on {
		return
	}
	if len(o.entries) > minAgeIndex+2*n {
		o.drop()
		return
	}
	o.entries = append(o.entries, ageEntry[R]{r, r.seq})
}

// drop frees the index.
func (o *ageIndex[R]) drop() { *o = ageIndex[R]{} }

// isPosted reports whether e stands for a receive that is still posted.
func (p *posted[R]) isPosted(e ageEntry[R]) bool { return e.r.seq == e.seq && p.has(e.r) }

// buildAgeIndex builds the index if there is none, and drops the stale entries at its head.
func (p *posted[R]) buildAgeIndex() {
	o := &p.ageIndex
	if !o.on {
		o.on = true
		o.entries = slices.Grow(o.entries, p.n)
		for i := range p.table.lines {
			for _, oldest := range p.table.lines[i].at {
				for r := oldest; r != nil; r = r.next {
					o.entries = append(o.entries, ageEntry[R]{r, r.seq})
					if r.next == oldest {
						break
					}
				}
			}
		}
		slices.SortFunc(o.entries, func(a, b ageEntry[R]) int { return cmp.Compare(a.seq, b.seq) })
	}
	stale := 0
	for stale < len(o.entries) && !p.isPosted(o.entries[stale]) {
		stale++
	}
	clear(o.entries[:stale])
	o.entries = o.entries[stale:]
}

// eachIndexed is each for receives in the hash table.
func (p *posted[R]) eachIndexed(yield func(*Recv[R]) bool) {
	p.buildAgeIndex()
	for _, e := range p.ageIndex.entries {
		if p.isPosted(e) && !yield(e.r) {
			return
		}
	}
}
