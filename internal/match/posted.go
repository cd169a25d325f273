// Posted receives: fi_recv(3), fi_trecv(3), fi_cancel(3).

package match

import "iter"

// A Recv is a posted receive: Src is the fi_addr_t it accepts, or [AnySource]; Ignore has a one in each bit of Tag that need not match. It is
// meant to be embedded in, or pooled with, the owner's receive object; Value leads back to that.
type Recv[R any] struct {
	hook             hook[Recv[R]] // first, for it is seldom used, and what follows fills a line of the processor's cache
	Src, Tag, Ignore uint64
	node             node[Recv[R]]
	Value            R
	class            *class // nil: not indexed
}

// Accepts tells whether r takes a message from src (AnySource: unknown) with this tag.
func (r *Recv[R]) Accepts(src, tag uint64) bool {
	return (r.Src == AnySource || r.Src == src) && (r.Tag^tag)&^r.Ignore == 0
}

// Post appends r to the posted receives.
func (q *Queue[R, M]) Post(r *Recv[R]) {
	q.posted.pushBack(&r.node, r)
	if q.index.on {
		q.index.add(r)
	}
}

// PostFront makes r the oldest of all posted receives. It serves to put back the remainder of a multi-receive buffer (FI_MULTI_RECV) that was the
// oldest; one that stays where it is, with [Queue.PeekPosted] for each message and [Queue.Remove] at the end, keeps its place among the others too.
func (q *Queue[R, M]) PostFront(r *Recv[R]) {
	q.posted.pushFront(&r.node, r)
	if q.index.on {
		q.index.add(r)
	}
}

// Match removes and returns the oldest posted receive which accepts a message from src with this tag, or returns nil. Only undirected receives
// accept a message whose src is AnySource.
func (q *Queue[R, M]) Match(src, tag uint64) *Recv[R] {
	r := q.PeekPosted(src, tag)
	if r != nil {
		q.removePosted(r)
	}
	return r
}

// PeekPosted returns what Match would, and leaves it posted.
func (q *Queue[R, M]) PeekPosted(src, tag uint64) *Recv[R] {
	n := q.posted.head
	if n == nil {
		return nil
	}
	if n.self.Accepts(src, tag) {
		return n.self
	}
	if q.index.on {
		return q.index.find(src, tag)
	}
	for range scanLimit {
		if n = n.next; n == nil {
			return nil
		}
		if n.self.Accepts(src, tag) {
			return n.self
		}
	}
	if n.next == nil {
		return nil
	}
	q.index.build(&q.posted)
	return q.index.find(src, tag)
}

// Remove takes r out of the queue, as fi_cancel(3) does, and tells whether it was posted here.
func (q *Queue[R, M]) Remove(r *Recv[R]) bool {
	if r.node.in != &q.posted {
		return false
	}
	q.removePosted(r)
	return true
}

func (q *Queue[R, M]) removePosted(r *Recv[R]) {
	q.posted.remove(&r.node)
	if q.index.on {
		q.index.remove(r)
	}
	if q.posted.n == 0 {
		q.index.rest()
	}
}

// FindPosted returns the oldest posted receive for which pred is true, or nil; it remains posted. Cancelling by context is FindPosted and Remove.
func (q *Queue[R, M]) FindPosted(pred func(*Recv[R]) bool) *Recv[R] {
	for n := q.posted.head; n != nil; n = n.next {
		if pred(n.self) {
			return n.self
		}
	}
	return nil
}

// EachPosted yields the posted receives, oldest first. The body may remove the current one, and post others, but not remove others.
func (q *Queue[R, M]) EachPosted() iter.Seq[*Recv[R]] { return q.posted.each }

// Posted is the number of posted receives.
func (q *Queue[R, M]) Posted() int { return q.posted.n }

// A postedIndex finds the oldest receive of each class by hashing. While it is on, it contains all posted receives.
type postedIndex[R any] struct {
	on      bool
	classes classes
	table   table[Recv[R]]
}

func (x *postedIndex[R]) build(l *list[Recv[R]]) {
	x.on = true
	for n := l.head; n != nil; n = n.next {
		x.add(n.self)
	}
}

func (x *postedIndex[R]) add(r *Recv[R]) {
	r.class = x.classes.enter(r.Ignore, r.Src != AnySource)
	x.table.insert(&r.hook, r, r.class.key(r.Src, r.Tag), r.node.seq)
}

func (x *postedIndex[R]) remove(r *Recv[R]) {
	x.table.remove(&r.hook)
	x.classes.leave(r.class)
	r.class = nil
}

// find asks each class and returns the oldest answer.
func (x *postedIndex[R]) find(src, tag uint64) *Recv[R] {
	var best *hook[Recv[R]]
	for _, c := range x.classes.active {
		if h := x.table.find(c.key(src, tag)); h != nil && (best == nil || h.seq < best.seq) {
			best = h
		}
	}
	if best == nil {
		return nil
	}
	return best.self
}

// rest is called whenever the queue has run empty, and the index with it.
func (x *postedIndex[R]) rest() {
	x.on = false
	x.table.shrink()
	x.classes.byMask.shrink()
}
