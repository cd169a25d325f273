// The hash table of posted receives: lines of the processor's cache that hold seven receives each.

package match

import "math/bits"

const (
	minLines = 16 // a power of two
	perLine  = 7
	meanLoad = 5 // keys per line before the table grows

	lows     = 0x0001010101010101 // a one in the mark of each place
	tops     = lows << 7
	full     = 1 << 56 // one more key that found its line full
	fullMask = 0xff << 56
)

// A line is a cache line: seven receives, a mark of each, and how many keys went on from here because it was full.
type line[R any] struct {
	marks uint64 // a byte for each place, zero when it is free, else of mark; at the top the count, which stays where it reaches 255
	at    [perLine]*Recv[R]
}

// mark is what a line keeps of a hash: seven bits, and a one that tells it from a free place.
func mark(hash uint64) uint64 { return hash>>56 | 0x80 }

// matching returns a number with the top bit of each byte set whose place has this mark.
func matching(marks, mark uint64) uint64 {
	x := marks ^ mark*lows
	return ^(x | ((x | tops) - lows)) & tops
}

// vacant does so for the free places.
func vacant(marks uint64) uint64 { return ^marks & tops }

// A postedTable holds posted receives by class, source and tag. To find one reads one line of the table, seldom two, and the receive itself; eight bits of
// the hash say which of the seven it is, so that others are hardly ever looked at, and nothing is searched that the processor must guess the length
// of. Several with equal keys hang in a ring, and its oldest stands in the line. The zero value is empty and ready.
//
// Keys do not move when others come and go: one that found its line full has counted this in each line that it passed, and what seeks it goes on
// while it reads such counts.
type postedTable[R any] struct {
	lines []line[R] // power of two, or nil
	keys  int       // distinct ones
	idle  int       // removals while far too large, see shrink
	hit   spot      // of the last find that found, which a removal often follows
}

// A spot is a place in a table: eight times the number of its line, plus the place, and how many lines a search reads to find it, 0 when it is none.
type spot struct{ at, read uint }

// find returns the oldest receive of class c with this source and tag, or nil. The source is AnySource in undirected classes. t must not be empty.
func (t *postedTable[R]) find(c *class[R], hash, src, tag uint64) *Recv[R] {
	i := uint(hash) & uint(len(t.lines)-1)
	l := &t.lines[i]
	for m := matching(l.marks, mark(hash)); m != 0; m &= m - 1 {
		place := uint(bits.TrailingZeros64(m)) >> 3
		if r := l.at[place]; (r.Tag^tag)&^c.ignore == 0 && r.Src == src && r.class == c {
			t.hit = spot{i<<3 | place, 1}
			return r
		}
	}
	if l.marks < full {
		return nil
	}
	return t.findPast(c, hash, src, tag)
}

// findPast goes on where find has read a line that others went on from.
func (t *postedTable[R]) findPast(c *class[R], hash, src, tag uint64) *Recv[R] {
	for past := uint(1); past < uint(len(t.lines)); past++ {
		i := (uint(hash) + past) & uint(len(t.lines)-1)
		l := &t.lines[i]
		for m := matching(l.marks, mark(hash)); m != 0; m &= m - 1 {
			place := uint(bits.TrailingZeros64(m)) >> 3
			if r := l.at[place]; (r.Tag^tag)&^c.ignore == 0 && r.Src == src && r.class == c {
				t.hit = spot{i<<3 | place, past + 1}
				return r
			}
		}
		if l.marks < full {
			break
		}
	}
	return nil
}

// insert puts r, whose class is set, among the receives with its key, of which it is the youngest or the oldest.
func (t *postedTable[R]) insert(r *Recv[R]) {
	if t.keys >= meanLoad*len(t.lines) {
		t.resize(max(minLines, 2*len(t.lines)))
	}
	c := r.class
	hash := c.hash(r.Src, r.Tag)
	if old := t.find(c, hash, r.Src, r.Tag); old != nil {
		t.join(r, old)
		return
	}
	t.place(r, hash)
	if t.keys++; t.keys >= len(t.lines)*perLine/8 {
		t.idle = 0
	}
}

// join puts r into the ring of old, which find has found. In the ring the youngest stands before the oldest.
func (t *postedTable[R]) join(r, old *Recv[R]) {
	if old.next == nil {
		old.next, old.prev = old, old
	}
	if r.seq < old.seq {
		*t.in(t.hit) = r
	}
	r.prev, r.next = old.prev, old
	r.prev.next, old.prev = r, r
}

// place stores r in the first free place from its line on. There is one: the table is never full.
func (t *postedTable[R]) place(r *Recv[R], hash uint64) {
	for i := uint(hash); ; i++ {
		l := &t.lines[i&uint(len(t.lines)-1)]
		if free := vacant(l.marks); free != 0 {
			place := bits.TrailingZeros64(free)
			l.marks |= mark(hash) << (place &^ 7)
			l.at[place>>3] = r
			return
		}
		if l.marks < fullMask {
			l.marks += full
		}
	}
}

// remove takes r, which must be in t, out.
func (t *postedTable[R]) remove(r *Recv[R]) {
	if r.next == nil {
		t.free(t.spot(r))
		t.keys--
	} else {
		t.part(r)
	}
	t.hit.read = 0
	if t.keys < len(t.lines)*perLine/8 {
		t.shrink()
	}
}

// part takes r out of its ring.
func (t *postedTable[R]) part(r *Recv[R]) {
	next := r.next
	if r.prev.seq > r.seq { // r is the oldest
		*t.in(t.spot(r)) = next
	}
	r.prev.next, next.prev = next, r.prev
	r.next, r.prev = nil, nil
	if next.next == next {
		next.next, next.prev = nil, nil
	}
}

// in is what stands at s.
func (t *postedTable[R]) in(s spot) **Recv[R] { return &t.lines[s.at>>3].at[s.at&7] }

// spot finds the place of r, the oldest with its key.
func (t *postedTable[R]) spot(r *Recv[R]) spot {
	if t.hit.read > 0 && *t.in(t.hit) == r {
		return t.hit
	}
	if t.find(r.class, r.class.hash(r.Src, r.Tag), r.Src, r.Tag) != r {
		panic("match: a posted receive was changed")
	}
	return t.hit
}

// free empties a place.
func (t *postedTable[R]) free(s spot) {
	i := s.at >> 3
	l := &t.lines[i]
	l.marks &^= 0xff << (s.at & 7 << 3)
	l.at[s.at&7] = nil
	for past := uint(1); past < s.read; past++ {
		if l = &t.lines[(i-past)&uint(len(t.lines)-1)]; l.marks < fullMask {
			l.marks -= full
		}
	}
}

// shrink is called after each use of a table that may have become too large. It gives memory back only after as many uses as there are places, so
// that it costs little per use, and a queue that fills and drains in turns does not allocate each time.
func (t *postedTable[R]) shrink() {
	if len(t.lines) <= minLines || t.keys >= len(t.lines)*perLine/8 {
		return
	}
	if t.idle++; t.idle > len(t.lines)*perLine {
		t.resize(linesFor(t.keys))
	}
}

func (t *postedTable[R]) resize(n int) {
	old := t.lines
	t.lines, t.idle, t.hit.read = make([]line[R], n), 0, 0
	for i := range old {
		for _, r := range old[i].at {
			if r != nil {
				t.place(r, r.class.hash(r.Src, r.Tag))
			}
		}
	}
}

// linesFor is the smallest size that holds n keys.
func linesFor(n int) int {
	lines := minLines
	for lines*meanLoad <= n {
		lines *= 2
	}
	return lines
}
