package engine

// fetchMax is how many bytes of results fetching atomics may have under way, so that a bounded number must be kept by
// the peer: further ones wait.
const fetchMax = 1 << 20

// mayLaunch says whether op may be launched while others are under way: behind a fence, when all of them are complete. A
// small send or write that completes at once needs no waiting for: the peer takes the stream in order, so that its data
// is in place before anything of the fenced operation is looked at. All else completes here only when the transport or
// the peer has it, which is counted in ops.
func (c *Conn) mayLaunch(op *TxOp, others int) bool {
	if op.Fence && others > 0 && (!op.Reads || c.reading(op.Kind)) {
		return false
	}
	if c.oob().carries(&op.Send) && c.rdv.freeIndex() == 0 {
		return false
	}
	if op.Kind == KindFetch || op.Kind == KindCompare {
		return c.fetching == 0 || uint64(c.fetching)+op.Atomic.resultLen() <= fetchMax
	}
	return true
}

// reading reports that something was asked of the peer that has not come yet, or not all of it: the peer sends it from
// where it is, so that data that arrives there meanwhile would be seen. Fetching atomics need not wait for each other,
// because their results are copies.
func (c *Conn) reading(behind Kind) bool {
	now := c.in.now
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

// Reading reports that an operation posted now could overtake one that reads, and needs a fence if it must not.
func (c *Conn) Reading() bool { return c.waiting.head != nil || c.reading(KindSend) }

// hold keeps an operation for later, behind others.
func (c *Conn) hold(op *TxOp) {
	if (op.Inject || op.Copy) && op.copied == nil {
		op.keepCopy()
	}
	if c.pool.open.q == &c.out {
		c.pool.open.q = nil // messages that joined it would overtake op
	}
	c.waits++
	c.waiting.push(op)
}

// release launches operations that need to wait no more.
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

// endWaiting ends operations that are held, because the connection has ended.
func (c *Conn) endWaiting(err error) {
	c.waits = 0
	for op := range c.waiting.popAll {
		c.finishErr(op, err)
	}
}
