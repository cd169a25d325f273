package engine

import "gofabric/internal/xnet/wire"

// The peer's messages: into a posted receive, or into memory for unexpected messages, or nowhere.

// startRecv directs a payload of n bytes into a posted receive. If all of it is in b and fits, it is received at
// once, and startRecv returns n; otherwise 0.
func (c *Conn) startRecv(op *RxOp, n, tag uint64, b []byte) int {
	h := &c.pool.hdr
	op.tag, op.src, op.msgLen, op.sink = tag, c.Src, n, c.rx.sinkFor(c.completions)
	// The receive is used again and again, so every field is set.
	op.hasData = h.Flags&wire.FlagCQData != 0
	op.data = 0
	if op.hasData {
		op.data = h.CQData
	}
	op.ack = h.Flags&(wire.FlagDelivery|wire.FlagCommit) != 0
	matched, id := h.Flags&wire.FlagMatch != 0, uint32(0)
	if matched {
		id = c.nextMatch()
	}
	// The short path: one copy, and the receive is complete.
	if n <= uint64(len(b)) && op.niov == 1 && n <= uint64(len(op.buf)) {
		copy(op.buf, b[:n])
		if op.ack {
			c.acknowledge()
		}
		if matched {
			c.sendMatched(id)
		}
		c.rx.finish(op)
		return int(n)
	}
	c.receiveInto(op, n, matched, id)
	return 0
}

// nextMatch returns the number of the peer's message that has FlagMatch.
func (c *Conn) nextMatch() uint32 {
	if !c.Ours {
		return 0 // other peers may set the flag without meaning
	}
	return c.needExt().matches.number()
}

// receiveInto makes op the target of a payload of n bytes. If matched, the peer gets ExtMatched with id when it is
// complete.
func (c *Conn) receiveInto(op *RxOp, n uint64, matched bool, id uint32) {
	l := c.expect(inRecv, n)
	l.match, l.matchID = matched, id
	l.op, l.n, l.hasAck = op, int(op.niov), op.ack
	for i := range int(op.niov) {
		l.segs[i] = op.buffer(i)
	}
	if n == 0 {
		c.endPayload()
	}
}

// startMessage keeps a message without a receive.
func (c *Conn) startMessage(q *queue, n, tag uint64) {
	// The owner of the context has closed.
	if c.rx.closed {
		c.dropMessage(n)
		return
	}
	m := c.newMessage(q, n, tag)
	if c.pool.hdr.Flags&wire.FlagMatch != 0 {
		m.match, m.matchID = true, c.nextMatch()
	}
	c.keep(m, n)
}

// newMessage makes an unexpected message of n bytes in q.
func (c *Conn) newMessage(q *queue, n, tag uint64) *message {
	return c.rx.keep(q, &c.source, c, &c.pool.hdr, n, tag)
}

// keep makes m the target of a payload of n bytes. The connection stalls if the budget is used up.
func (c *Conn) keep(m *message, n uint64) {
	l := c.expect(inMessage, n)
	l.msg, l.hasAck = m, m.ack
	// The header was taken, so the message is kept, but its payload must wait.
	if c.rx.full(&c.source) {
		c.stallOn(m)
	}
	if n == 0 {
		c.endPayload()
	}
}

// dropMessage discards a payload of n bytes. The sender still gets its acknowledgement.
func (c *Conn) dropMessage(n uint64) {
	l := c.expect(inDiscard, n)
	l.hasAck = c.pool.hdr.Flags&(wire.FlagDelivery|wire.FlagCommit) != 0
	if c.pool.hdr.Flags&wire.FlagMatch != 0 {
		c.sendMatched(c.nextMatch())
	}
	if n == 0 {
		c.endPayload()
	}
}

// redirect copies the part of an unexpected message that has come to op, and directs the rest there.
func (c *Conn) redirect(m *message, op *RxOp) {
	m.copyTo(op)
	l := c.in.now
	l.match, l.matchID = m.match, m.matchID
	stored := m.stored
	c.rx.free(m)
	if l.redirect(op, stored); l.left == 0 {
		c.endPayload()
	}
}

// forget discards the rest of m.
func (c *Conn) forget(m *message) {
	// The payload is still coming: there is nowhere to put it.
	if l := c.in.now; l != nil && l.msg == m {
		l.msg = nil
		l.kind = inDiscard
	}
}

