// The hash table of posted receives: cache lines of seven receives each.

package match

import "math/bits"

// Sizes of the table, and masks for the marks of a line.
const (
	minLines = 16 // a power of two
	perLine  = 7  // receives in a cache line of 64 bytes, beside the marks
	meanLoad = 5  // keys per line at which the table grows

	lowBits      = 0x0001010101010101 // bit 0 of each mark
	topBits      = lowBits << 7
	overflowOne  = 1 << 56    // one key more that found its line full
	overflowMask = 0xff << 56 // the count of those
)

// A line is a cache line: seven receives, a mark for each, and the number of keys that went on to the next line
// because this one was full.
type line[R any] struct {
	// A byte per place, 0 if free, otherwise mark; the top byte is the count, which stays at 255 once it is there.
	marks uint64
	at    [perLine]*Recv[R]
}

// mark is the part of a hash that a line keeps: seven bits, and a 1 that distinguishes it from a free place.
func mark(hash uint64) uint64 { return hash>>56 | 0x80 }

// matching returns a number with the top bit set in each byte whose place has this mark (Mycroft's test for a zero
// byte).
func matching(marks, mark uint64) uint64 {
	x := marks ^ mark*lowBits
	return ^(x | ((x | topBits) - lowBits)) & topBits
}

// vacant does the same for free places.
func vacant(marks uint64) uint64 { return ^marks & topBits }

// A postedTable has posted receives by class, source and tag. A search reads one line of the table, seldom two, and
// the receive itself. The marks, eight bits of the hash, say which of the seven receives it is, so that others are
// rarely read. Receives with equal keys form a ring, whose oldest is in the line. The zero value is empty and
// ready.
//
// Keys do not move when others come and go. A key that found its line full has been counted in each line that it
// passed, and a search goes on while it reads such counts.
type postedTable[R any] struct {
	lines     []line[R] // length a power of two, or nil
	keys      int       // distinct keys
	idle      int       // removals while the table was far too large: see shrink
	lastFound position  // by find; a removal often follows
}

// A position is a place in the table: at is eight times the number of its line, plus the place; read is how many
// lines a search reads to find it, 0 if it is none.
type position struct{ at, read uint }

// find returns the oldest receive of class c with this source and tag, or nil. The source is AnySource in
// undirected classes. t must not be empty.
func (t *postedTable[R]) find(c *class[R], hash, src, tag uint64) *Recv[R] {
	i := uint(hash) & uint(len(t.lines)-1)
	l := &t.lines[i]
	for m := matching(l.marks, mark(hash)); m != 0; m &= m - 1 {
		place := uint(bits.TrailingZeros64(m)) >> 3
		if r := l.at[place]; (r.Tag^tag)&^c.ignore == 0 && r.Src == src && r.class == c {
			t.lastFound = position{i<<3 | place, 1}
			return r
		}
	}
	if l.marks < overflowOne {
		return nil
	}
	return t.findPast(c, hash, src, tag)
}

// findPast continues find behind a line that was full.
func (t *postedTable[R]) findPast(c *class[R], hash, src, tag uint64) *Recv[R] {
	for past := uint(1); past < uint(len(t.lines)); past++ {
		i := (uint(hash) + past) & uint(len(t.lines)-1)
		l := &t.lines[i]
		for m := matching(l.marks, mark(hash)); m != 0; m &= m - 1 {
			place := uint(bits.TrailingZeros64(m)) >> 3
			if r := l.at[place]; (r.Tag^tag)&^c.ignore == 0 && r.Src == src && r.class == c {
				t.lastFound = position{i<<3 | place, past + 1}
				return r
			}
		}
		if l.marks < overflowOne {
			break
		}
	}
	return nil
}

// insert adds r, whose class is set, to the receives with its key, as the youngest.
func (t *postedTable[R]) insert(r *Recv[R]) {
	if t.keys >= meanLoad*len(t.lines) {
		t.resize(max(minLines, 2*len(t.lines)))
	}
	c := r.class
	hash := c.hash(r.Src, r.Tag)
	if old := t.find(c, hash, r.Src, r.Tag); old != nil {
		t.addToRing(r, old)
		return
	}
	t.place(r, hash)
	if t.keys++; t.keys >= len(t.lines)*perLine/8 {
		t.idle = 0
	}
}

// addToRing adds r to the ring of old. In the ring the youngest is before the oldest.
func (t *postedTable[R]) addToRing(r, old *Recv[R]) {
	if old.next == nil {
		old.next, old.prev = old, old
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
		if l.marks < overflowMask {
			l.marks += overflowOne
		}
	}
}

// remove removes r, which must be in t.
func (t *postedTable[R]) remove(r *Recv[R]) {
	if r.next == nil {
		t.free(t.position(r))
		t.keys--
	} else {
		t.removeFromRing(r)
	}
	t.lastFound.read = 0
	if t.keys < len(t.lines)*perLine/8 {
		t.shrink()
	}
}

// removeFromRing removes r from its ring.
func (t *postedTable[R]) removeFromRing(r *Recv[R]) {
	next := r.next
	if r.prev.seq > r.seq { // r is the oldest
		*t.slot(t.position(r)) = next
	}
	r.prev.next, next.prev = next, r.prev
	r.next, r.prev = nil, nil
	if next.next == next {
		next.next, next.prev = nil, nil
	}
}

// slot returns the place at s.
func (t *postedTable[R]) slot(s position) **Recv[R] { return &t.lines[s.at>>3].at[s.at&7] }

// position returns the position of r, the oldest with its key.
func (t *postedTable[R]) position(r *Recv[R]) position {
	if t.lastFound.read > 0 && *t.slot(t.lastFound) == r {
		return t.lastFound
	}
	if t.find(r.class, r.class.hash(r.Src, r.Tag), r.Src, r.Tag) != r {
		panic("match: a posted receive was changed")
	}
	return t.lastFound
}

// free empties a place, and takes its key out of the counts of the lines that it had passed.
func (t *postedTable[R]) free(s position) {
	i := s.at >> 3
	l := &t.lines[i]
	l.marks &^= 0xff << (s.at & 7 << 3)
	l.at[s.at&7] = nil
	for past := uint(1); past < s.read; past++ {
		if l = &t.lines[(i-past)&uint(len(t.lines)-1)]; l.marks < overflowMask {
			l.marks -= overflowOne
		}
	}
}

// shrink is called after each use of a table that may have become too large. It frees memory only after as many
// uses as there are places. It therefore costs little per use, and a queue that fills and drains in turns does not
// allocate each time.
func (t *postedTable[R]) shrink() {
	if len(t.lines) <= minLines || t.keys >= len(t.lines)*perLine/8 {
		return
	}
	if t.idle++; t.idle > len(t.lines)*perLine {
		t.resize(linesFor(t.keys))
	}
}

// resize moves the receives to n lines.
func (t *postedTable[R]) resize(n int) {
	old := t.lines
	t.lines, t.idle, t.lastFound.read = make([]line[R], n), 0, 0
	for i := range old {
		for _, r := range old[i].at {
			if r != nil {
				t.place(r, r.class.hash(r.Src, r.Tag))
			}
		}
	}
}

// linesFor is the smallest size for n keys.
func linesFor(n int) int {
	lines := minLines
	for lines*meanLoad <= n {
		lines *= 2
	}
	return lines
}
