package engine

// Peek looks for an unexpected message and completes at once: with its size, tag and data, or with ErrNoMessage. With claim, the message is set aside for the
// receive that Claim brings with the same ctx; with discard it is dropped (fi_tagged(3), FI_PEEK).
func (rx *RxContext) Peek(tagged bool, src, tag, ignore, ctx, flags uint64, claim, discard bool) error {
	q := &rx.msgs
	if tagged {
		q = &rx.tags
	}
	d := &rx.done
	*d = Completion{Kind: KindRecv, Peek: true, Ctx: ctx, Flags: flags, Tag: tag, Src: src}
	node := q.Peek(src, tag, ignore)
	if node == nil {
		d.Err = ErrNoMessage
		rx.Sink.Completed(d)
		return nil
	}
	m := node.Value
	d.Len, d.Tag, d.Src, d.HasData, d.Data = m.msgLen, node.Tag, node.Src, m.hasData, m.data
	if claim {
		if _, dup := rx.claimed[ctx]; dup {
			return ErrState
		}
		q.RemoveMsg(node)
		if rx.claimed == nil {
			rx.claimed = make(map[uint64]*message)
		}
		rx.claimed[ctx] = m
	} else if discard {
		q.RemoveMsg(node)
	}
	rx.sinkFor(m.sink).Completed(d)
	if discard && !claim {
		rx.discard(m)
	}
	return nil
}

// Claim receives the message that a Peek with the same ctx set aside.
func (rx *RxContext) Claim(op *RxOp) error {
	m := rx.claimed[op.Ctx]
	if m == nil {
		return ErrNoMessage
	}
	delete(rx.claimed, op.Ctx)
	op.Multi = false
	rx.deliver(op, m)
	return nil
}

// Discard drops the message that a Peek with the same ctx set aside, and completes.
func (rx *RxContext) Discard(ctx, flags uint64) error {
	m := rx.claimed[ctx]
	if m == nil {
		return ErrNoMessage
	}
	delete(rx.claimed, ctx)
	d := &rx.done
	*d = Completion{Kind: KindRecv, Peek: true, Ctx: ctx, Flags: flags, Tag: m.node.Tag, Src: m.node.Src, HasData: m.hasData, Data: m.data}
	rx.sinkFor(m.sink).Completed(d)
	rx.discard(m)
	return nil
}

// discard drops a message, wherever its payload is.
func (rx *RxContext) discard(m *message) {
	op := rx.pool.getRx()
	op.Silent = true
	op.discarded = true
	rx.deliver(op, m)
}

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

// Release frees what the context holds, for its owner is closing: receives without completion, messages with them.
func (rx *RxContext) Release() {
	for _, q := range []*queue{&rx.msgs, &rx.tags} {
		for r := range q.EachPosted() {
			q.Remove(r)
			rx.pool.putRx(r.Value)
		}
		for m := range q.EachMsg() {
			q.RemoveMsg(m)
			rx.forget(m.Value)
		}
	}
	for ctx, m := range rx.claimed {
		delete(rx.claimed, ctx)
		rx.forget(m)
	}
	rx.releaseColl()
}

// DropWhere drops the unexpected messages that came over connections with certain sinks, which are closed.
func (rx *RxContext) DropWhere(which func(Sink) bool) {
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

// forget drops a message whose connection is gone or going.
func (rx *RxContext) forget(m *message) {
	if c := m.conn; c != nil && c.in != nil && c.in.msg == m {
		c.in.msg = nil
		c.in.kind = inDiscard
	}
	rx.free(m)
}

// SetSource gives c and all of its messages that are still unexpected their source, which the address vector has only now learned. Receives that
// wait for this source take theirs.
func (rx *RxContext) SetSource(c *Conn, src uint64) {
	c.Src = src
	for r := range rx.all {
		r.setSource(c, src)
	}
}

func (rx *RxContext) setSource(c *Conn, src uint64) {
	for _, q := range []*queue{&rx.msgs, &rx.tags} {
		for n := range q.EachMsg() {
			if n.Value.owner == c {
				q.SetSource(n, src)
			}
		}
		for rx.matchKnown(q, c) {
		}
	}
}

// matchKnown delivers the oldest unexpected message of c that a posted receive accepts, and reports whether there was one.
func (rx *RxContext) matchKnown(q *queue, c *Conn) bool {
	for n := range q.EachMsg() {
		if n.Value.owner != c {
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
			q.Remove(r) // else what is left of the buffer keeps its place
		}
		rx.hand(op, n.Value)
		return true
	}
	return false
}

// drop removes what c's end leaves without hope: messages still coming, and rendezvous nobody can answer. Complete messages stay, and so do claimed
// ones, for their claim has to complete.
func (rx *RxContext) drop(c *Conn, err error) {
	for r := range rx.all {
		r.dropOwn(c, err)
	}
	rx.resume()
}

func (rx *RxContext) dropOwn(c *Conn, err error) {
	for _, q := range []*queue{&rx.msgs, &rx.tags} {
		for n := range q.EachMsg() {
			if m := n.Value; m.conn == c {
				q.RemoveMsg(n)
				rx.forget(m)
			}
		}
	}
	for _, m := range rx.claimed {
		if m.conn != c {
			continue
		}
		m.conn, m.rts, m.broken = nil, false, err // the claim will tell
	}
	rx.dropColl(c)
	for i, s := range rx.stalled {
		if s == c {
			rx.stalled = append(rx.stalled[:i], rx.stalled[i+1:]...)
			break
		}
	}
}
