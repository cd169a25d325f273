// The roster: posted receives by age, for those who walk through them while they are in the index.

package match

import (
	"cmp"
	"slices"
)

// minAgeIndex is a length up to which a roster is kept whatever has become of its entries.
const minAgeIndex = 64

// A roster lists at least all posted receives, oldest first, and is written when somebody asks for them in order. From then on new receives are
// added, but those that go are not sought out: an enrolled whose number is not its receive's any more is stale. When half are stale the roster is
// dropped, so that a queue in which nobody walks pays nothing, and walks that follow each other do not sort again.
type ageIndex[R any] struct {
	on      bool
	entries []enrolled[R]
}

type enrolled[R any] struct {
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
	o.entries = append(o.entries, enrolled[R]{r, r.seq})
}

func (o *ageIndex[R]) drop() { *o = ageIndex[R]{} }

// current tells whether e stands for a receive that is still posted.
func (p *posted[R]) current(e enrolled[R]) bool { return e.r.seq == e.seq && p.has(e.r) }

// enroll writes the roster if there is none, and forgets the stale entries at its head.
func (p *posted[R]) enroll() {
	o := &p.ageIndex
	if !o.on {
		o.on = true
		o.entries = slices.Grow(o.entries, p.n)
		for i := range p.table.lines {
			for _, oldest := range p.table.lines[i].at {
				for r := oldest; r != nil; r = r.next {
					o.entries = append(o.entries, enrolled[R]{r, r.seq})
					if r.next == oldest {
						break
					}
				}
			}
		}
		slices.SortFunc(o.entries, func(a, b enrolled[R]) int { return cmp.Compare(a.seq, b.seq) })
	}
	stale := 0
	for stale < len(o.entries) && !p.current(o.entries[stale]) {
		stale++
	}
	clear(o.entries[:stale])
	o.entries = o.entries[stale:]
}

func (p *posted[R]) eachIndexed(yield func(*Recv[R]) bool) {
	p.enroll()
	for _, e := range p.ageIndex.entries {
		if p.current(e) && !yield(e.r) {
			return
		}
	}
}
