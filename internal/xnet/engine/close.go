package engine

// The end of a connection: every operation completes, once, and all memory goes back.
//
// Fail ends the connection. Every operation on it completes with err, or with a reason that the peer has given
// before.
func (c *Conn) Fail(err error) { c.fail(err, nil) }

// fail is Fail with private data of a rejection.
func (c *Conn) fail(err error, data []byte) {
	if c.state == Closed {
		c.drain(err) // the rest of a rejection
		return
	}
	up := c.state == Connected || c.state == Broken
	err = c.reason(err)
	c.becomeClosed(err)
	// Operations that wait for a connection may move to another one (Adopt, in Sink.Failed). Those behind a fence
	// may not, because operations before them were sent here.
	if up {
		c.endWaiting(err)
	}
	c.sink.Failed(c, err, data)
	c.endWaiting(err)
	c.notifyLost(err)
}

// Drop ends a connection that another one replaces. Its operations complete with err; Sink.Failed is not called.
func (c *Conn) Drop(err error) {
	if c.state == Closed {
		c.drain(err)
		return
	}
	c.becomeClosed(err)
	c.endWaiting(err)
	c.notifyLost(err)
}

// becomeRejected ends a connection that has only a rejection to transmit.
func (c *Conn) becomeRejected() {
	c.state, c.in.stall = Closed, flowing
	c.deadline = 0
	c.in.dropKept(&c.pool.inboundPool)
	c.endWaiting(ErrClosed)
}

// becomeClosed completes the operations, wherever they are, and gives back everything that the connection holds.
func (c *Conn) becomeClosed(err error) {
	c.state = Closed
	c.deadline = 0
	c.in.stall = flowing
	c.in.dropKept(&c.pool.inboundPool)
	c.fetching, c.results = 0, 0
	sent := func(op *TxOp) { c.finishErr(op, err) }
	received := func(op *RxOp) { c.rx.finishErr(op, err) }
	// Completions must not find the connection half closed, so its state is set before the first operation ends.
	c.endPayloadEarly(err)
	c.rdv.endReceives(received)
	if c.ext != nil {
		c.ext.cma.close()
	}
	// A passive connection may not have been attached.
	if c.rx != nil {
		c.rx.drop(&c.source, err)
	}
	for op := range c.reads.popAll {
		sent(op)
	}
	c.oob().end(sent, received)
	for op := range c.acks.popAll {
		sent(op)
	}
	if c.answers != nil {
		for op := range c.answers.verdicts.asked.popAll {
			sent(op)
		}
	}
	// Operations that have not left are in the queue as well, and drain ends them.
	if c.ext != nil {
		for op := range c.ext.matches.waiting.popAll {
			if op.sent {
				sent(op)
			}
		}
	}
	c.rdv.endSends(&c.pool.tablePool, sent)
	c.drain(err)
}

// endPayloadEarly ends the operation of the payload in progress.
func (c *Conn) endPayloadEarly(err error) {
	l := c.in.now
	if l == nil {
		return
	}
	c.in.now = nil
	switch l.kind {
	case inAtomic:
		c.freeOperands(l.atom)
	case inRecv:
		c.rx.finishErr(l.op, err)
	case inRead:
		c.finishErr(l.tx, err)
	}
	*l = payload{}
	c.pool.putPayload(l)
}

// freeOperands gives the operands of an atomic operation back.
func (c *Conn) freeOperands(a *operands) {
	c.pool.putChunk(a.ch)
	c.pool.putOperands(a)
}

// drain ends the queued operations.
func (c *Conn) drain(err error) {
	c.out.drain(&c.pool.stagePool, func(op *TxOp) { c.finishErr(op, err) })
}

// Collector knows the collective groups of an endpoint. Its methods must not call the engine.
type Collector interface {
	groups
	// Moved says that messages expected on from will come on to: two connects crossed, or another one was tried.
	Moved(from, to *Conn)
	// Lost says that messages expected on c (SetExpected) will not come.
	Lost(c *Conn, err error)
}

// SetCollector gives the context a Collector.
func (rx *RxContext) SetCollector(u Collector) { rx.coll = &collectives{groups: u} }

// collector returns the Collector of the context's endpoint, or nil.
func (rx *RxContext) collector() Collector {
	for r := range rx.all {
		if r.coll != nil {
			return r.coll.groups.(Collector) // SetCollector made it one
		}
	}
	return nil
}

// notifyLost tells the Collector that nothing more comes.
func (c *Conn) notifyLost(err error) {
	if c.expected == 0 || c.rx == nil {
		return
	}
	c.expected = 0
	if u := c.rx.collector(); u != nil {
		u.Lost(c, err)
	}
}
