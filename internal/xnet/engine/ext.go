package engine

import "gofabric/internal/xnet/wire"

// startExt makes room for the payload of an OpExt. A verdict that is all in b is taken at once; startExt returns how
// many bytes it took.
func (c *Conn) startExt(b []byte) int {
	if !c.Ours {
		c.Fail(ErrProtocol)
		return 0
	}
	n := c.pool.hdr.PayloadLen()
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

// endExt takes an OpExt of n bytes, all of which has come.
func (c *Conn) endExt(n int) {
	x := c.ext
	b, by := x.in[:n], c.cfg.CMA
	var answer []byte
	var err error
	switch kind := wire.ExtKind(b[0]); kind {
	case wire.ExtHello:
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
		if m := c.cfg.Mover; m != nil {
			err = m.Heard(c, kind, b)
		}
	default: // of a later version: nothing that we asked for
	}
	if err == nil {
		c.answerExt(answer)
	} else if c.state != Closed {
		c.Fail(ErrProtocol)
	}
}

// takeVerdict takes the peer's verdict on writes or a read of ours.
func (c *Conn) takeVerdict(b []byte) error {
	v, err := wire.ParseVerdict(b)
	if err != nil || !c.Verdicts() {
		return ErrProtocol
	}
	if v.Kind == wire.ExtReadRefused {
		op := c.reads.head
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
	if v.Kind == wire.ExtAccepted {
		return c.answers.verdicts.accepted(v.Number, c.finish)
	}
	op := c.answers.verdicts.refused(v.Number)
	if op == nil || int(v.Segment) >= op.NRMA {
		return ErrProtocol
	}
	c.answers.verdicts.took()
	c.refused(op, &v)
	return nil
}

// refused ends op, which the peer has refused.
func (c *Conn) refused(op *TxOp, v *wire.Verdict) {
	get := op.Atomic != nil && op.Atomic.Op == wire.AtomicRead
	c.finishRead(op, &RefusedError{Why: v.Why, Kind: op.Kind, Get: get, Mem: op.RMA[v.Segment]})
}

// takeMatched takes the peer's word that it has matched a message.
func (c *Conn) takeMatched(b []byte) error {
	id, err := wire.ParseMatched(b)
	if err != nil {
		return ErrProtocol
	}
	op := c.ext.matches.matched(id)
	if op == nil {
		return ErrProtocol
	}
	if op.sent {
		c.finish(op)
	}
	return nil
}

// takeEnd takes the peer's ExtEnd. Saying it again changes nothing.
func (c *Conn) takeEnd(all bool) {
	if g := &c.ext.goodbye; !g.heard {
		g.heard = true
		if e := c.cfg.Ender; e != nil {
			e.Ended(c)
		}
	}
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
	case c.Leaving():
		c.ext.saidBye = false
		l.Stay(c)
	}
}

// SayBye queues ExtBye; nothing must be posted on c after it, until Leaver.Stay. The peer must be of this module
// (Ours).
func (c *Conn) SayBye() {
	c.sayLeaving(wire.ExtBye)
	c.needExt().saidBye = true
}

// SayStay queues ExtStay.
func (c *Conn) SayStay() { c.sayLeaving(wire.ExtStay) }

func (c *Conn) sayLeaving(kind wire.ExtKind) {
	if c.state == Connected && c.Ours {
		c.answerIndex(kind, 0)
	}
}

// Say queues a message of the transport for the transport at the other end, which must be one of this module (Ours).
func (c *Conn) Say(body []byte) {
	if c.state == Connected && c.Ours {
		c.stageExt(body)
	}
}

// SayEnd queues ExtEnd: no message may be submitted afterwards. With all, we receive no more messages either. Peers
// that do not know it are told nothing.
func (c *Conn) SayEnd(all bool) {
	if !c.KnowsEnd() || c.needExt().goodbye.said && !all {
		return
	}
	c.ext.goodbye.said = true
	c.answerExt(wire.AppendEnd(c.ext.out[:0], all))
}
