package engine

// Receives and unexpected messages that end without each other: cancelled, flushed, discarded, or dropped with
// their connection.

// Cancel cancels the oldest receive posted with ctx (fi_cancel(3)) and reports whether there was one.
func (rx *RxContext) Cancel(ctx uint64) bool {
	for _, q := range []*queue{&rx.msgs, &rx.tags} {
		if r := q.FindPosted(func(r *recvNode) bool { return r.Value.Ctx == ctx }); r != nil {
			q.Remove(r)
			rx.abandon(r.Value, ErrCanceled)
			return true
		}
	}
	return false
}

// Flush ends every posted receive with err.
func (rx *RxContext) Flush(err error) {
	for _, q := range []*queue{&rx.msgs, &rx.tags} {
		for r := range q.EachPosted() {
			q.Remove(r)
			rx.abandon(r.Value, err)
		}
	}
}

// abandon completes a receive without a message.
func (rx *RxContext) abandon(op *RxOp, err error) {
	op.msgLen, op.data, op.tag, op.src = 0, 0, op.node.Tag, op.node.Src
	// A cancelled multi-receive buffer is released with this completion, or with the last message that still writes
	// into it.
	if op.Multi {
		if op.multi == nil {
			op.multi = rx.pool.getMulti()
		}
		op.multi.spent = true
		op.multi.users++
	}
	rx.finishErr(op, err)
}

// Release frees receives and messages when the owner of the context closes. There are no completions.
func (rx *RxContext) Release() {
	for _, q := range []*queue{&rx.msgs, &rx.tags} {
		rx.releaseQueue(q)
	}
	// Claimed messages are in no queue.
	for ctx, m := range rx.claimed {
		delete(rx.claimed, ctx)
		rx.forget(m)
	}
	if rx.coll != nil {
		rx.releaseQueue(&rx.coll.q)
	}
}

// releaseQueue is Release for one queue.
func (rx *RxContext) releaseQueue(q *queue) {
	for r := range q.EachPosted() {
		q.Remove(r) // otherwise the rest of the buffer keeps its place
		rx.pool.putRx(r.Value)
	}
	for m := range q.EachMsg() {
		q.RemoveMsg(m)
		rx.forget(m.Value)
	}
}

// DropWhere drops the unexpected messages that came over connections whose sinks which accepts. They are closed.
func (rx *RxContext) DropWhere(which func(CompletionSink) bool) {
	for _, q := range []*queue{&rx.msgs, &rx.tags} {
		for m := range q.EachMsg() {
			if which(m.Value.sink) {
				q.RemoveMsg(m)
				rx.forget(m.Value)
			}
		}
	}
	rx.resume()
}

// discard drops a message, wherever its payload is. A sender that waits for a match or an acknowledgement gets it:
// the message is received by an operation without a buffer.
func (rx *RxContext) discard(m *message) {
	op := rx.pool.getRx()
	op.Silent = true
	// It has no buffers, so all of the message is dropped, and its end is not reported.
	op.discarded = true
	rx.deliver(op, m)
}

// dropQueued removes m from q and discards it.
func (rx *RxContext) dropQueued(q *queue, m *message) {
	q.RemoveMsg(&m.node)
	rx.discard(m)
}

// forget drops a message whose connection has ended or is ending.
func (rx *RxContext) forget(m *message) {
	if m.pending {
		m.feed.forget(m)
	}
	rx.free(m)
}

// drop removes the messages of s, which has ended, that cannot be completed: incomplete and announced ones.
// Complete messages stay. Claimed ones stay as well, because their claim must complete.
func (rx *RxContext) drop(s *source, err error) {
	for r := range rx.all {
		r.dropOwn(s, err)
	}
	rx.resume()
}

// dropOwn is drop for one context.
func (rx *RxContext) dropOwn(s *source, err error) {
	for _, q := range []*queue{&rx.msgs, &rx.tags} {
		for n := range q.EachMsg() {
			// Incomplete, or announced and not fetched.
			if m := n.Value; m.owner == s && m.pending {
				q.RemoveMsg(n)
				rx.forget(m)
			}
		}
	}
	for _, m := range rx.claimed {
		if m.owner == s && m.pending {
			m.pending, m.held, m.broken = false, false, err // the claim reports it
		}
	}
	rx.dropColl(s)
	rx.unstall(s)
}

// setSource sets the source of all messages of s that are still unexpected. Receives that wait for this source take
// theirs.
func (rx *RxContext) setSource(s *source, src uint64) {
	for _, q := range []*queue{&rx.msgs, &rx.tags} {
		for n := range q.EachMsg() {
			if n.Value.owner == s {
				q.SetSource(n, src)
			}
		}
		// Each match may change the queue, so start again from its head.
		for rx.matchKnown(q, s) {
		}
	}
}

// matchKnown delivers the oldest unexpected message of s that a posted receive accepts. It reports whether there
// was one.
func (rx *RxContext) matchKnown(q *queue, s *source) bool {
	for n := range q.EachMsg() {
		// Only messages of this peer have a new source.
		if n.Value.owner != s {
			continue
		}
		r := q.PeekPosted(n.Src, n.Tag)
		if r == nil {
			continue
		}
		q.RemoveMsg(n)
		op, rest := r.Value, (*RxOp)(nil)
		if op.Multi {
			op, rest = rx.carve(op, n.Value.msgLen)
		}
		if rest == nil {
			q.Remove(r) // else the rest of the buffer keeps its place
		}
		rx.hand(op, n.Value)
		return true
	}
	return false
}
