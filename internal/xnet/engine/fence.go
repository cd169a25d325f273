package engine

// fetchMax is how many bytes of results fetching atomics may have under way, so that what a peer must keep of them is bounded:
// further ones wait.
const fetchMax = 1 << 20

// may says whether op may be launched while others are under way: behind a fence, when all of them are complete. A small send
// or write that completes at once needs no waiting for: the peer takes the stream in order, so that what it brought is in
// place before anything of the fenced operation is looked at. All else completes here only when the transport or the peer has
// it, which is counted in ops.
func (c *Conn) may(op *TxOp, others int) bool {
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

// reading reports that something was asked of the peer that has not come yet, or not all of it: the peer sends it from where
// it is, so that what arrives there meanwhile would be seen. Fetching atomics need not wait for each other, because their
// results are copies.
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
		c.pool.open.q = nil // what joined it would overtake op
	}
	c.waits++
	c.waiting.push(op)
}

// release launches what needs to wait no more.
func (c *Conn) release() {
	if c.state != Connected || c.releasing {
		return
	}
	c.releasing = true
	some := false
	for op := c.waiting.head; op != nil && c.may(op, int(c.ops-c.waits)); op = c.waiting.head {
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

// endWaiting ends what is held, because the connection has ended.
func (c *Conn) endWaiting(err error) {
	c.waits = 0
	for op := range c.waiting.popAll {
		c.finishErr(op, err)
	}
}

// transmitted decides what an operation waits for now that all of it has left.
func (c *Conn) transmitted(op *TxOp) {
	switch {
	case op.internal:
		c.replies--
		if op.Kind == KindFetch {
			c.results -= uint32(op.Data)
			c.pool.putTx(op)
			return
		}
		countRegions(op.regions, op.RMA[:op.NIOV], false)
		c.pool.done = Completion{Kind: KindRemoteRead, Silent: true, Len: uint64(op.Send.Len()), Src: c.Src}
		context := op.context
		c.pool.putTx(op)
		c.rx.sinkOfAccess(context, c.completions).Completed(&c.pool.done)
	case op.Match:
		if op.left = true; op.matched {
			c.finish(op)
		}
	case c.Verdicts() && (op.Kind == KindWrite || op.Kind == KindAtomic):
		c.talks().verdicts.asked.push(op)
	case op.Ack || op.Commit:
		c.acks.push(op)
	default:
		c.finish(op)
	}
}

// finish completes an operation of the application.
func (c *Conn) finish(op *TxOp) { c.finishErr(op, nil) }

func (c *Conn) finishErr(op *TxOp, err error) {
	if op.internal {
		c.replies--
		c.pool.putTx(op)
		return
	}
	c.ops--
	c.pool.done = Completion{
		Kind: op.Kind, Silent: op.Silent || op.Inject, Inject: op.Inject, Ctx: op.Ctx, Flags: op.Flags, Len: op.moved(),
		Tag: op.Tag, Data: op.Data, Src: c.Src, Err: err, Mark: op.Mark, Owner: op.Owner,
	}
	c.pool.putTx(op)
	c.completions.Completed(&c.pool.done)
	if c.waiting.head != nil {
		c.release()
	}
}

// finishRead is finishErr for an operation that was to bring something back, which is counted.
func (c *Conn) finishRead(op *TxOp, err error) {
	if op.Atomic != nil {
		c.fetching -= uint32(op.Atomic.resultLen())
	}
	c.finishErr(op, err)
}

// reason is why a connection has ended, given what the peer has said before.
func (c *Conn) reason(err error) error {
	if c.ext == nil || final(err) {
		return err
	}
	return c.ext.goodbye.reason(err, c.state == Broken)
}