// startPrefixed takes a message of a libfabric 1.17 rxm peer, which has its tag in the header of the transfer
// (wire.FlagTagged) instead of packet headers. It is received as if the packet headers of Prefix had come before
// its payload.
func (c *Conn) startPrefixed() {
	const prefixMax = 64
	h := &c.pool.hdr
	var space [prefixMax]byte
	prefix := c.cfg.Prefix(space[:0], h)
	n := uint64(len(prefix)) + h.PayloadLen()
	// The packet headers in the prefix have tag and data, so the transfer's header must not.
	h.Flags &= wire.FlagDelivery | wire.FlagCommit
	h.SetPayload(n)
	c.MsgsIn++
	if op := c.rx.matchMsg(c.Src, n); op != nil {
		c.startRecv(op, n, 0, nil)
		// The prefix is the beginning of the payload.
		c.absorb(prefix)
		return
	}
	if c.rx.closed {
		c.dropMessage(n - uint64(len(prefix)))
		return
	}
	c.startMessage(&c.rx.msgs, n, 0)
	l := c.in.now
	// The prefix is stored even if the budget is used up: it does not come again.
	c.rx.storeWhole(l.msg, append(c.pool.buffer(int(min(n, unexpAtOnce))), prefix...))
	if l.left -= uint64(len(prefix)); l.left == 0 && c.in.stall == flowing {
		c.endPayload()
	}
}

// takeCoalesced takes the messages of a coalesced message as far as they are in b, and returns how many bytes that
// was. The rest becomes a smaller coalesced message, whose header is kept as if it had just come.
func (c *Conn) takeCoalesced(b []byte) int {
	h := &c.pool.hdr
	if !c.Ours {
		c.Fail(ErrProtocol)
		return 0
	}
	// The number of messages is in two fields that a message does not use.
	count := int(h.OpData) | int(h.IovCnt)<<8
	n, tag, tagged := h.PayloadLen()/uint64(count), h.Tag, h.Op == wire.OpTagCoalesced
	if !tagged {
		tag = 0
	}
	h.Flags = 0 // startRecv and newMessage read the flags
	// Most of them meet a posted receive and are complete in b.
	whole := c.rx.takeWhole(b, count, n, tag, tagged, &c.source)
	c.MsgsIn += uint64(whole)
	count -= whole
	took := whole * int(n)
	// The others one by one, while the stream goes on and no payload is incomplete.
	for count > 0 && took < len(b) && (c.state == Connected || c.state == Broken) && c.in.stall == flowing &&
		(c.in.now == nil || c.in.now.left == 0) {
		count--
		c.MsgsIn++
		if op, q := c.rx.match(c.Src, tagged, tag, n); op != nil {
			took += c.startRecv(op, n, tag, b[took:])
		} else {
			c.startMessage(q, n, tag)
		}
	}
	// What is left waits as a header with fewer messages.
	if count > 0 && c.state == Connected {
		rest := wire.Header{Op: wire.OpCoalesced, OpData: uint8(count), IovCnt: uint8(count >> 8), Tag: tag}
		if tagged {
			rest.Op = wire.OpTagCoalesced
		}
		rest.SetPayload(uint64(count) * n)
		c.in.keepHeader(&c.pool.inboundPool, &rest)
	}
	return took
}

// startColl takes a step of a collective operation and returns how many bytes of b it took.
func (c *Conn) startColl(b []byte) int {
	h := &c.pool.hdr
	if !c.Ours {
		c.Fail(ErrProtocol)
		return 0
	}
	c.MsgsIn++
	n := h.PayloadLen()
	// No payload: the sender has given up the group.
	if h.CQData&wire.CollAbort != 0 {
		c.rx.abortColl(&c.source, h.Tag, h.CQData)
		return 0
	}
	op, ok := c.rx.matchColl(c.Src, h.Tag, h.CQData)
	switch {
	// The peer sends as a member that it is not.
	case !ok:
		c.Fail(ErrProtocol)
	case op != nil:
		return c.startRecv(op, n, h.Tag, b)
	case c.rx.wantsColl(h.Tag, h.CQData):
		c.keep(c.rx.keepColl(&c.source, c, h, n, h.Tag, h.CQData), n)
	default:
		c.RefuseColl(h.Tag)
		if c.expect(inDiscard, n); n == 0 {
			c.endPayload()
		}
	}
	return 0
}
