package engine

// How receives and unexpected messages end without each other.

// Cancel cancels the oldest receive posted with ctx and reports whether there was one.
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

func (rx *RxContext) abandon(op *RxOp, err error) {
	op.msgLen, op.data, op.tag, op.src = 0, 0, op.node.Tag, op.node.Src
	if op.Multi {
		if op.multi == nil {
			op.multi = rx.pool.getMulti()
		}
		op.multi.spent = true
		op.multi.users++
	}
	rx.finishErr(op, err)
}

// Release frees receives and messages, because the owner of the context is closing. There are no completions.
func (rx *RxContext) Release() {
	for _, q := range []*queue{&rx.msgs, &rx.tags} {
		rx.releaseQueue(q)
	}
	for ctx, m := range rx.claimed {
		delete(rx.claimed, ctx)
		rx.forget(m)
	}
	if rx.coll != nil {
		rx.releaseQueue(&rx.coll.q)
	}
}

func (rx *RxContext) releaseQueue(q *queue) {
	for r := range q.EachPosted() {
		q.Remove(r)
		rx.pool.putRx(r.Value)
	}
	for m := range q.EachMsg() {
		q.RemoveMsg(m)
		rx.forget(m.Value)
	}
}

// DropWhere drops the unexpected messages that came over connections with certain sinks, which are closed.
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

// discard drops a message, wherever its payload is. A sender that waits for a match or an acknowledgement gets it.
func (rx *RxContext) discard(m *message) {
	op := rx.pool.getRx()
	op.Silent = true
	op.discarded = true
	rx.deliver(op, m)
}

// dropQueued takes m out of q and discards it.
func (rx *RxContext) dropQueued(q *queue, m *message) {
	q.RemoveMsg(&m.node)
	rx.discard(m)
}

// forget drops a message whose connection is gone or going.
func (rx *RxContext) forget(m *message) {
	if m.pending {
		m.feed.forget(m)
	}
	rx.free(m)
}

// drop removes the messages of s, which has ended, that cannot be completed: those still coming, and announced ones.
// Complete messages stay, and so do claimed ones, because their claim has to complete.
func (rx *RxContext) drop(s *source, err error) {
	for r := range rx.all {
		r.dropOwn(s, err)
	}
	rx.resume()
}

func (rx *RxContext) dropOwn(s *source, err error) {
	for _, q := range []*queue{&rx.msgs, &rx.tags} {
		for n := range q.EachMsg() {
			if m := n.Value; m.owner == s && m.pending {
				q.RemoveMsg(n)
				rx.forget(m)
			}
		}
	}
	for _, m := range rx.claimed {
		if m.owner == s && m.pending {
			m.pending, m.held, m.broken = false, false, err // the claim will tell
		}
	}
	rx.dropColl(s)
	rx.unstall(s)
}

// setSource gives all messages of s that are still unexpected their source. Receives that wait for this source take
// theirs.
func (rx *RxContext) setSource(s *source, src uint64) {
	for _, q := range []*queue{&rx.msgs, &rx.tags} {
		for n := range q.EachMsg() {
			if n.Value.owner == s {
				q.SetSource(n, src)
			}
		}
		for rx.matchKnown(q, s) {
		}
	}
}

// matchKnown delivers the oldest unexpected message of s that a posted receive accepts, and reports whether there was
// one.
func (rx *RxContext) matchKnown(q *queue, s *source) bool {
	for n := range q.EachMsg() {
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
