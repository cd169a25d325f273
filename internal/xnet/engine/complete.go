package engine

// transmitted completes an operation of which all has left, or lets it wait for the peer.
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
		if op.sent = true; op.matched {
			c.finish(op)
		}
	case c.Verdicts() && (op.Kind == KindWrite || op.Kind == KindAtomic):
		c.needAnswers().verdicts.asked.push(op)
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
	d := &c.pool.done // written in place: see outQueue.segment
	*d = Completion{}
	d.Kind, d.Silent, d.Inject, d.Mark = op.Kind, op.Silent || op.Inject, op.Inject, op.Mark
	d.Ctx, d.Flags, d.Tag, d.Data, d.Src = op.Ctx, op.Flags, op.Tag, op.Data, c.Src
	d.Len, d.Err, d.Owner = op.moved(), err, op.Owner
	c.pool.putTx(op)
	c.completions.Completed(d)
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
