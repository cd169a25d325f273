package engine

// RxContext matches messages with posted receives. It belongs to one endpoint, or is a shared receive context
// (fi_endpoint(3)), or that of all connections of an RDM endpoint.
type RxContext struct {
	// Limit and PeerLimit bound the bytes of unexpected messages, altogether and per connection (budget.go). A
	// connection above them is not read.
	Limit, PeerLimit uint64
	// PeerMessages bounds the number of unexpected messages per connection (FI_TCP_MAX_SAVED); 0: no bound.
	PeerMessages int
	// MinMulti is the room, in bytes, below which a multi-receive buffer is released (FI_OPT_MIN_MULTI_RECV,
	// fi_endpoint(3)).
	MinMulti int
	// Depth bounds the number of posted receives.
	Depth int
	// Sink gets completions that belong to no connection: cancels and peeks.
	Sink CompletionSink
	// Collect makes Sink get the completions of all receives, over any connection.
	Collect bool

	pool    *rxPool
	msgs    queue
	tags    queue
	bytes   uint64 // that unexpected messages count for
	stalled []stalledPeer
	claimed map[uint64]*message // messages set aside by a peek, by context
	coll    *collectives        // nil until SetCollector
	done    Completion
	group   []*RxContext // contexts that peers choose from (group.go), nil for a context alone
	index   uint8        // in group
	closed  bool         // messages are discarded
}

// NewOp returns a receive to fill in and post, or nil if Depth receives are posted.
func (rx *RxContext) NewOp() *RxOp {
	if rx.msgs.Posted()+rx.tags.Posted() >= rx.Depth {
		return nil
	}
	return rx.pool.getRx()
}

// Room is how many receives NewOp can return.
func (rx *RxContext) Room() int { return max(rx.Depth-rx.Posted(), 0) }

// LateOp is NewOp for a receive that was accepted while there was room, even if there is none now.
func (rx *RxContext) LateOp() *RxOp { return rx.pool.getRx() }

// Fail ends an operation from LateOp that was not posted with a completion with err.
func (rx *RxContext) Fail(op *RxOp, err error) { rx.abandon(op, err) }

// FreeOp returns an operation from NewOp that will not be posted.
func (rx *RxContext) FreeOp(op *RxOp) { rx.pool.putRx(op) }

// Posted returns the number of receives in both queues.
func (rx *RxContext) Posted() int { return rx.msgs.Posted() + rx.tags.Posted() }

// Unexpected returns the number of messages in both queues.
func (rx *RxContext) Unexpected() int { return rx.msgs.Unexpected() + rx.tags.Unexpected() }

// PostMsg posts a receive for untagged messages from src.
func (rx *RxContext) PostMsg(op *RxOp, src uint64) {
	op.node.Src, op.node.Tag, op.node.Ignore = src, 0, 0
	// Messages that came before have precedence over those to come.
	if rx.msgs.Unexpected() > 0 {
		if op = rx.take(&rx.msgs, op); op == nil {
			return
		}
	}
	rx.msgs.Post(&op.node)
}

// PostTagged posts a receive for tagged messages from src.
func (rx *RxContext) PostTagged(op *RxOp, src, tag, ignore uint64) {
	op.node.Src, op.node.Tag, op.node.Ignore = src, tag, ignore
	if rx.tags.Unexpected() > 0 {
		if op = rx.take(&rx.tags, op); op == nil {
			return
		}
	}
	rx.tags.Post(&op.node)
}

// take delivers unexpected messages of q to op until op is used up or none is left for it. It returns what is left
// of op, or nil.
func (rx *RxContext) take(q *queue, op *RxOp) *RxOp {
	for op != nil && q.Unexpected() > 0 {
		m := q.Take(op.node.Src, op.node.Tag, op.node.Ignore)
		if m == nil {
			break
		}
		op = rx.deliver(op, m.Value)
	}
	return op
}

// match finds the receive for a message of n bytes that has come or was announced, and returns the queue for it.
func (rx *RxContext) match(src uint64, tagged bool, tag, n uint64) (*RxOp, *queue) {
	if tagged {
		return rx.matchTag(src, tag, n), &rx.tags
	}
	return rx.matchMsg(src, n), &rx.msgs
}

// matchMsg and matchTag find the receive for a message whose header has come. A multi-receive buffer gives up a
// part for it.
func (rx *RxContext) matchMsg(src, n uint64) *RxOp {
	r := rx.msgs.PeekPosted(src, 0)
	if r == nil {
		return nil
	}
	// The receive stays posted until it is known whether a multi-receive buffer has room left.
	op := r.Value
	if op.Multi {
		child, rest := rx.carve(op, n)
		if rest != nil {
			return child // the rest of the buffer keeps its place in the queue
		}
		op = child
	}
	rx.msgs.Remove(r)
	return op
}

func (rx *RxContext) matchTag(src, tag, n uint64) *RxOp {
	r := rx.tags.PeekPosted(src, tag)
	if r == nil {
		return nil
	}
	if op := r.Value; op.Multi {
		if child, rest := rx.carve(op, n); rest != nil {
			return child
		}
	}
	rx.tags.Remove(r)
	return r.Value
}

