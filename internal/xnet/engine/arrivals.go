package engine

import "gofabric/internal/xnet/wire"

// Messages of the peer.

// startRecv directs a payload of n bytes into a posted receive. A message that is all in b, and has room, is received
// at once; startRecv returns its length then, else 0.
func (c *Conn) startRecv(op *RxOp, n, tag uint64, b []byte) int {
	h := &c.pool.hdr
	op.tag, op.src, op.msgLen, op.sink = tag, c.Src, n, c.rx.sinkFor(c.completions)
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
	if n <= uint64(len(b)) && op.niov == 1 && n <= uint64(len(op.buf)) {
		copy(op.buf, b[:n])
		if op.ack {
			c.acknowledge()
		}
		if matched {
			c.tellMatched(id)
		}
		c.rx.finish(op)
		return int(n)
	}
	c.receiveInto(op, n, matched, id)
	return 0
}

// nextMatch is the number of the peer's message that wants to hear of its match.
func (c *Conn) nextMatch() uint32 {
	if !c.Ours {
		return 0 // the flag means nothing to others
	}
	return c.needExt().matches.number()
}

// receiveInto makes op the target of a payload of n bytes. When it is here, the peer is told that its message with
// number id is matched, if it wants to know.
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

// startMessage keeps a message for which there is no receive.
func (c *Conn) startMessage(q *queue, n, tag uint64) {
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

func (c *Conn) newMessage(q *queue, n, tag uint64) *message {
	return c.rx.keep(q, &c.source, c, &c.pool.hdr, n, tag)
}

// keep makes m the target of a payload of n bytes.
func (c *Conn) keep(m *message, n uint64) {
	l := c.expect(inMessage, n)
	l.msg, l.hasAck = m, m.ack
	if c.rx.full(&c.source) {
		c.stallOn(m)
	}
	if n == 0 {
		c.endPayload()
	}
}

// dropMessage lets a payload of n bytes go nowhere.
func (c *Conn) dropMessage(n uint64) {
	l := c.expect(inDiscard, n)
	l.hasAck = c.pool.hdr.Flags&(wire.FlagDelivery|wire.FlagCommit) != 0
	if c.pool.hdr.Flags&wire.FlagMatch != 0 {
		c.tellMatched(c.nextMatch())
	}
	if n == 0 {
		c.endPayload()
	}
}

// redirect copies the part of an unexpected message that has come to op, and lets the rest go there.
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

// forget drops the rest of m.
func (c *Conn) forget(m *message) {
	if l := c.in.now; l != nil && l.msg == m {
		l.msg = nil
		l.kind = inDiscard
	}
}

// startPrefixed takes a message of an old rxm peer that has its tag in the header of the transfer (wire.FlagTagged)
// instead of in front of its payload: it is received as if Prefix had been there.
func (c *Conn) startPrefixed() {
	const prefixMax = 64
	h := &c.pool.hdr
	var space [prefixMax]byte
	prefix := c.cfg.Prefix(space[:0], h)
	n := uint64(len(prefix)) + h.PayloadLen()
	h.Flags &= wire.FlagDelivery | wire.FlagCommit
	h.SetPayload(n)
	c.MsgsIn++
	if op := c.rx.matchMsg(c.Src, n); op != nil {
		c.startRecv(op, n, 0, nil)
		c.absorb(prefix)
		return
	}
	if c.rx.closed {
		c.dropMessage(n - uint64(len(prefix)))
		return
	}
	c.startMessage(&c.rx.msgs, n, 0)
	l := c.in.now // the prefix is kept though there may be no room: it is not sent again
	c.rx.storeWhole(l.msg, append(c.pool.buffer(int(min(n, unexpAtOnce))), prefix...))
	if l.left -= uint64(len(prefix)); l.left == 0 && c.in.stall == flowing {
		c.endPayload()
	}
}

// takeCoalesced takes the messages of a coalesced message whose header has come, as far as they are in b, and returns
// how much of b that was. The rest of it waits as a header that has just come.
func (c *Conn) takeCoalesced(b []byte) int {
	h := &c.pool.hdr
	if !c.Ours {
		c.Fail(ErrProtocol)
		return 0
	}
	count := int(h.OpData) | int(h.IovCnt)<<8
	n, tag, tagged := h.PayloadLen()/uint64(count), h.Tag, h.Op == wire.OpTagCoalesced
	if !tagged {
		tag = 0
	}
	h.Flags = 0 // startRecv and newMessage look there
	whole := c.rx.takeWhole(b, count, n, tag, tagged, &c.source)
	c.MsgsIn += uint64(whole)
	count -= whole
	took := whole * int(n)
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

// startColl takes a step of a collective operation, whose header has come, and returns how much of b it took.
func (c *Conn) startColl(b []byte) int {
	h := &c.pool.hdr
	if !c.Ours {
		c.Fail(ErrProtocol)
		return 0
	}
	c.MsgsIn++
	n := h.PayloadLen()
	if h.CQData&wire.CollAbort != 0 {
		c.rx.abortColl(&c.source, h.Tag, h.CQData)
		return 0
	}
	op, ok := c.rx.matchColl(c.Src, h.Tag, h.CQData)
	switch {
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
