package engine

import "gofabric/internal/xnet/wire"

// directMin is the payload left below which it is not worth receiving in place.
const directMin = 4 << 10

// inKind says whose the payload in progress is.
type inKind uint8

const (
	_         inKind = iota
	inRecv           // a posted receive's
	inMessage        // an unexpected message's
	inRead           // a read operation's, answered
	inWrite          // registered memory's, a peer writes
	inDiscard        // nobody's
	inExt            // an OpExt's
	inAtomic         // of an atomic operation's operands
)

// incoming is the payload in progress.
type incoming struct {
	kind    inKind
	hasAck  bool // acknowledge when it is all here
	match   bool // and say that it is matched, which promises that this process has it
	i, n    int
	left    uint64 // bytes still to come
	size    uint64 // of all of it
	segs    [MaxIOV][]byte
	op      *RxOp
	msg     *message
	tx      *TxOp
	atom    *atomicIn
	commit  bool    // of a write: make it persistent
	no      Refusal // of a write: it is dropped, for its segment bad
	bad     uint8
	matchID uint32
	into    [MaxIOV]wire.RMAIov
	region  [MaxIOV]Region
	whole   [MaxIOV][]byte // of a write into regions that are counted or persistent
	hdr     struct {       // of a write with data
		has  bool
		data uint64
	}
	next *incoming
}

// expect makes n bytes of payload, still to come, the payload in progress.
func (c *Conn) expect(kind inKind, n uint64) *incoming {
	in := c.pool.getIncoming()
	in.kind, in.left, in.size, in.i, in.n, in.hasAck, in.match = kind, n, n, 0, 0, false, false
	c.in = in
	return in
}

// Target returns where the payload in progress can be received in place, nil if nowhere. The memory is lent until Receive.
func (c *Conn) Target() []byte {
	in := c.in
	if in == nil || in.left < directMin || in.i >= in.n || c.stall != flowing {
		return nil
	}
	b := in.segs[in.i]
	if uint64(len(b)) > in.left {
		b = b[:in.left]
	}
	if len(b) < directMin {
		return nil
	}
	return b
}

// Receive takes bytes of the stream: direct of them are already where Target said, b follows them. b is borrowed.
func (c *Conn) Receive(direct int, b []byte) {
	c.BytesIn += uint64(direct + len(b))
	if direct > 0 {
		in := c.in
		in.segs[in.i] = in.segs[in.i][direct:]
		if len(in.segs[in.i]) == 0 {
			in.i++
		}
		if in.left -= uint64(direct); in.left == 0 {
			c.endPayload()
		}
	}
	if len(b) > 0 {
		c.parse(b, false)
	}
	if c.said != nil {
		c.settle()
	}
	if c.state == Broken {
		c.mute()
	}
}

// Between reports that all messages that have begun to come are here.
func (c *Conn) Between() bool { return c.in == nil && len(c.part) == 0 }

// Missing is how many bytes must come, at the least, before there is anything to be done: those of a connection request or a header of which a part is here; 1 else.
func (c *Conn) Missing() int {
	have, want := len(c.part), 0
	switch {
	case have == 0:
	case c.state < Connected:
		want = wire.CMLen(c.part)
	case have < wire.BaseLen:
		want = wire.BaseLen
	default:
		want, _ = wire.PeekHeaderLen(c.part) // which was looked at before it was kept
	}
	return max(want-have, 1)
}

// parse takes what it can of b; what comes after a stall it keeps for later. own says that b may be kept as it is.
func (c *Conn) parse(b []byte, own bool) {
	for len(b) > 0 && c.state != Closed {
		switch {
		case c.stall != flowing:
			if own {
				c.held = b
			} else {
				c.held = append(c.held, b...)
			}
			return
		case c.in != nil && c.in.left > 0:
			b = b[c.absorb(b):]
		case c.state < Connected:
			b = c.handshake(b)
		default:
			b = c.header(b)
		}
	}
}

// header takes a message's header, or the part of it that is there.
func (c *Conn) header(b []byte) []byte {
	if len(c.part) > 0 {
		return c.headerInParts(b)
	}
	if len(b) < wire.BaseLen {
		c.part = append(c.pool.buffer(wire.MaxHeader), b...)
		return nil
	}
	n, err := wire.PeekHeaderLen(b)
	if err != nil {
		c.Fail(ErrProtocol)
		return nil
	}
	if len(b) < n {
		c.part = append(c.pool.buffer(wire.MaxHeader), b...)
		return nil
	}
	if _, err := c.pool.hdr.Decode(b, c.order); err != nil {
		c.Fail(ErrProtocol)
		return nil
	}
	b = b[n:]
	return b[c.begin(b):]
}