// carve takes room for n bytes out of the multi-receive op. It returns the receive for them, and op if it has room
// for more.
func (rx *RxContext) carve(op *RxOp, n uint64) (child, rest *RxOp) {
	if op.multi == nil {
		op.multi = rx.pool.getMulti()
	}
	mb := op.multi
	mb.users++
	room := uint64(len(op.buf))
	// Too little is left: the rest goes with this message, and the buffer is released after it.
	if n > room || room-n < uint64(max(rx.MinMulti, 1)) {
		mb.spent = true
		return op, nil
	}
	child = rx.pool.getRx()
	child.Ctx, child.Flags, child.Silent, child.Owner = op.Ctx, op.Flags, op.Silent, op.Owner
	child.Multi, child.multi = true, mb
	child.SetBuf(op.buf[:n:n])
	op.buf = op.buf[n:]
	return child, op
}

// takeWhole receives untagged or equally tagged messages of n bytes each that follow one another in b, while each
// is complete in b and meets a posted receive with one buffer that it fits. It takes at most count and returns how
// many it took. This is the path of coalesced messages, which it keeps short.
func (rx *RxContext) takeWhole(b []byte, count int, n, tag uint64, tagged bool, from *source) (took int) {
	src, sink := from.Src, rx.sinkFor(from.completions)
	q := &rx.msgs
	if tagged {
		q = &rx.tags
	}
	size, off := int(n), 0
	for ; took < count && len(b)-off >= size; took++ {
		r := q.PeekPosted(src, tag)
		if r == nil {
			break
		}
		op := r.Value
		// The general path handles these.
		if op.Multi || op.multi != nil || op.niov != 1 || len(op.buf) < size {
			break
		}
		q.Remove(r)
		copy(op.buf, b[off:off+size])
		off += size
		op.tag, op.src, op.data, op.msgLen = tag, src, 0, n
		sink.Received(op)
		rx.pool.putRx(op)
	}
	return took
}

// deliver gives the unexpected message m, which is out of its queue, to op. It returns the rest of a multi-receive
// op to post, or nil.
func (rx *RxContext) deliver(op *RxOp, m *message) (rest *RxOp) {
	if op.Multi {
		op, rest = rx.carve(op, m.msgLen)
	}
	rx.hand(op, m)
	return rest
}

// hand is deliver to an op that is for this message alone.
func (rx *RxContext) hand(op *RxOp, m *message) {
	op.hasData, op.data, op.tag, op.src = m.hasData, m.data, m.node.Tag, m.node.Src
	op.ack, op.msgLen, op.sink = m.ack, m.msgLen, rx.sinkFor(m.sink)
	owner, feed, stalls := m.owner, m.feed, m.stalls
	if m.match && !m.pending { // otherwise when it is complete
		feed.sendMatched(m.matchID)
	}
	switch {
	case m.broken != nil:
		err := m.broken
		rx.free(m)
		rx.finishErr(op, err)
	case m.held:
		feed.fetchHeld(op, &m.at)
		rx.free(m)
	case m.pending:
		// The rest of it is still coming.
		feed.redirect(m, op)
	default:
		m.copyTo(op)
		rx.free(m)
		rx.finish(op)
	}
	if stalls && owner.stalled { // even if others have used up the room
		feed.resume()
	}
	rx.resume()
}

// finish completes a receive whose message is complete.
func (rx *RxContext) finish(op *RxOp) {
	// The general path: multi-receive, discarded, or truncated.
	if op.multi != nil || op.discarded || op.size() < op.msgLen {
		rx.finishErr(op, nil)
		return
	}
	sink := op.sink
	if sink == nil {
		sink = rx.Sink
	}
	sink.Received(op)
	rx.pool.putRx(op)
}

// finishErr is finish with an error, or for receives that need a full Completion.
func (rx *RxContext) finishErr(op *RxOp, err error) {
	if op.discarded {
		rx.pool.putRx(op)
		return
	}
	d := &rx.done
	*d = Completion{
		Kind: KindRecv, HasData: op.hasData, Silent: op.Silent, Ctx: op.Ctx, Flags: op.Flags, Len: op.msgLen, Data: op.data,
		Tag: op.tag, Src: op.src, Err: err, Owner: op.Owner,
	}
	if op.niov > 0 {
		d.Buf = op.buf
	}
	if room := op.size(); err == nil && room < op.msgLen {
		d.Err, d.Len, d.OLen = ErrTruncated, room, op.msgLen-room
	}
	if mb := op.multi; mb != nil {
		mb.users--
		// The last message in the buffer: the application gets it back (FI_MULTI_RECV in the completion).
		if d.Release = mb.spent && mb.users == 0; d.Release {
			rx.pool.putMulti(mb)
		}
	}
	sink := op.sink
	if sink == nil {
		sink = rx.Sink
	}
	rx.pool.putRx(op)
	sink.Completed(d)
	d.Buf = nil
}
