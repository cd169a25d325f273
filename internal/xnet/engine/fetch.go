package engine

import "gofabric/internal/xnet/wire"

// Messages whose payload is fetched when they have met their receive: by rendezvous, by single copy, or by a
// transport that carries them out of band.

// startRendezvous takes the announcement of a message whose payload the peer holds back (wire.OpTagRTS).
func (c *Conn) startRendezvous() {
	h := &c.pool.hdr
	index := h.OpData
	if c.state == Broken {
		return // nothing can be sent: it cannot be asked for
	}
	// The peer has used an index twice.
	if !c.rdv.take(&c.pool.tablePool, index) {
		c.Fail(ErrProtocol)
		return
	}
	// The receive is posted already: ask for the payload at once.
	if op := c.rx.matchTag(c.Src, h.Tag, h.MsgSize); op != nil {
		data, has := h.CQData, h.Flags&wire.FlagCQData != 0
		c.bind(op, h.Tag, h.MsgSize, data, has)
		op.ack = h.Flags&(wire.FlagDelivery|wire.FlagCommit) != 0
		c.clearToSend(op, index)
		return
	}
	m := c.newMessage(&c.rx.tags, h.MsgSize, h.Tag)
	m.held, m.at.index = true, index // no stall: there are few indices, and payload of others may follow
	// The sender waits for an OpCTS, so the message is asked for and discarded.
	if c.rx.closed {
		c.rx.dropQueued(&c.rx.tags, m)
	}
}

// bind stores in op the announced message that it was matched with.
func (c *Conn) bind(op *RxOp, tag, n, data uint64, hasData bool) {
	op.tag, op.src, op.msgLen, op.sink = tag, c.Src, n, c.rx.sinkFor(c.completions)
	op.hasData, op.data, op.ack = hasData, 0, false
	if hasData {
		op.data = data
	}
}

// clearToSend asks for the payload of announcement i, for op (wire.OpCTS).
func (c *Conn) clearToSend(op *RxOp, i uint8) {
	if c.state == Broken {
		c.rx.finishErr(op, c.reason(ErrPeerClose))
		return
	}
	// A receive was posted, but the connection is closing.
	if c.state != Connected {
		c.rx.finishErr(op, ErrProtocol)
		c.Fail(ErrProtocol)
		return
	}
	c.rdv.ask(&c.pool.tablePool, i, op)
	h := &c.pool.scratch
	*h = wire.Header{Op: wire.OpCTS, OpData: i}
	h.SetPayload(0)
	c.answer(h)
}

// clearedToSend sends the payload of our announcement i, which the peer asked for.
func (c *Conn) clearedToSend(i uint8) {
	op := c.rdv.withdraw(&c.pool.tablePool, i)
	if op == nil {
		c.Fail(ErrProtocol)
		return
	}
	h := &c.pool.scratch
	*h = wire.Header{Op: wire.OpData, OpData: i}
	setFlags(h, &op.Send)
	h.SetPayload(uint64(op.Send.Len()))
	c.queuePayload(h, op, op.Send.Len())
}

// fetchHeld gets the payload of a message that is still with the peer.
func (c *Conn) fetchHeld(op *RxOp, at *heldBack) {
	if len(at.ranges) > 0 {
		c.fetchInto(op, at)
	} else {
		c.clearToSend(op, at.index)
	}
}

// fetchInto is fetchHeld for a message that can be copied, or that a transport carries. If it cannot be copied
// after all, or its seal is broken, the peer is asked for it as in a rendezvous. op is unchanged then. A peer that
// has withdrawn the message has ended the connection, or sends a copy.
func (c *Conn) fetchInto(op *RxOp, at *heldBack) {
	if c.state != Connected {
		c.clearToSend(op, at.index) // ends op with the reason
		return
	}
	// The transport fetches it.
	if y := c.oob(); y != nil {
		y.fetch(op, at.ranges[0].Addr, at.ranges[1:])
		c.sink.Replied(c)
		return
	}
	into := op.first(op.msgLen, &c.ext.cma.local)
	// Nothing to copy if the message or the receive is empty.
	if len(into) > 0 && !c.copyHeld(at, into) {
		c.clearToSend(op, at.index)
		return
	}
	c.rdv.release(&c.pool.tablePool, at.index)
	// The bytes did not come through the stream, but count as received.
	c.BytesIn += op.msgLen
	c.answerIndex(wire.ExtDone, at.index)
	c.rx.finish(op)
}

// copyHeld copies a message of the peer's and reports whether its seal was whole. A peer whose memory cannot be
// read gets a refusal, and announces no more messages.
func (c *Conn) copyHeld(at *heldBack, into [][]byte) bool {
	got := c.ext.cma.copy(c.cfg.CMA, at, into)
	if got == Unreadable {
		c.answerExt(c.ext.cma.refusal(c.ext.out[:0]))
	}
	return got == Copied
}

