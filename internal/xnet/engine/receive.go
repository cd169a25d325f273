package engine

import "gofabric/internal/xnet/wire"

// Receiving. The driver receives into Target if there is one, else into a buffer of its own, and calls Receive.
// Receive parses header by header: begin decides what happens to a message, and its payload becomes the payload in
// progress until it is complete.
//
// Target returns the memory where the payload in progress can be received without a copy, or nil. It is valid until
// Receive.
func (c *Conn) Target() []byte { return c.in.target() }

// Between reports that no message is partly received.
func (c *Conn) Between() bool { return c.in.between() }

// Missing is how many bytes must come before there is something to do: those of a header or connection request that
// is partly here; otherwise 1.
func (c *Conn) Missing() int { return c.in.missing(c.state >= Connected) }

// Receive takes bytes of the stream. The first direct bytes are already where Target said; b follows them and is
// borrowed.
func (c *Conn) Receive(direct int, b []byte) {
	c.BytesIn += uint64(direct + len(b))
	// All of the payload in progress is in place.
	if direct > 0 && c.in.now.direct(direct) {
		c.endPayload()
	}
	if len(b) > 0 {
		c.parse(b, false)
	}
	if c.answers != nil {
		c.flushAccepted()
	}
	// Answers that this call has queued cannot be sent.
	if c.state == Broken {
		c.dropQueue()
	}
}

// parse takes b. Bytes behind a stall are kept. own says that b may be kept without a copy.
func (c *Conn) parse(b []byte, own bool) {
	for len(b) > 0 && c.state != Closed {
		switch {
		// Keep the rest for resume.
		case c.in.stall != flowing:
			c.in.hold(&c.pool.inboundPool, b, own)
			return
		// Payload first: it belongs to the header before.
		case c.in.now != nil && c.in.now.left > 0:
			b = b[c.absorb(b):]
		// Connection management comes before any transfer.
		case c.state < Connected:
			b = c.handshake(b)
		default:
			n, whole, err := c.in.header(&c.pool.inboundPool, b)
			if err != nil {
				c.Fail(ErrProtocol)
				return
			}
			if b = b[n:]; whole {
				b = b[c.begin(b):]
			}
		}
	}
}

// begin decides what happens to the message whose header has come, by its operation. It returns how many bytes of
// b, which follows the header, it has taken: small messages that are complete in b take the shortest path.
func (c *Conn) begin(b []byte) int {
	h := &c.pool.hdr
	switch h.Op {
	case wire.OpMsg:
		if h.OpData == wire.OpDataAck {
			c.acknowledged()
			return 0
		}
		// A message of libfabric 1.17 for rxm.
		if h.Flags&wire.FlagTagged != 0 && c.cfg.Prefix != nil {
			c.startPrefixed()
			return 0
		}
		c.MsgsIn++
		n := h.PayloadLen()
		// Expected: into the posted receive.
		if op := c.rx.matchMsg(c.Src, n); op != nil {
			return c.startRecv(op, n, 0, b)
		}
		c.startMessage(&c.rx.msgs, n, 0)
	case wire.OpTag:
		c.MsgsIn++
		if op := c.rx.matchTag(c.Src, h.Tag, h.PayloadLen()); op != nil {
			return c.startRecv(op, h.PayloadLen(), h.Tag, b)
		}
		c.startMessage(&c.rx.tags, h.PayloadLen(), h.Tag)
	case wire.OpCoalesced, wire.OpTagCoalesced:
		return c.takeCoalesced(b)
	case wire.OpAtomic, wire.OpAtomicFetch, wire.OpAtomicCompare:
		return c.startAtomic(b)
	case wire.OpColl:
		return c.startColl(b)
	case wire.OpExt:
		return c.startExt(b)
	default:
		c.beginOther()
	}
	return 0
}

// beginOther is begin for rendezvous, RMA and contexts.
func (c *Conn) beginOther() {
	h := &c.pool.hdr
	switch h.Op {
	case wire.OpTagRTS:
		c.MsgsIn++
		c.startRendezvous()
	case wire.OpCTS:
		c.clearedToSend(h.OpData)
		if c.state == Connected {
			c.sink.Replied(c)
		}
	case wire.OpData:
		if op := c.rdv.asked(&c.pool.tablePool, h.OpData, h.PayloadLen()); op != nil {
			c.receiveInto(op, op.msgLen, false, 0)
		} else {
			c.Fail(ErrProtocol)
		}
	case wire.OpReadReq:
		c.serveRead()
	case wire.OpReadRsp, wire.OpAtomicRsp:
		c.startReadResponse()
	case wire.OpWrite:
		c.startWrite()
	// The stream continues at another receive context (group.go).
	case wire.OpContext:
		// A context that does not exist ends the connection. Messages for it have no receive, and small ones are
		// complete at the sender already, so there is no other way to report it.
		if rx := c.rx.at(h.OpData); rx != nil && c.Ours {
			c.rx = rx
		} else {
			c.Fail(ErrProtocol)
		}
	}
}

