package engine

import "gofabric/internal/xnet/wire"

// Steps of collective operations (wire.OpColl) travel between gofabric peers only. They are matched separately from
// the application's messages, by tag and by the member that they come from, and count for the same budget while
// they are unexpected. Only the Collector knows their meaning.

// collectives is the part of a receive context for collective operations.
type collectives struct {
	q      queue
	groups groups
}

// groups knows the collective groups of an endpoint. Its methods must not call the engine.
type groups interface {
	// Wanted reports whether an unexpected step is worth keeping. If not, the sender learns that the group is given
	// up.
	Wanted(tag, member uint64) bool
	// Aborted says that the peer with source src has given up the group of tag. member is as in wire.CollAbort.
	Aborted(tag, member, src uint64)
}

// NewColl returns a receive for PostColl. It does not count for Depth, because the Collector bounds what it
// expects.
func (rx *RxContext) NewColl() *RxOp { return rx.pool.getRx() }

// PostColl posts a receive for a step. op needs an Owner, whose Done gets the end. src is the source of the
// member's connections, or AnySource if it is not known: no other peer may send as this member. ignore has a 1 for
// each bit of the tag that need not match.
func (rx *RxContext) PostColl(op *RxOp, tag, member, src, ignore uint64) {
	q := &rx.coll.q
	op.node.Src, op.node.Tag, op.node.Ignore = member, tag, ignore
	op.src = src
	for q.Unexpected() > 0 {
		m := q.Take(member, tag, ignore)
		if m == nil {
			break
		}
		// Otherwise another peer has sent as this member: drop its step, and look on.
		if op.accepts(m.Value.owner.Src) {
			rx.deliver(op, m.Value)
			return
		}
		rx.discard(m.Value)
	}
	q.Post(&op.node)
}

// accepts reports whether src may be the peer that op expects a step from.
func (op *RxOp) accepts(src uint64) bool {
	return op.src == AnySource || src == AnySource || op.src == src
}

// CancelColl removes the receives of owner whose messages have not begun to come. f gets the Ctx of each; there is
// no other completion.
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

// discardColl drops the unexpected steps that f accepts.
func (rx *RxContext) discardColl(f func(feed feeder, tag uint64) bool) {
	q := &rx.coll.q
	for m := range q.EachMsg() {
		if f(m.Value.feed, m.Tag) {
			q.RemoveMsg(m)
			rx.discard(m.Value)
		}
	}
}

// dropColl removes steps that cannot be completed after the end of s. A member that has left does not join a group,
// so its steps about joining are removed, too.
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

// abortColl takes a step that says that the peer has given up a group.
func (rx *RxContext) abortColl(s *source, tag, member uint64) {
	if rx.coll != nil {
		rx.dropJoin(s, tag, uint64(uint32(member)))
		rx.coll.groups.Aborted(tag, member, s.Src)
	}
}

// dropJoin drops steps that s has sent as member to join a group, and takes back: it may try again. If another peer
// has sent a step with the same tag, which it cannot know, the steps behind it stay.
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

// matchColl finds the receive for a step, or returns nil. ok is false if the peer sends as another member.
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
	// The receive waits on, for the right peer.
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