// takeAnnounced takes the announcement of a message for single copy. The message is copied into the receive that it
// meets, or into memory for unexpected messages. If that is full, it stays with the sender until it meets a
// receive.
func (c *Conn) takeAnnounced(b []byte) error {
	r := &c.ext.ref
	// Announcements are allowed only after our "ready", and only with a seal.
	if err := r.Parse(b); err != nil || !c.ext.cma.copies || r.SealAt == 0 {
		return ErrProtocol
	}
	if c.state == Broken {
		return nil // the sender gets its buffer back when the connection ends
	}
	if !c.rdv.take(&c.pool.tablePool, r.Index) {
		return ErrProtocol
	}
	c.MsgsIn++
	at := heldBack{r.Index, r.IOV[:r.N], seal{r.SealAt, r.Number}}
	h := &c.pool.hdr
	h.Flags, h.CQData = 0, r.CQData
	// Steps of collective operations are matched separately.
	if r.Coll {
		return c.takeAnnouncedColl(r, &at)
	}
	if r.HasData {
		h.Flags = wire.FlagCQData
	}
	if !r.Tagged {
		r.Tag = 0
	}
	op, q := c.rx.match(c.Src, r.Tagged, r.Tag, r.Size)
	if op != nil {
		c.bind(op, r.Tag, r.Size, r.CQData, r.HasData)
		c.fetchInto(op, &at)
		return nil
	}
	m := c.newMessage(q, r.Size, r.Tag)
	c.keepAnnounced(m, r.Match, &at)
	if c.rx.closed {
		c.rx.dropQueued(q, m)
	}
	return nil
}

// takeAnnouncedColl is takeAnnounced for a step of a collective operation.
func (c *Conn) takeAnnouncedColl(r *wire.Ref, at *heldBack) error {
	op, ok := c.rx.matchColl(c.Src, r.Tag, r.CQData)
	switch {
	case !ok:
		return ErrProtocol
	case op != nil:
		op.tag, op.src, op.msgLen, op.sink = r.Tag, c.Src, r.Size, c.completions
		op.hasData, op.ack = false, false
		c.fetchInto(op, at)
	case c.rx.wantsColl(r.Tag, r.CQData):
		c.keepAnnounced(c.rx.keepColl(&c.source, c, &c.pool.hdr, r.Size, r.Tag, r.CQData), r.Match, at)
	default:
		c.RefuseColl(r.Tag)
		c.rdv.release(&c.pool.tablePool, at.index)
		c.answerIndex(wire.ExtDone, at.index)
	}
	return nil
}

// keepAnnounced keeps an unexpected message: a copy of it, if there is room and it may be copied before it is
// matched; otherwise the place where it is.
func (c *Conn) keepAnnounced(m *message, match bool, at *heldBack) {
	ranges := at.ranges
	// FI_MATCH_COMPLETE promises the sender that the message was matched, so such a message stays with it until
	// then.
	if !match && !c.rx.closed && c.rx.roomFor(&c.source, m.msgLen) {
		if c.copyUnexpected(m, at) {
			c.rdv.release(&c.pool.tablePool, at.index)
			c.answerIndex(wire.ExtDone, at.index)
			return
		}
		ranges = nil // it is asked for when it is matched
	}
	m.held, m.at = true, heldBack{at.index, append(m.at.ranges[:0], ranges...), at.seal}
}

// copyUnexpected copies a message without a receive, so that its sender waits no longer than with other messages.
func (c *Conn) copyUnexpected(m *message, at *heldBack) bool {
	// One buffer for all of it: the copy needs memory in one piece.
	if m.msgLen > 0 {
		buf := c.pool.buffer(int(m.msgLen))[:m.msgLen]
		c.ext.cma.local[0] = buf
		if !c.copyHeld(at, c.ext.cma.local[:1]) {
			c.pool.putBuffer(buf)
			return false
		}
		c.rx.storeWhole(m, buf)
	}
	m.pending = false
	c.BytesIn += m.msgLen
	return true
}

// copied completes a message that the peer has copied (wire.ExtDone).
func (c *Conn) copied(b []byte) error {
	if len(b) < 2 {
		return ErrProtocol
	}
	op := c.rdv.withdraw(&c.pool.tablePool, b[1])
	if op == nil {
		return ErrProtocol
	}
	c.finish(op)
	return nil
}

// Announce takes a message that the peer of an out-of-band transport holds back. Its place is among the messages of
// the stream. The connection must not be Stalled.
func (c *Conn) Announce(a *Announcement) {
	if c.state != Connected {
		return
	}
	c.MsgsIn++
	tag := uint64(0)
	if a.Tagged {
		tag = a.Tag
	}
	op, q := c.rx.match(c.Src, a.Tagged, tag, a.Size)
	if op != nil {
		c.bind(op, tag, a.Size, a.Data, a.HasData)
		c.oob().fetch(op, a.ID, a.From)
		c.sink.Replied(c)
		return
	}
	h := &c.pool.hdr
	h.Flags, h.CQData = 0, a.Data
	if a.HasData {
		h.Flags = wire.FlagCQData
	}
	m := c.newMessage(q, a.Size, tag)
	m.held, m.at.ranges = true, append(append(m.at.ranges[:0], wire.RMAIov{Addr: a.ID}), a.From...)
	if c.rx.closed {
		c.rx.dropQueued(q, m)
		return
	}
	// A high limit only: the message that the Fetcher waits for may be behind others.
	if c.unexpCount >= announcedMax {
		c.stallOn(m)
	}
}
