package engine

import "gofabric/internal/xnet/wire"

// Messages that only gofabric peers exchange (wire.OpExt): single copy, verdicts, matches, the end, parting, and
// those of the transport.
//
// startExt makes room for the payload of an OpExt. A verdict that is complete in b is taken at once, as verdicts
// are frequent. startExt returns how many bytes it took.
func (c *Conn) startExt(b []byte) int {
	if !c.Ours {
		c.Fail(ErrProtocol)
		return 0
	}
	n := c.pool.hdr.PayloadLen()
	// No copy of the payload, and no payload in progress.
	if n <= uint64(len(b)) && wire.ExtKind(b[0]).IsVerdict() {
		if c.takeVerdict(b[:n]) != nil {
			c.Fail(ErrProtocol)
		}
		return int(n)
	}
	l := c.expect(inExt, n)
	l.n = 1
	l.segs[0] = c.needExt().in[:n]
	return 0
}

// endExt takes an OpExt of n bytes, which is complete.
func (c *Conn) endExt(n int) {
	x := c.ext
	b, by := x.in[:n], c.cfg.CMA
	var answer []byte
	var err error
	switch kind := wire.ExtKind(b[0]); kind {
	case wire.ExtHello:
		// A nil CMA makes hello refuse.
		if c.state != Connected || !c.canSingleCopy() {
			by = nil
		}
		answer, err = x.cma.hello(b, by, c.Way, x.out[:0])
	case wire.ExtChallenge:
		answer, err = x.cma.challenged(b, by, x.out[:0])
	case wire.ExtProof:
		answer, err = x.cma.proof(b, x.out[:0])
	case wire.ExtReady:
		err = x.cma.ready()
	case wire.ExtRefuse:
		x.cma.refused()
	case wire.ExtRef, wire.ExtSealed:
		err = c.takeAnnounced(b)
	case wire.ExtDone:
		err = c.copied(b)
	case wire.ExtMatched:
		err = c.takeMatched(b)
	case wire.ExtEnd:
		c.takeEnd(wire.EndsAll(b))
	case wire.ExtBye, wire.ExtStay:
		c.takeBye(kind)
	case wire.ExtAccepted, wire.ExtRefused, wire.ExtReadRefused:
		err = c.takeVerdict(b)
	case wire.ExtOffer, wire.ExtMoved:
		// Only transports that can move have asked for these.
		if m := c.cfg.Mover; m != nil {
			err = m.Received(c, kind, b)
		}
	default: // of a later version; we did not ask for it
	}
	if err == nil {
		c.answerExt(answer)
	} else if c.state != Closed {
		c.Fail(ErrProtocol)
	}
}

// takeVerdict takes the peer's verdict on our writes, or on our oldest read.
func (c *Conn) takeVerdict(b []byte) error {
	v, err := wire.ParseVerdict(b)
	if err != nil || !c.Verdicts() {
		return ErrProtocol
	}
	// It takes the place of the answer to our oldest read or fetching operation.
	if v.Kind == wire.ExtReadRefused {
		op := c.reads.head
		// There is no such operation, or it has no such segment.
		if op == nil || int(v.Segment) >= op.NRMA {
			return ErrProtocol
		}
		c.reads.pop()
		c.refused(op, &v)
		return nil
	}
	if c.answers == nil {
		return ErrProtocol
	}
	// All writes with lower numbers are in place.
	if v.Kind == wire.ExtAccepted {
		return c.answers.verdicts.accepted(v.Number, c.finish)
	}
	op := c.answers.verdicts.refused(v.Number)
	if op == nil || int(v.Segment) >= op.NRMA {
		return ErrProtocol
	}
	c.answers.verdicts.popRefused()
	c.refused(op, &v)
	return nil
}

// refused ends op, which the peer has refused.
func (c *Conn) refused(op *TxOp, v *wire.Verdict) {
	get := op.Atomic != nil && op.Atomic.Op == wire.AtomicRead
	c.finishRead(op, &RefusedError{Why: v.Why, Kind: op.Kind, Get: get, Mem: op.RMA[v.Segment]})
}

// takeMatched takes the peer's report that it has matched a message.
func (c *Conn) takeMatched(b []byte) error {
	id, err := wire.ParseMatched(b)
	if err != nil {
		return ErrProtocol
	}
	op := c.ext.matches.matched(id)
	if op == nil {
		return ErrProtocol
	}
	// Otherwise the message completes when its last byte was released.
	if op.sent {
		c.finish(op)
	}
	return nil
}

// takeEnd takes the peer's ExtEnd. A repetition has no effect.
func (c *Conn) takeEnd(all bool) {
	// The driver learns it once.
	if g := &c.ext.goodbye; !g.receivedEnd {
		g.receivedEnd = true
		if e := c.cfg.Ender; e != nil {
			e.Ended(c)
		}
	}
	// The peer does not receive messages, either: nothing can be sent any more, but its last answers may still
	// come.
	if all && c.state == Connected {
		c.Break(ErrGoodbye)
	}
}

// takeBye takes the peer's ExtBye or ExtStay.
func (c *Conn) takeBye(kind wire.ExtKind) {
	switch l := c.cfg.Leaver; {
	case l == nil:
		if kind == wire.ExtBye {
			c.SayStay()
		}
	case kind == wire.ExtBye:
		l.Bye(c)
	// The peer keeps the connection, so our ExtBye is void.
	case c.Leaving():
		c.ext.sentBye = false
		l.Stay(c)
	}
}

// SayBye queues ExtBye. Nothing may be posted on c afterwards, until Leaver.Stay. The peer must be a gofabric peer
// (Ours).
func (c *Conn) SayBye() {
	c.sendLeaving(wire.ExtBye)
	c.needExt().sentBye = true
}

// SayStay queues ExtStay.
func (c *Conn) SayStay() { c.sendLeaving(wire.ExtStay) }

// sendLeaving queues ExtBye or ExtStay.
func (c *Conn) sendLeaving(kind wire.ExtKind) {
	if c.state == Connected && c.Ours {
		c.answerIndex(kind, 0)
	}
}

// Say queues a message for the transport at the other end, which must be a gofabric peer (Ours).
func (c *Conn) Say(body []byte) {
	if c.state == Connected && c.Ours {
		c.stageExt(body)
	}
}

// SayEnd queues ExtEnd. No message may be submitted afterwards. With all, we receive no more messages, either. A
// peer without FeatureEnd gets nothing.
func (c *Conn) SayEnd(all bool) {
	if !c.KnowsEnd() || c.needExt().goodbye.sentEnd && !all {
		return
	}
	c.ext.goodbye.sentEnd = true
	c.answerExt(wire.AppendEnd(c.ext.out[:0], all))
}
