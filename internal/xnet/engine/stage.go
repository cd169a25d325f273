package engine

import "gofabric/internal/xnet/wire"

// Staging: headers, small messages and answers are copied into chunks (chunks.go), in the order of the stream.
//
// room returns a chunk with room for n bytes.
func (c *Conn) room(n int) *chunk {
	if c.out.fits(n) {
		return c.out.tail
	}
	return c.makeRoom(n)
}

// makeRoom is room if the present chunk has none.
func (c *Conn) makeRoom(n int) *chunk { return c.out.makeRoom(&c.pool.stagePool, n, c.cfg.Frugal) }

// staged notes that bytes were appended to t: see outQueue.staged.
func (c *Conn) staged(t *chunk, from int, op *TxOp, last bool) {
	c.out.staged(&c.pool.stagePool, t, from, op, last)
}

// stageBytes stages what f appends, at most 512 bytes.
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

// stageHeader copies a header into a chunk. The payload of op, if any, follows.
func (c *Conn) stageHeader(h *wire.Header, op *TxOp) {
	t := c.out.tail
	if !c.out.fits(wire.MaxHeader) {
		t = c.makeRoom(wire.MaxHeader)
	}
	from := len(t.b)
	t.b = c.appendHeader(t.b, h)
	c.staged(t, from, op, false)
}

// appendHeader numbers the header, which native's debug builds check, and appends it.
func (c *Conn) appendHeader(b []byte, h *wire.Header) []byte {
	h.ID = c.txID
	c.txID++
	return h.Append(b, c.in.order)
}

// queuePayload queues h and op's payload: together in a chunk if it is small, otherwise the payload from the
// application's buffer.
func (c *Conn) queuePayload(h *wire.Header, op *TxOp, n int) {
	if n <= c.cfg.StageMax || op.Inject || op.Copy {
		c.stageMessage(h, &op.Send, op)
		return
	}
	c.stageHeader(h, op)
	c.out.lendAll(&c.pool.stagePool, op)
}

// stageExt stages an OpExt with this payload.
func (c *Conn) stageExt(payload []byte) {
	h := &c.pool.scratch
	*h = wire.Header{Op: wire.OpExt}
	h.SetPayload(uint64(len(payload)))
	t := c.room(wire.MaxHeader + len(payload))
	from := len(t.b)
	t.b = append(c.appendHeader(t.b, h), payload...)
	c.staged(t, from, nil, false)
}

// becomeStalled stops taking bytes. An earlier reason stays.
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
	c.stageHeader(h, nil)
	c.answered()
}

// answerExt queues an OpExt that answers the peer; nil: no answer.
func (c *Conn) answerExt(payload []byte) {
	if payload != nil {
		c.stageExt(payload)
		c.answered()
	}
}

// answerIndex is answerExt for a message that names an announcement.
func (c *Conn) answerIndex(kind wire.ExtKind, index uint8) {
	c.answerExt(wire.AppendExtIndex(c.needExt().out[:0], kind, index))
}

// answered counts a queued answer, and stalls the connection if the peer does not read its answers.
func (c *Conn) answered() {
	if c.needAnswers().budget.add(c.BytesOut, c.end()) {
		c.becomeStalled(stallReplies)
	}
	c.sink.Replied(c)
}

// acknowledge tells the peer that its message is where it belongs. Acknowledgements come in the order of the
// messages.
func (c *Conn) acknowledge() {
	h := &c.pool.scratch
	*h = wire.Header{Op: wire.OpMsg, OpData: wire.OpDataAck}
	h.SetPayload(0)
	c.answer(h)
}

// sendMatched reports to the peer that its message has met a receive, or was discarded.
func (c *Conn) sendMatched(id uint32) {
	if !c.Ours || c.state != Connected {
		return
	}
	var b [wire.MatchedLen]byte
	c.answerExt(wire.AppendMatched(b[:0], id))
}

// accept notes that the peer's oldest write without a verdict, of n bytes, is in place.
func (c *Conn) accept(n uint64) {
	if c.needAnswers().verdicts.accept(n) {
		c.sendAccepted()
	}
}

// sendAccepted reports that all of the peer's writes up to now are in place: in a verdict that has not left, if
// there is one, else in a new one.
func (c *Conn) sendAccepted() {
	v := &c.answers.verdicts
	if v.raise(c.BytesOut + uint64(c.out.ahead)) {
		return
	}
	pos := c.end()
	c.sendVerdict(wire.Verdict{Kind: wire.ExtAccepted, Number: v.peers})
	v.queued(c.out.tail, pos)
}

// flushAccepted reports accepted writes unless it pays to wait for more (verdicts.go). It runs when the received
// bytes are used up.
func (c *Conn) flushAccepted() {
	if !c.answers.verdicts.waits() || c.state != Connected {
		return
	}
	if c.in.stall != flowing || c.in.between() || c.in.now != nil && c.in.now.left > acceptLeft {
		c.sendAccepted()
	}
}

// refuse reports that the peer's oldest write without a verdict is refused. Acceptances before it go first, because
// verdicts are in order.
func (c *Conn) refuse(why Refusal, segment uint8) {
	v := &c.needAnswers().verdicts
	if v.waits() {
		c.sendAccepted()
	}
	c.sendVerdict(wire.Verdict{Kind: wire.ExtRefused, Why: why, Segment: segment, Number: v.refuse()})
}

// sendVerdict queues a verdict. Many refusals pause the connection (answers.go).
func (c *Conn) sendVerdict(v wire.Verdict) {
	var b [wire.VerdictLen]byte
	c.stageExt(v.Append(b[:0]))
	// Count refusals, and pause when there are many.
	if r := &c.needAnswers().refusals; v.Kind != wire.ExtAccepted && r.add() && c.in.stall == flowing {
		*r = 0
		c.becomeStalled(stallRefused)
	}
	c.answered()
}
