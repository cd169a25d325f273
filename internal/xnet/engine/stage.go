package engine

import "gofabric/internal/xnet/wire"

// room returns a chunk with room for n bytes.
func (c *Conn) room(n int) *chunk {
	if c.out.fits(n) {
		return c.out.tail
	}
	return c.makeRoom(n)
}

func (c *Conn) makeRoom(n int) *chunk { return c.out.makeRoom(&c.pool.stagePool, n, c.cfg.Frugal) }

// staged notes that bytes were appended to t: see outQueue.staged.
func (c *Conn) staged(t *chunk, from int, op *TxOp, last bool) {
	c.out.staged(&c.pool.stagePool, t, from, op, last)
}

// stageBytes stages what f appends; at most a few hundred bytes.
func (c *Conn) stageBytes(f func([]byte) []byte) {
	t := c.room(512)
	from := len(t.b)
	t.b = f(t.b)
	c.staged(t, from, nil, false)
}

// stageMessage copies header and payload into a chunk.
func (c *Conn) stageMessage(h *wire.Header, s *Send, op *TxOp) {
	t, n := c.out.tail, wire.MaxHeader+s.Len()
	if !c.out.fits(n) {
		t = c.makeRoom(n)
	}
	from := len(t.b)
	t.b = c.appendHeader(t.b, h)
	for _, b := range s.IOV[:s.NIOV] {
		t.b = append(t.b, b...)
	}
	c.staged(t, from, op, true)
}

func (c *Conn) stageHeader(h *wire.Header, op *TxOp, last bool) {
	t := c.out.tail
	if !c.out.fits(wire.MaxHeader) {
		t = c.makeRoom(wire.MaxHeader)
	}
	from := len(t.b)
	t.b = c.appendHeader(t.b, h)
	c.staged(t, from, op, last)
}

// appendHeader numbers the header, as native's debug builds check.
func (c *Conn) appendHeader(b []byte, h *wire.Header) []byte {
	h.ID = c.txID
	c.txID++
	return h.Append(b, c.in.order)
}

// queuePayload queues h and op's payload: together in a chunk when small, else the payload from where it is.
func (c *Conn) queuePayload(h *wire.Header, op *TxOp, n int) {
	if n <= c.cfg.StageMax || op.Inject || op.Copy {
		c.stageMessage(h, &op.Send, op)
		return
	}
	c.stageHeader(h, op, false)
	c.out.lendAll(&c.pool.stagePool, op)
}

// stageExt queues an OpExt with this payload.
func (c *Conn) stageExt(payload []byte) {
	h := &c.pool.scratch
	*h = wire.Header{Op: wire.OpExt}
	h.SetPayload(uint64(len(payload)))
	t := c.room(wire.MaxHeader + len(payload))
	from := len(t.b)
	t.b = append(c.appendHeader(t.b, h), payload...)
	c.staged(t, from, nil, false)
}

// becomeStalled stops taking bytes.
func (c *Conn) becomeStalled(why stallReason) {
	if c.in.stall != flowing {
		return
	}
	if c.in.stall = why; why == stallUnwanted {
		c.rx.stall(&c.source, c)
	}
}

// answer queues a header that the peer waits for.
func (c *Conn) answer(h *wire.Header) {
	c.stageHeader(h, nil, false)
	c.answered()
}

// answerExt queues an OpExt that answers the peer; a nil payload is none.
func (c *Conn) answerExt(payload []byte) {
	if payload != nil {
		c.stageExt(payload)
		c.answered()
	}
}

// answerIndex is answerExt for one that names an announcement.
func (c *Conn) answerIndex(kind wire.ExtKind, index uint8) {
	c.answerExt(wire.AppendExtIndex(c.needExt().out[:0], kind, index))
}

// answered counts an answer that was queued.
func (c *Conn) answered() {
	if c.needAnswers().budget.add(c.BytesOut, c.end()) {
		c.becomeStalled(stallReplies)
	}
	c.sink.Replied(c)
}

// acknowledge tells the peer that a message of its is where it belongs. Acknowledgements are matched in order.
func (c *Conn) acknowledge() {
	h := &c.pool.scratch
	*h = wire.Header{Op: wire.OpMsg, OpData: wire.OpDataAck}
	h.SetPayload(0)
	c.answer(h)
}

// tellMatched tells the peer that its message has found a receive, or was discarded.
func (c *Conn) tellMatched(id uint32) {
	if !c.Ours || c.state != Connected {
		return
	}
	var b [wire.MatchedLen]byte
	c.answerExt(wire.AppendMatched(b[:0], id))
}

// accept notes that the peer's oldest write without a verdict, of n bytes, is in place.
func (c *Conn) accept(n uint64) {
	if c.needAnswers().verdicts.accept(n) {
		c.tellAccepted()
	}
}

// tellAccepted says to the peer that all of its writes up to now are in place.
func (c *Conn) tellAccepted() {
	v := &c.answers.verdicts
	if v.raise(c.BytesOut + uint64(c.out.ahead)) {
		return
	}
	pos := c.end()
	c.sayVerdict(wire.Verdict{Kind: wire.ExtAccepted, Number: v.peers})
	v.queued(c.out.tail, pos)
}

// settleVerdicts tells the peer of accepted writes, if that waits for nothing. Call it when the bytes at hand are
// taken.
func (c *Conn) settleVerdicts() {
	if !c.answers.verdicts.waits() || c.state != Connected {
		return
	}
	if c.in.stall != flowing || c.in.between() || c.in.now != nil && c.in.now.left > acceptLeft {
		c.tellAccepted()
	}
}

// refuse tells the peer that its oldest write without a verdict is refused.
func (c *Conn) refuse(why Refusal, segment uint8) {
	v := &c.needAnswers().verdicts
	if v.waits() {
		c.tellAccepted()
	}
	c.sayVerdict(wire.Verdict{Kind: wire.ExtRefused, Why: why, Segment: segment, Number: v.refuse()})
}

// sayVerdict queues a verdict.
func (c *Conn) sayVerdict(v wire.Verdict) {
	var b [wire.VerdictLen]byte
	c.stageExt(v.Append(b[:0]))
	if r := &c.needAnswers().refusals; v.Kind != wire.ExtAccepted && r.add() && c.in.stall == flowing {
		*r = 0
		c.becomeStalled(stallRefused)
	}
	c.answered()
}