// expect makes the next n bytes the payload in progress.
func (c *Conn) expect(kind payloadKind, n uint64) *payload {
	return c.in.expect(&c.pool.inboundPool, kind, n)
}

// absorb takes bytes of the payload in progress and returns their number.
func (c *Conn) absorb(b []byte) int {
	l := c.in.now
	if uint64(len(b)) > l.left {
		b = b[:l.left]
	}
	took := len(b)
	if l.kind == inMessage {
		// The budget is used up: the rest stays in the stream.
		if took = c.rx.store(l.msg, b); took < len(b) {
			c.stallOn(l.msg)
		}
	} else {
		l.absorb(b)
	}
	if l.left -= uint64(took); l.left == 0 && c.in.stall == flowing {
		c.endPayload()
	}
	return took
}

// endPayload completes the operation or message whose payload is complete.
func (c *Conn) endPayload() {
	l := c.in.now
	c.in.now = nil
	// Drop the references to buffers before the completion gives them back.
	for i := range l.n {
		l.segs[i] = nil
	}
	switch l.kind {
	case inRecv:
		op := l.op
		l.op = nil
		if l.hasAck {
			c.acknowledge()
		}
		// Only now has this process all of the message.
		if l.match {
			c.sendMatched(l.matchID)
		}
		c.rx.finish(op)
	case inMessage:
		l.msg.pending = false
		l.msg = nil
		if l.hasAck {
			c.acknowledge()
		}
	case inRead:
		op := l.tx
		l.tx = nil
		// Results count against the limit of fetching operations.
		if op.Atomic != nil {
			c.fetching -= uint32(l.size)
		}
		c.finish(op)
	case inWrite:
		c.endWrite(l)
	case inAtomic:
		a := l.atom
		l.atom = nil
		c.perform(&a.h, a.ch.b[:a.h.PayloadLen()])
		c.freeOperands(a)
	case inDiscard:
		if l.hasAck {
			c.acknowledge()
		}
	case inExt:
		c.endExt(int(l.size))
	}
	c.pool.putPayload(l)
}

// stallOn stops taking bytes until there is room, or until m has met its receive.
func (c *Conn) stallOn(m *message) {
	m.stalls = true
	c.becomeStalled(stallUnwanted)
}

// resume continues with the bytes that came during a stall, and lets the driver read on.
func (c *Conn) resume() {
	// It does not wait for room any more.
	if c.in.stall == stallUnwanted {
		c.rx.unstall(&c.source)
	}
	c.in.stall = flowing
	// The stall came within the last bytes of a message.
	if c.in.now != nil && c.in.now.left == 0 {
		c.endPayload()
	}
	// The kept bytes may stall again; then parse keeps the rest of them.
	c.parse(c.in.takeHeld(&c.pool.inboundPool), true)
	if c.answers != nil {
		c.flushAccepted()
	}
	if c.in.stall == flowing && c.state != Closed {
		c.sink.Resumed(c)
	}
}

// acknowledged completes the oldest operation that waits for an acknowledgement. They come in the order of the
// stream.
func (c *Conn) acknowledged() {
	if op := c.acks.pop(); op != nil {
		c.finish(op)
	} else {
		c.Fail(ErrProtocol)
	}
}

// Break says that nothing can be sent any more, while bytes of the peer can still be received. Operations that wait
// for transmission end with err. The connection takes bytes until the driver calls Fail.
func (c *Conn) Break(err error) {
	if c.state != Connected {
		c.Fail(err)
		return
	}
	c.becomeBroken(err)
	c.dropQueue()
}

// becomeBroken remembers the reason, which later operations end with, too.
func (c *Conn) becomeBroken(err error) { c.state, c.needExt().goodbye.why = Broken, err }

// dropQueue empties the queue to a peer that cannot be reached.
func (c *Conn) dropQueue() {
	why := c.ext.goodbye.why
	c.ext.matches.dropQueued() // drain ends them
	c.drain(why)
	if c.answers != nil {
		c.answers.budget = answerBudget{}
		c.answers.verdicts.forgetLast()
	}
	c.endWaiting(why)
	if c.in.stall == stallReplies { // the replies that it waited for are gone
		c.resume()
	}
}
