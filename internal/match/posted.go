// Posted receives: fi_recv(3), fi_trecv(3), fi_cancel(3).

package match

import "iter"

// A Recv is a posted receive. Src is the fi_addr_t that it accepts, or [AnySource]. Ignore has a 1 in each bit of
// Tag that need not match. It is meant to be embedded in, or pooled with, the owner's receive object; Value refers
// back to that. With a pointer as Value it fills one cache line, and is best placed at the start of one.
type Recv[R any] struct {
	Src, Tag, Ignore uint64
	Value            R
	seq              int64 // the oldest has the lowest
	// In the list: the neighbours by age. In the table: the ring of equal keys by age; prev of the oldest is the
	// youngest.
	next, prev *Recv[R]
	class      *class[R] // nil: not posted
}

// Accepts reports whether r takes a message from src (AnySource: not in the address vector) with this tag.
func (r *Recv[R]) Accepts(src, tag uint64) bool {
	return (r.Src == AnySource || r.Src == src) && (r.Tag^tag)&^r.Ignore == 0
}

// Post appends r to the posted receives. A multi-receive buffer (FI_MULTI_RECV) stays posted, with [Queue.PeekPosted]
// for each message and [Queue.Remove] at the end.
func (q *Queue[R, M]) Post(r *Recv[R]) { q.posted.pushBack(r) }

// Match removes and returns the oldest posted receive that accepts a message from src with this tag, or returns
// nil. Only undirected receives accept a message whose src is AnySource.
func (q *Queue[R, M]) Match(src, tag uint64) *Recv[R] {
	r := q.posted.find(src, tag)
	if r != nil {
		q.posted.remove(r)
	}
	return r
}

// PeekPosted returns what Match would, and leaves it posted.
func (q *Queue[R, M]) PeekPosted(src, tag uint64) *Recv[R] { return q.posted.find(src, tag) }

// Remove removes r, as fi_cancel(3) does, and reports whether it was posted here.
func (q *Queue[R, M]) Remove(r *Recv[R]) bool {
	if !q.posted.has(r) {
		return false
	}
	q.posted.remove(r)
	return true
}

// FindPosted returns the oldest posted receive for which pred is true, or nil. It stays posted. FindPosted and
// Remove cancel by context (fi_cancel(3)).
func (q *Queue[R, M]) FindPosted(pred func(*Recv[R]) bool) *Recv[R] {
	for r := range q.posted.each {
		if pred(r) {
			return r
		}
	}
	return nil
}

// EachPosted yields the posted receives, oldest first. The body may remove the current one. It may post others,
// which are not necessarily yielded. It must not remove others or match messages.
func (q *Queue[R, M]) EachPosted() iter.Seq[*Recv[R]] { return q.posted.each }

// Posted returns the number of posted receives.
func (q *Queue[R, M]) Posted() int { return q.posted.n }

// posted has the posted receives of a queue, either all in a list by age or all in an index. The index does not
// know their order except by their numbers: to unlink a receive from the middle of a long list costs two cache
// misses, more than to find it in the index.
type posted[R any] struct {
	n          int
	last       int64 // number that pushBack assigns next
	head, tail *Recv[R]
	listed     class[R] // the class of all receives in the list
	indexed    bool
	classes    classes[R]
	table      postedTable[R]
	ageIndex   ageIndex[R]
}

// has reports whether r is posted here.
func (p *posted[R]) has(r *Recv[R]) bool { return r.class != nil && r.class.owner == p }

// pushBack adds r as the youngest.
func (p *posted[R]) pushBack(r *Recv[R]) {
	if r.class != nil {
		panic("match: queued twice")
	}
	r.seq = p.last
	p.last++
	p.n++
	if p.indexed {
		p.enter(r)
		p.ageIndex.add(r, p.n)
		return
	}
	p.listed.owner, r.class, r.prev = p, &p.listed, p.tail
	if p.tail == nil {
		p.head = r
	} else {
		p.tail.next = r
	}
	p.tail = r
}

// enter adds r to the index.
func (p *posted[R]) enter(r *Recv[R]) {
	// Consecutive receives are usually of one class.
	if c := p.classes.last; c != nil && c.ignore == r.Ignore && c.directed == (r.Src != AnySource) {
		c.n++
		r.class = c
	} else {
		r.class = p.classes.add(p, r.Ignore, r.Src != AnySource)
	}
	p.table.insert(r)
}

// find returns the oldest receive that accepts the message.
func (p *posted[R]) find(src, tag uint64) *Recv[R] {
	if p.indexed {
		return p.ask(src, tag)
	}
	r := p.head
	// Short lists, and matches near the head, need no index.
	for range scanLimit + 1 {
		if r == nil || r.Accepts(src, tag) {
			return r
		}
		r = r.next
	}
	if r == nil {
		return nil
	}
	p.becomeIndexed()
	return p.ask(src, tag)
}

// ask looks the message up in each class, and returns the oldest receive found.
func (p *posted[R]) ask(src, tag uint64) *Recv[R] {
	var best *Recv[R]
	// Each class finds its oldest receive; the lowest number of these is the oldest of all.
	for _, c := range p.classes.active {
		from := c.from(src)
		if r := p.table.find(c, c.hash(from, tag), from, tag); r != nil && (best == nil || r.seq < best.seq) {
			best = r
		}
	}
	return best
}

// remove removes r, which must be posted here.
func (p *posted[R]) remove(r *Recv[R]) {
	p.n--
	if p.indexed {
		p.table.remove(r)
		p.classes.remove(r.class)
		if r.class = nil; p.n == 0 {
			p.becomeListed()
		}
		return
	}
	if r.prev == nil {
		p.head = r.next
	} else {
		r.prev.next = r.next
	}
	if r.next == nil {
		p.tail = r.prev
	} else {
		r.next.prev = r.prev
	}
	r.class, r.next, r.prev = nil, nil, nil
	// The list is empty: a large table of the past may shrink.
	if p.n == 0 && p.table.lines != nil {
		p.table.shrink()
		p.classes.byMask.shrink()
	}
}

// becomeIndexed moves all receives from the list to the index, after a long search.
func (p *posted[R]) becomeIndexed() {
	p.indexed = true
	for r := p.head; r != nil; {
		next := r.next
		r.next, r.prev = nil, nil
		p.enter(r)
		r = next
	}
	p.head, p.tail = nil, nil
}

// becomeListed runs when the last receive has left the index.
func (p *posted[R]) becomeListed() {
	p.indexed = false
	p.ageIndex.drop()
	p.table.shrink()
	p.classes.byMask.shrink()
}

// each implements EachPosted.
func (p *posted[R]) each(yield func(*Recv[R]) bool) {
	if p.indexed {
		p.eachIndexed(yield)
		return
	}
	for r := p.head; r != nil; {
		next := r.next
		if !yield(r) {
			return
		}
		r = next
	}
}
