package engine

import "gofabric/internal/xnet/wire"

// Messages of collective operations (wire.OpColl) go between peers of this module only. They are matched apart from the
// application's, by tag and by the member that they come from, and count against the same budget while they are
// unexpected. Only the Collector knows their meaning.

// collectives is the part of a receive context for them.
type collectives struct {
	q      queue
	groups groups
}

// groups knows the groups of an endpoint. Its methods must not call the engine.
type groups interface {
	// Wanted says whether an unexpected message is worth keeping. If not, the sender is told that the group is given
	// up.
	Wanted(tag, member uint64) bool
	// Aborted says that the peer, which is src, has given up the group of tag; member is as of wire.CollAbort.
	Aborted(tag, member, src uint64)
}

// NewColl returns a receive for PostColl. It does not count against Depth: the Collector bounds what it expects.
func (rx *RxContext) NewColl() *RxOp { return rx.pool.getRx() }

// PostColl expects a message. op needs an Owner, whose Done is told of the end. src is the source of the member's
// connections, AnySource if that is not known: no other peer may speak for the member. ignore is the bits of the tag
// that do not matter.
func (rx *RxContext) PostColl(op *RxOp, tag, member, src, ignore uint64) {
	q := &rx.coll.q
	op.node.Src, op.node.Tag, op.node.Ignore = member, tag, ignore
	op.src = src
	for q.Unexpected() > 0 {
		m := q.Take(member, tag, ignore)
		if m == nil {
			break
		}
		if op.accepts(m.Value.owner.Src) {
			rx.deliver(op, m.Value)
			return
		}
		rx.discard(m.Value)
	}
	q.Post(&op.node)
}

// accepts reports whether src may be the peer that op expects a message from.
func (op *RxOp) accepts(src uint64) bool {
	return op.src == AnySource || src == AnySource || op.src == src
}

// CancelColl forgets the receives of owner whose messages have not begun to come. f is told the Ctx of each, which has
// no other end.
func (rx *RxContext) CancelColl(owner Owner, f func(ctx uint64)) {
	q := &rx.coll.q
	for r := range q.EachPosted() {
		if op := r.Value; op.Owner == owner {
			q.Remove(r)
			f(op.Ctx)
			rx.pool.putRx(op)
		}
	}
}

// discardColl drops the unexpected messages that f accepts.
func (rx *RxContext) discardColl(f func(feed feeder, tag uint64) bool) {
	q := &rx.coll.q
	for m := range q.EachMsg() {
		if f(m.Value.feed, m.Tag) {
			q.RemoveMsg(m)
			rx.discard(m.Value)
		}
	}
}

// dropColl removes messages that cannot be completed after the end of s. A member that has left does not join, so its
// messages about joining go, too.
func (rx *RxContext) dropColl(s *source) {
	if rx.coll == nil {
		return
	}
	q := &rx.coll.q
	for n := range q.EachMsg() {
		if m := n.Value; m.owner == s && (m.pending || n.Tag&wire.CollJoin != 0) {
			q.RemoveMsg(n)
			rx.forget(m)
		}
	}
}

// abortColl takes the peer's message that it has given up a group.
func (rx *RxContext) abortColl(s *source, tag, member uint64) {
	if rx.coll != nil {
		rx.dropJoin(s, tag, uint64(uint32(member)))
		rx.coll.groups.Aborted(tag, member, s.Src)
	}
}

// dropJoin drops what s has sent as member for joining a group and takes back: it may try again. A message that another
// peer has sent with the same tag, which it cannot know, hides those behind it.
func (rx *RxContext) dropJoin(s *source, tag, member uint64) {
	if tag&wire.CollJoin == 0 {
		return
	}
	q := &rx.coll.q
	for q.Unexpected() > 0 {
		n := q.Peek(member, tag, 0)
		if n == nil || n.Value.owner != s {
			return
		}
		q.RemoveMsg(n)
		rx.discard(n.Value)
	}
}

// matchColl finds the receive for a step, nil if there is none. false: the peer speaks for another member.
func (rx *RxContext) matchColl(src, tag, member uint64) (op *RxOp, ok bool) {
	if rx.coll == nil {
		return nil, true
	}
	r := rx.coll.q.Match(member, tag)
	if r == nil {
		return nil, true
	}
	if r.Value.accepts(src) {
		return r.Value, true
	}
	rx.coll.q.Post(r)
	return nil, false
}

// wantsColl reports whether an unexpected step is worth keeping.
func (rx *RxContext) wantsColl(tag, member uint64) bool {
	return rx.coll != nil && rx.coll.groups.Wanted(tag, member)
}

// keepColl is keep for a step of a collective operation.
func (rx *RxContext) keepColl(from *source, feed feeder, h *wire.Header, n, tag, member uint64) *message {
	q := &rx.coll.q
	m := rx.keep(q, from, feed, h, n, tag)
	q.SetSource(&m.node, member)
	return m
}
