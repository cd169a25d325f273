// Unexpected messages arrived before their receive. fi_tagged(3) has FI_PEEK, FI_CLAIM and FI_DISCARD.

package match

import "iter"

// A Msg is an unexpected message from Src (AnySource: a peer that is not in the address vector). It is meant to be
// embedded in, or pooled with, the owner's object; Value refers back to that.
type Msg[M any] struct {
	Src, Tag uint64
	node     node[Msg[M]]
	Value    M
	entries  [maxViews]tableEntry[Msg[M]]
}

// acceptedBy reports whether a receive (src, tag, ignore) takes m.
func (m *Msg[M]) acceptedBy(src, tag, ignore uint64) bool {
	return (src == AnySource || src == m.Src) && (m.Tag^tag)&^ignore == 0
}

// Arrive appends m to the unexpected messages.
func (q *Queue[R, M]) Arrive(m *Msg[M]) {
	q.unexpected.pushBack(&m.node, m)
	if q.views.on > 0 {
		q.views.add(m)
	}
}

// Take removes and returns the oldest unexpected message that a receive (src, tag, ignore) accepts, or returns nil.
func (q *Queue[R, M]) Take(src, tag, ignore uint64) *Msg[M] {
	m := q.Peek(src, tag, ignore)
	if m != nil {
		q.removeMsg(m)
	}
	return m
}

// Peek returns what Take would, and leaves it in the queue: FI_PEEK.
func (q *Queue[R, M]) Peek(src, tag, ignore uint64) *Msg[M] {
	n := q.unexpected.head
	if n == nil {
		return nil
	}
	// The head matches most often: messages and receives come in the same order.
	if n.self.acceptedBy(src, tag, ignore) {
		return n.self
	}
	if q.views.on > 0 {
		// This class has an index.
		if v := q.views.of(src, ignore); v != nil {
			return v.find(src, tag)
		}
	}
	// A short search needs no index.
	for range scanLimit {
		if n = n.next; n == nil {
			return nil
		}
		if n.self.acceptedBy(src, tag, ignore) {
			return n.self
		}
	}
	if n.next == nil {
		return nil
	}
	if v := q.views.open(&q.unexpected, src, ignore); v != nil {
		return v.find(src, tag)
	}
	for n = n.next; n != nil; n = n.next {
		if n.self.acceptedBy(src, tag, ignore) {
			return n.self
		}
	}
	return nil
}

// RemoveMsg removes m, which was claimed or discarded, or whose peer has ended. It reports whether m was in the
// queue.
func (q *Queue[R, M]) RemoveMsg(m *Msg[M]) bool {
	if m.node.in != &q.unexpected {
		return false
	}
	q.removeMsg(m)
	return true
}

// removeMsg removes m, which is in the queue.
func (q *Queue[R, M]) removeMsg(m *Msg[M]) {
	q.unexpected.remove(&m.node)
	q.views.remove(m)
	if q.unexpected.n == 0 {
		q.views.clear()
	}
}

// SetSource changes the source of m, which keeps its age: the peer was inserted into the address vector after its
// message had come. m need not be in the queue.
func (q *Queue[R, M]) SetSource(m *Msg[M], src uint64) {
	m.Src = src
	if m.node.in == &q.unexpected {
		q.views.remove(m)
		q.views.add(m)
	}
}

// EachMsg yields the unexpected messages, oldest first. The body may remove the current one and add others, but
// must not remove others.
func (q *Queue[R, M]) EachMsg() iter.Seq[*Msg[M]] { return q.unexpected.each }

// Unexpected returns the number of unexpected messages.
func (q *Queue[R, M]) Unexpected() int { return q.unexpected.n }
