package engine

// transmitted completes an operation that has left completely, or has it wait for the peer.
func (c *Conn) transmitted(op *TxOp) {
	switch {
	// An answer of ours has left. The access was served for the peer, and is reported as such.
	case op.internal:
		c.replies--
		// The result of an atomic operation was reported when it was executed.
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
	// It completes when both have happened: all of it has left, and the peer has matched it.
	case op.Match:
		if op.sent = true; op.matched {
			c.finish(op)
		}
	// The peer will report the result.
	case c.Verdicts() && (op.Kind == KindWrite || op.Kind == KindAtomic):
		c.needAnswers().verdicts.asked.push(op)
	// The peer will acknowledge it.
	case op.Ack || op.Commit:
		c.acks.push(op)
	default:
		c.finish(op)
	}
}

// finish completes an operation of the application.
func (c *Conn) finish(op *TxOp) { c.finishErr(op, nil) }

// finishErr completes an operation with err. An answer to the peer only gives its memory back.
func (c *Conn) finishErr(op *TxOp, err error) {
	if op.internal {
		c.replies--
		c.pool.putTx(op)
		return
	}
	c.ops--
	d := &c.pool.done // written in place: see outQueue.segment
	*d = Completion{}
	d.Kind, d.Silent, d.Inject, d.Mark = op.Kind, op.Silent || op.Inject, op.Inject, op.Mark
	d.Ctx, d.Flags, d.Tag, d.Data, d.Src = op.Ctx, op.Flags, op.Tag, op.Data, c.Src
	d.Len, d.Err, d.Owner = op.moved(), err, op.Owner
	c.pool.putTx(op)
	c.completions.Completed(d)
	// The completion may end the wait of operations behind a fence.
	if c.waiting.head != nil {
		c.release()
	}
}

// finishRead is finishErr for an operation with a result, whose bytes are counted.
func (c *Conn) finishRead(op *TxOp, err error) {
	if op.Atomic != nil {
		c.fetching -= uint32(op.Atomic.resultLen())
	}
	c.finishErr(op, err)
}

// reason returns why a connection has ended, given the peer's last messages.
func (c *Conn) reason(err error) error {
	if c.ext == nil || final(err) {
		return err
	}
	return c.ext.goodbye.reason(err, c.state == Broken)
}