// headerInParts completes a header that came in pieces.
func (c *Conn) headerInParts(b []byte) []byte {
	if n := wire.BaseLen - len(c.part); n > 0 {
		n = min(n, len(b))
		c.part = append(c.part, b[:n]...)
		b = b[n:]
		if len(c.part) < wire.BaseLen {
			return nil
		}
	}
	n, err := wire.PeekHeaderLen(c.part)
	if err != nil {
		c.Fail(ErrProtocol)
		return nil
	}
	if k := min(n-len(c.part), len(b)); k > 0 {
		c.part = append(c.part, b[:k]...)
		b = b[k:]
	}
	if len(c.part) < n {
		return nil
	}
	_, err = c.pool.hdr.Decode(c.part, c.order)
	c.pool.putBuffer(c.part)
	c.part = nil
	if err != nil {
		c.Fail(ErrProtocol)
		return nil
	}
	return b[c.begin(b):]
}

// begin decides what becomes of the message whose header has come, and returns how much of b, which follows the header, it has taken.
func (c *Conn) begin(b []byte) int {
	h := &c.pool.hdr
	switch h.Op {
	case wire.OpMsg:
		if h.OpData == wire.OpDataAck {
			c.acknowledged()
			return 0
		}
		if h.Flags&wire.FlagTagged != 0 && c.cfg.Prefix != nil {
			c.prefixed()
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
	case wire.OpRun, wire.OpTagRun:
		return c.takeRun(b)
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
		c.startData()
	case wire.OpReadReq:
		c.serveRead()
	case wire.OpReadRsp, wire.OpAtomicRsp:
		c.startReadResponse()
	case wire.OpWrite:
		c.startWrite()
	case wire.OpContext:
		c.chooseContext(h.OpData)
	}
}

// startRecv directs a payload of n bytes into a posted receive. A message that is all in b, and has room, is received at once; startRecv returns its
// length then, else 0.
func (c *Conn) startRecv(op *RxOp, n, tag uint64, b []byte) int {
	h := &c.pool.hdr
	op.tag, op.src, op.msgLen, op.sink = tag, c.Src, n, c.rx.sinkFor(c.sink)
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

// receiveInto makes op the target of a payload of n bytes. When it is here, the peer is told that its message with number id is matched, if it wants to know.
func (c *Conn) receiveInto(op *RxOp, n uint64, matched bool, id uint32) {
	in := c.expect(inRecv, n)
	in.match, in.matchID = matched, id
	in.op, in.n, in.hasAck = op, int(op.niov), op.ack
	for i := range int(op.niov) {
		in.segs[i] = op.part(i)
	}
	if n == 0 {
		c.endPayload()
	}
}

// startMessage keeps a message that nobody has posted a receive for.
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

// keep makes m the target of a payload of n bytes.
func (c *Conn) keep(m *message, n uint64) {
	in := c.expect(inMessage, n)
	in.msg, in.hasAck = m, m.ack
	if c.rx.full(c) {
		c.stallOn(m)
	}
	if n == 0 {
		c.endPayload()
	}
}

func (c *Conn) newMessage(q *queue, n, tag uint64) *message {
	h := &c.pool.hdr
	m := c.pool.getMessage()
	m.conn, m.owner, m.sink, m.msgLen = c, c, c.sink, n
	m.hasData = h.Flags&wire.FlagCQData != 0
	if m.hasData {
		m.data = h.CQData
	}
	m.ack = h.Flags&(wire.FlagDelivery|wire.FlagCommit) != 0
	m.node.Src, m.node.Tag = c.Src, tag
	c.charge(m, messageOverhead)
	c.unexpCount++
	q.Arrive(&m.node)
	return m
}

func (c *Conn) charge(m *message, n uint64) {
	m.cost += n
	c.rx.bytes += n
	c.unexpBytes += n
}

// absorb takes bytes of the payload in progress and returns how many.
func (c *Conn) absorb(b []byte) int {
	in := c.in
	if uint64(len(b)) > in.left {
		b = b[:in.left]
	}
	took := len(b)
	if in.kind == inMessage {
		took = c.store(in.msg, b)
	} else {
		for i := in.i; len(b) > 0 && i < in.n; i++ { // what finds no room is lost: the message was too long
			k := copy(in.segs[i], b)
			in.segs[i], b = in.segs[i][k:], b[k:]
			if len(in.segs[i]) > 0 {
				break
			}
			in.i = i + 1
		}
	}
	if in.left -= uint64(took); in.left == 0 && c.stall == flowing {
		c.endPayload()
	}
	return took
}

// store keeps payload of an unexpected message, as far as the budget allows, and returns how much.
func (c *Conn) store(m *message, b []byte) int {
	took := 0
	for len(b) > 0 {
		var last []byte
		if k := len(m.parts); k > 0 {
			last = m.parts[k-1]
		}
		if len(last) == cap(last) {
			if c.rx.full(c) {
				c.stallOn(m)
				break
			}
			n := int(min(m.msgLen-m.stored, unexpAtOnce))
			last = c.pool.buffer(n)
			c.charge(m, uint64(cap(last)))
			m.parts = append(m.parts, last)
		}
		n := min(cap(last)-len(last), len(b))
		m.parts[len(m.parts)-1] = append(last, b[:n]...)
		b, took, m.stored = b[n:], took+n, m.stored+uint64(n)
	}
	return took
}

// endPayload does what was waiting for all of a message to be here.
func (c *Conn) endPayload() {
	in := c.in
	c.in = nil
	for i := range in.n {
		in.segs[i] = nil
	}
	switch in.kind {
	case inRecv:
		op := in.op
		in.op = nil
		if in.hasAck {
			c.acknowledge()
		}
		if in.match && c.state == Connected {
			c.tellMatched(in.matchID)
		}
		c.rx.finish(op)
	case inMessage:
		m := in.msg
		in.msg, m.conn = nil, nil
		if in.hasAck {
			c.acknowledge()
		}
	case inRead:
		op := in.tx
		in.tx = nil
		if op.Atomic != nil {
			c.fetching -= uint32(in.size)
		}
		c.finish(op)
	case inWrite:
		c.endWrite(in)
	case inAtomic:
		a := in.atom
		in.atom = nil
		c.perform(&a.h, a.ch.b[:a.h.PayloadLen()])
		c.freeAtomicIn(a)
	case inDiscard:
		if in.hasAck {
			c.acknowledge()
		}
	case inExt:
		c.endExt(int(in.size))
	}
	c.pool.putIncoming(in)
}

// redirect lets the rest of an unexpected message that is still coming go to op, where what came already is copied.
func (c *Conn) redirect(m *message, op *RxOp) {
	m.copyTo(op)
	in := c.in
	left, stored := in.left, m.stored
	in.match, in.matchID = m.match, m.matchID
	c.rx.free(m)
	in.kind, in.op, in.msg, in.i, in.n, in.hasAck = inRecv, op, nil, 0, 0, op.ack
	for i := range int(op.niov) {
		b := op.part(i)
		if stored >= uint64(len(b)) {
			stored -= uint64(len(b))
			continue
		}
		in.segs[in.n] = b[stored:]
		stored = 0
		in.n++
	}
	in.left = left
	if left == 0 {
		c.endPayload()
	}
}

// becomeStalled stops taking bytes.
func (c *Conn) becomeStalled(why stallReason) {
	if c.stall != flowing {
		return
	}
	c.stall = why
	if why == stallUnwanted {
		c.rx.stalled = append(c.rx.stalled, c)
	}
}

// stallOn stops taking bytes until there is room, or m has found its receive.
func (c *Conn) stallOn(m *message) {
	m.stalls = true
	c.becomeStalled(stallUnwanted)
}

// unstall goes on with what came before the stall, and asks for more.
func (c *Conn) unstall() {
	if c.stall == stallUnwanted {
		for i, s := range c.rx.stalled {
			if s == c {
				c.rx.stalled = append(c.rx.stalled[:i], c.rx.stalled[i+1:]...)
				break
			}
		}
	}
	c.stall = flowing
	if c.in != nil && c.in.left == 0 {
		c.endPayload()
	}
	held := c.held
	c.held = nil
	c.parse(held, true)
	if c.said != nil {
		c.settle()
	}
	if c.stall == flowing && c.state != Closed {
		c.sink.Resumed(c)
	}
}
