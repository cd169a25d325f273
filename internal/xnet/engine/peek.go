package engine

// Peek looks for an unexpected message (FI_PEEK, fi_tagged(3)) and completes at once: with its size, tag and data,
// or with ErrNoMessage. With claim the message is set aside for Claim with the same ctx (FI_CLAIM). With discard it
// is dropped (FI_DISCARD).
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
	// The message leaves the queue, so that no receive takes it, and waits for its Claim.
	if claim {
		// One message per context: the application could not tell two apart.
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
	// The completion comes before the message is dropped, which may report a match to the sender.
	rx.sinkFor(m.sink).Completed(d)
	if discard && !claim {
		rx.discard(m)
	}
	return nil
}

// Claim receives the message that a Peek with the same ctx has set aside.
func (rx *RxContext) Claim(op *RxOp) error {
	m := rx.claimed[op.Ctx]
	if m == nil {
		return ErrNoMessage
	}
	delete(rx.claimed, op.Ctx)
	// A claimed message takes the whole buffer.
	op.Multi = false
	rx.deliver(op, m)
	return nil
}

// Discard drops the message that a Peek with the same ctx has set aside, and completes.
func (rx *RxContext) Discard(ctx, flags uint64) error {
	m := rx.claimed[ctx]
	if m == nil {
		return ErrNoMessage
	}
	delete(rx.claimed, ctx)
	d := &rx.done
	*d = Completion{
		Kind: KindRecv, Peek: true, Ctx: ctx, Flags: flags, Tag: m.node.Tag, Src: m.node.Src, HasData: m.hasData, Data: m.data,
	}
	rx.sinkFor(m.sink).Completed(d)
	rx.discard(m)
	return nil
}
