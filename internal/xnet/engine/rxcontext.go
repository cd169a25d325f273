package engine

// RxContext is where messages meet posted receives: an endpoint's own, a shared receive context, or that of all
// connections of an RDM endpoint.
type RxContext struct {
	// Limit and PeerLimit bound the bytes of unexpected messages kept, altogether and per connection (budget.go).
	// Beyond them a connection is not read.
	Limit, PeerLimit uint64
	// PeerMessages bounds their number per connection; 0 means no bound (FI_TCP_MAX_SAVED).
	PeerMessages int
	// MinMulti is the room below which a multi-receive buffer is given back, bytes.
	MinMulti int
	// Depth bounds the posted receives.
	Depth int
	// Sink takes completions that concern no connection: cancels and peeks.
	Sink CompletionSink
	// Collect makes Sink take the completions of all receives, whatever connection brings their messages.
	Collect bool

	pool    *rxPool
	msgs    queue
	tags    queue
	bytes   uint64 // that unexpected messages count for
	stalled []stalledPeer
	claimed map[uint64]*message
	coll    *collectives // nil until SetCollector
	done    Completion
	group   []*RxContext // that connections choose from, this one among them; nil for a context that is alone
	index   uint8        // in group
	closed  bool         // messages are dropped
}

// NewOp returns a receive to fill in and post, nil when too many are posted.
func (rx *RxContext) NewOp() *RxOp {
	if rx.msgs.Posted()+rx.tags.Posted() >= rx.Depth {
		return nil
	}
	return rx.pool.getRx()
}

// Room is how many receives NewOp has.
func (rx *RxContext) Room() int { return max(rx.Depth-rx.Posted(), 0) }

// LateOp is NewOp for a receive that was accepted while there was room, even if there is none by now.
func (rx *RxContext) LateOp() *RxOp { return rx.pool.getRx() }

// Fail ends an operation from LateOp that is not posted, with a completion that says so.
func (rx *RxContext) Fail(op *RxOp, err error) { rx.abandon(op, err) }

// FreeOp returns an operation from NewOp that is not going to be posted.
func (rx *RxContext) FreeOp(op *RxOp) { rx.pool.putRx(op) }

// Posted counts the receives in both queues.
func (rx *RxContext) Posted() int { return rx.msgs.Posted() + rx.tags.Posted() }

// Unexpected counts the messages in both queues.
func (rx *RxContext) Unexpected() int { return rx.msgs.Unexpected() + rx.tags.Unexpected() }

// PostMsg posts a receive for untagged messages.
func (rx *RxContext) PostMsg(op *RxOp, src uint64) {
	op.node.Src, op.node.Tag, op.node.Ignore = src, 0, 0
	if rx.msgs.Unexpected() > 0 {
		if op = rx.take(&rx.msgs, op); op == nil {
			return
		}
	}
	rx.msgs.Post(&op.node)
}

// PostTagged posts a receive for tagged messages.
func (rx *RxContext) PostTagged(op *RxOp, src, tag, ignore uint64) {
	op.node.Src, op.node.Tag, op.node.Ignore = src, tag, ignore
	if rx.tags.Unexpected() > 0 {
		if op = rx.take(&rx.tags, op); op == nil {
			return
		}
	}
	rx.tags.Post(&op.node)
}

// take delivers unexpected messages of q to op until it is used up or none is left for it. It returns the rest of op.
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

// matchMsg and matchTag find the receive for a message whose header has come. Room for it is carved out of a
// multi-receive buffer.
func (rx *RxContext) matchMsg(src, n uint64) *RxOp {
	r := rx.msgs.PeekPosted(src, 0)
	if r == nil {
		return nil
	}
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

// carve takes room for n bytes out of the multi-receive op. It returns the receive for them, and op if there is room
// for more.
func (rx *RxContext) carve(op *RxOp, n uint64) (child, rest *RxOp) {
	if op.multi == nil {
		op.multi = rx.pool.getMulti()
	}
	mb := op.multi
	mb.users++
	room := uint64(len(op.buf))
	if n > room || room-n < uint64(max(rx.MinMulti, 1)) {
		mb.spent = true
		return op, nil
	}
	child = rx.pool.getRx()
	child.Ctx, child.Flags, child.Silent, child.Multi, child.multi, child.Owner = op.Ctx, op.Flags, op.Silent, true, mb, op.Owner
	child.SetBuf(op.buf[:n:n])
	op.buf = op.buf[n:]
	return child, op
}

// takeWhole receives untagged or equally tagged messages of n bytes each, which follow one another in b, as long as
// each is complete in b and meets a posted receive with one buffer that it fits. It takes at most count, and returns
// how many it took.
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

// deliver gives the unexpected message m, already out of its queue, to op. It returns the rest of a multi-receive op to
// post, else nil.
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
	if m.match && !m.pending { // else when all of it has come
		feed.tellMatched(m.matchID)
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
		feed.redirect(m, op)
	default:
		m.copyTo(op)
		rx.free(m)
		rx.finish(op)
	}
	if stalls && owner.stalled { // it goes on even if others fill the room
		feed.resume()
	}
	rx.resume()
}

// finish completes a receive whose message is all there.
func (rx *RxContext) finish(op *RxOp) {
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
