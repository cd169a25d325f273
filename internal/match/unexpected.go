// Unexpected messages: arrived before the receive that takes them; fi_tagged(3) for FI_PEEK, FI_CLAIM and FI_DISCARD.

package match

import "iter"

// A Msg is one unexpected message from Src (AnySource: a peer that the address vector does not know). It is meant to be embedded in, or pooled
// with, the owner's object; Value leads back to that.
type Msg[M any] struct {
	Src, Tag uint64
	node     node[Msg[M]]
	Value    M
	hooks    [maxViews]hook[Msg[M]]
}

// acceptedBy tells whether a receive (src, tag, ignore) takes m.
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
	if n.self.acceptedBy(src, tag, ignore) {
		return n.self
	}
	if q.views.on > 0 {
		if v := q.views.of(src, ignore); v != nil {
			return v.find(src, tag)
		}
	}
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

// RemoveMsg takes m out of the queue (it was claimed or discarded, or its peer died), and tells whether it was there.
func (q *Queue[R, M]) RemoveMsg(m *Msg[M]) bool {
	if m.node.in != &q.unexpected {
		return false
	}
	q.removeMsg(m)
	return true
}

func (q *Queue[R, M]) removeMsg(m *Msg[M]) {
	q.unexpected.remove(&m.node)
	q.views.remove(m)
	if q.unexpected.n == 0 {
		q.views.rest()
	}
}

// SetSource changes the source of m and keeps its age: the address vector has come to know a peer whose messages wait here already. It works
// whether or not m is queued.
func (q *Queue[R, M]) SetSource(m *Msg[M], src uint64) {
	m.Src = src
	if m.node.in == &q.unexpected {
		q.views.remove(m)
		q.views.add(m)
	}
}

// EachMsg yields the unexpected messages, oldest first. The body may remove the current one, and add others, but not remove others.
func (q *Queue[R, M]) EachMsg() iter.Seq[*Msg[M]] { return q.unexpected.each }

// Unexpected is the number of unexpected messages.
func (q *Queue[R, M]) Unexpected() int { return q.unexpected.n }
