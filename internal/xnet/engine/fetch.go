package engine

import "gofabric/internal/xnet/wire"

// Messages whose payload is fetched when they have met their receive: rendezvous, single copy, and messages that a
// transport carries out of band.

// startRendezvous takes note of a message whose data the peer holds back.
func (c *Conn) startRendezvous() {
	h := &c.pool.hdr
	index := h.OpData
	if c.state == Broken {
		return // it cannot be asked for
	}
	if !c.rdv.take(&c.pool.tablePool, index) {
		c.Fail(ErrProtocol)
		return
	}
	if op := c.rx.matchTag(c.Src, h.Tag, h.MsgSize); op != nil {
		data, has := h.CQData, h.Flags&wire.FlagCQData != 0
		c.bind(op, h.Tag, h.MsgSize, data, has)
		op.ack = h.Flags&(wire.FlagDelivery|wire.FlagCommit) != 0
		c.clearToSend(op, index)
		return
	}
	m := c.newMessage(&c.rx.tags, h.MsgSize, h.Tag)
	m.held, m.at.index = true, index // no reason to stall: there are few indices, and data of others may follow
	if c.rx.closed {
		c.rx.dropQueued(&c.rx.tags, m)
	}
}

// bind notes in op which announced message it was matched with.
func (c *Conn) bind(op *RxOp, tag, n, data uint64, hasData bool) {
	op.tag, op.src, op.msgLen, op.sink = tag, c.Src, n, c.rx.sinkFor(c.completions)
	op.hasData, op.data, op.ack = hasData, 0, false
	if hasData {
		op.data = data
	}
}

// clearToSend asks for the data of a rendezvous that op was matched with.
func (c *Conn) clearToSend(op *RxOp, i uint8) {
	if c.state == Broken {
		c.rx.finishErr(op, c.reason(ErrPeerClose))
		return
	}
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

// clearedToSend transmits the data of a message that the peer asked for.
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

// fetchHeld gets the payload of a message that the peer holds back.
func (c *Conn) fetchHeld(op *RxOp, at *heldBack) {
	if len(at.ranges) > 0 {
		c.fetchInto(op, at)
	} else {
		c.clearToSend(op, at.index)
	}
}

// fetchInto is fetchHeld for a message that can be copied, or that a transport carries. One that cannot be copied after
// all, or whose seal is broken, is asked for as after a request to send: op stays as it was, and a peer that has
// withdrawn the message has ended the connection or sends a copy.
func (c *Conn) fetchInto(op *RxOp, at *heldBack) {
	if c.state != Connected {
		c.clearToSend(op, at.index) // which ends op with the reason
		return
	}
	if y := c.oob(); y != nil {
		y.fetch(op, at.ranges[0].Addr, at.ranges[1:])
		c.sink.Replied(c)
		return
	}
	into := op.first(op.msgLen, &c.ext.cma.local)
	if len(into) > 0 && !c.copyHeld(at, into) {
		c.clearToSend(op, at.index)
		return
	}
	c.rdv.release(&c.pool.tablePool, at.index)
	c.BytesIn += op.msgLen
	c.answerIndex(wire.ExtDone, at.index)
	c.rx.finish(op)
}

// copyHeld copies a message of the peer's, and reports whether its seal was whole. A peer whose memory cannot be read
// is told to announce no more messages.
func (c *Conn) copyHeld(at *heldBack, into [][]byte) bool {
	got := c.ext.cma.copy(c.cfg.CMA, at, into)
	if got == Unreadable {
		c.answerExt(c.ext.cma.refusal(c.ext.out[:0]))
	}
	return got == Copied
}

// takeAnnounced takes a message that can be copied: into the receive that waits for it, or into memory for unexpected
// ones, or, when that is full, it stays where it is until a receive comes.
func (c *Conn) takeAnnounced(b []byte) error {
	r := &c.ext.ref
	if err := r.Parse(b); err != nil || !c.ext.cma.copies || r.SealAt == 0 {
		return ErrProtocol
	}
	if c.state == Broken {
		return nil // the sender takes its buffer back
	}
	if !c.rdv.take(&c.pool.tablePool, r.Index) {
		return ErrProtocol
	}
	c.MsgsIn++
	at := heldBack{r.Index, r.IOV[:r.N], seal{r.SealAt, r.Number}}
	h := &c.pool.hdr
	h.Flags, h.CQData = 0, r.CQData
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

// takeAnnouncedColl takes a step of a collective operation that can be copied.
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

// keepAnnounced keeps an unexpected message: a copy of it, if there is room and it may be copied before it is matched,
// else a note of where it is.
func (c *Conn) keepAnnounced(m *message, match bool, at *heldBack) {
	ranges := at.ranges
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

// copyUnexpected copies all of a message for which there is no receive: a sender waits for one no longer than it would
// with other messages.
func (c *Conn) copyUnexpected(m *message, at *heldBack) bool {
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

// copied completes a message that the peer has copied.
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

// Announce takes note of a message that the peer of an out-of-band transport holds back. It keeps its place among the
// messages: call it when the connection is not Stalled.
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
	if c.unexpCount >= announcedMax { // not before: the message that the Fetcher waits for may be behind others
		c.stallOn(m)
	}
}
