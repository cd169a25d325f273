package engine

// Fences (FI_FENCE, fi_msg(3)) and other reasons for an operation to wait for those before it. Operations that wait
// are in one list, in order, so that none overtakes another.
//
// fetchMax is how many bytes of results fetching atomic operations may have under way. The peer must keep the
// results until they are sent, so their number is bounded; further operations wait.
const fetchMax = 1 << 20

// mayLaunch reports whether op may be launched while others are under way. Behind a fence it may if all of them are
// complete. A small send or write that is complete at once does not count: the peer takes the stream in order, so
// its data is in place before the fenced operation is looked at. Everything else completes only when the transport
// or the peer has it, which ops counts.
func (c *Conn) mayLaunch(op *TxOp, others int) bool {
	// With Reads only operations that read count.
	if op.Fence && others > 0 && (!op.Reads || c.reading(op.Kind)) {
		return false
	}
	// It waits for an index.
	if c.oob().carries(&op.Send) && c.rdv.freeIndex() == 0 {
		return false
	}
	// One is always allowed, however large its result.
	if op.Kind == KindFetch || op.Kind == KindCompare {
		return c.fetching == 0 || uint64(c.fetching)+op.Atomic.resultLen() <= fetchMax
	}
	return true
}

// reading reports that an answer of the peer has not come completely. The peer sends it from the memory itself, so
// data that arrives there in the meantime would be seen. Fetching atomic operations need not wait for each other,
// because their results are copies.
func (c *Conn) reading(behind Kind) bool {
	now := c.in.now
	// Only reads count for a fetching operation.
	if behind >= KindFetch && c.oob() == nil {
		for op := range c.reads.all {
			if op.Kind == KindRead {
				return true
			}
		}
		return now != nil && now.kind == inRead && now.tx.Kind == KindRead
	}
	return c.reads.head != nil || now != nil && now.kind == inRead || c.oob().reading()
}

// Reading reports that an operation posted now could overtake one that reads. The caller adds a fence if it must
// not (FI_ORDER_WAR).
func (c *Conn) Reading() bool { return c.waiting.head != nil || c.reading(KindSend) }

// hold puts an operation behind those that wait.
func (c *Conn) hold(op *TxOp) {
	if (op.Inject || op.Copy) && op.copied == nil {
		op.keepCopy()
	}
	if c.pool.open.q == &c.out {
		c.pool.open.q = nil // messages that joined the open one would overtake op
	}
	c.waits++
	c.waiting.push(op)
}

// release launches the operations that need not wait any more. It is called for each completion, also within
// itself.
func (c *Conn) release() {
	if c.state != Connected || c.releasing {
		return
	}
	c.releasing = true
	some := false
	for op := c.waiting.head; op != nil && c.mayLaunch(op, int(c.ops-c.waits)); op = c.waiting.head {
		c.waiting.pop()
		c.waits--
		c.launch(op)
		some = true
	}
	c.releasing = false
	if some {
		c.sink.Replied(c)
	}
}

// endWaiting ends the operations that wait, when the connection has ended.
func (c *Conn) endWaiting(err error) {
	c.waits = 0
	for op := range c.waiting.popAll {
		c.finishErr(op, err)
	}
}
