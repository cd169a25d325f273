package engine

import "gofabric/internal/xnet/wire"

// Target returns where the payload in progress can be received in place, nil if nowhere. The memory is lent until
// Receive.
func (c *Conn) Target() []byte { return c.in.target() }

// Between reports that all messages that have begun to come are here.
func (c *Conn) Between() bool { return c.in.between() }

// Missing is how many bytes must come, at the least, before there is anything to be done: those of a connection request
// or a header of which a part is here; 1 else.
func (c *Conn) Missing() int { return c.in.missing(c.state >= Connected) }

// Receive takes bytes of the stream: direct of them are already where Target said, b follows them. b is borrowed.
func (c *Conn) Receive(direct int, b []byte) {
	c.BytesIn += uint64(direct + len(b))
	if direct > 0 && c.in.now.direct(direct) {
		c.endPayload()
	}
	if len(b) > 0 {
		c.parse(b, false)
	}
	if c.answers != nil {
		c.settleVerdicts()
	}
	if c.state == Broken {
		c.dropQueue()
	}
}

// parse takes b; bytes that come after a stall it keeps for later. own says that b may be kept as it is.
func (c *Conn) parse(b []byte, own bool) {
	for len(b) > 0 && c.state != Closed {
		switch {
		case c.in.stall != flowing:
			c.in.hold(&c.pool.inboundPool, b, own)
			return
		case c.in.now != nil && c.in.now.left > 0:
			b = b[c.absorb(b):]
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

// begin decides what becomes of the message whose header has come, and returns how much of b, which follows the header,
// it has taken.
func (c *Conn) begin(b []byte) int {
	h := &c.pool.hdr
	switch h.Op {
	case wire.OpMsg:
		if h.OpData == wire.OpDataAck {
			c.acknowledged()
			return 0
		}
		if h.Flags&wire.FlagTagged != 0 && c.cfg.Prefix != nil {
			c.startPrefixed()
			return 0
		}
		c.MsgsIn++
		n := h.PayloadLen()
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

// beginOther is begin for everything but messages.
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
	case wire.OpContext:
		// A context that is not there ends the connection: messages for it have nowhere to go, and small messages are
		// complete at the sender already, so that there is no other way to tell.
		if rx := c.rx.at(h.OpData); rx != nil && c.Ours {
			c.rx = rx
		} else {
			c.Fail(ErrProtocol)
		}
	}
}

// expect makes n bytes, still to come, the payload in progress.
func (c *Conn) expect(kind payloadKind, n uint64) *payload {
	return c.in.expect(&c.pool.inboundPool, kind, n)
}

// absorb takes bytes of the payload in progress and returns how many.
func (c *Conn) absorb(b []byte) int {
	l := c.in.now
	if uint64(len(b)) > l.left {
		b = b[:l.left]
	}
	took := len(b)
	if l.kind == inMessage {
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

// endPayload completes the operation or message whose payload is all here.
func (c *Conn) endPayload() {
	l := c.in.now
	c.in.now = nil
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
		if l.match {
			c.tellMatched(l.matchID)
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

// stallOn stops taking bytes until there is room, or m has found its receive.
func (c *Conn) stallOn(m *message) {
	m.stalls = true
	c.becomeStalled(stallUnwanted)
}

// resume goes on with the bytes that came during a stall, and asks for more.
func (c *Conn) resume() {
	if c.in.stall == stallUnwanted {
		c.rx.unstall(&c.source)
	}
	c.in.stall = flowing
	if c.in.now != nil && c.in.now.left == 0 {
		c.endPayload()
	}
	c.parse(c.in.takeHeld(&c.pool.inboundPool), true)
	if c.answers != nil {
		c.settleVerdicts()
	}
	if c.in.stall == flowing && c.state != Closed {
		c.sink.Resumed(c)
	}
}

// acknowledged completes the oldest operation that waits for the peer.
func (c *Conn) acknowledged() {
	if op := c.acks.pop(); op != nil {
		c.finish(op)
	} else {
		c.Fail(ErrProtocol)
	}
}

// Break says that nothing can be sent any more, while bytes of the peer can still be received: operations that wait for
// transmission end with err, and bytes are taken until the driver calls Fail.
func (c *Conn) Break(err error) {
	if c.state != Connected {
		c.Fail(err)
		return
	}
	c.becomeBroken(err)
	c.dropQueue()
}

func (c *Conn) becomeBroken(err error) { c.state, c.needExt().goodbye.why = Broken, err }

// dropQueue empties the queue to a peer that cannot be reached.
func (c *Conn) dropQueue() {
	why := c.ext.goodbye.why
	c.ext.matches.dropQueued() // drain ends them
	c.drain(why)
	if c.answers != nil {
		c.answers.budget = answerBudget{}
		c.answers.verdicts.settle()
	}
	c.endWaiting(why)
	if c.in.stall == stallReplies { // there are no replies any more
		c.resume()
	}
}
