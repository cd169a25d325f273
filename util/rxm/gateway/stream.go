package gateway

import (
	"errors"

	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/wire"
)

// Upper's stream to packets and operations. One outgoing at a time is made from the stream and offered to Lower
// until it takes it. Lower may need the payload longer than that, and may release it out of order. The stream must
// be released in order, so each part of it that Lower has is a flight.
//
// sendParts is the most payload slices of a message for Lower.
const sendParts = 3

// outKind is the kind of an outgoing.
type outKind uint8

const (
	outNone outKind = iota
	outPacket
	outWrite
	outRead
)

// outgoing is the next packet or operation for Lower, which stands for the next part of upper's stream.
type outgoing struct {
	kind    outKind
	confirm bool                         // upper must know when it has arrived (delivery complete)
	nhead   uint8                        // bytes of head
	nparts  uint8                        // slices of parts
	nrange  uint8                        // entries of remote
	stream  int                          // bytes of upper's stream that it stands for
	head    [wire.MaxHeader]byte         // headers of a packet
	parts   [xengine.MaxIOV][]byte       // payload of a packet or write, target of a read
	remote  [xengine.MaxIOV]xwire.RMAIov // of a read or write
	write   Write
	token   uint64 // of a read
	group   uint64 // of a packet: Lower's group
}

// segmenting is a message of which segments are being sent.
type segmenting struct {
	h       wire.Packet // headers of the last segment
	left    uint64      // bytes of payload still to be sent
	confirm bool
}

// inFlight is a part of upper's stream that Lower has.
type inFlight struct {
	stream int // bytes
	// confirm is as in outgoing; done says that Lower has released it.
	confirm, done bool
}

// addFlight notes that Lower has taken something that stands for stream bytes. done says that Lower has copied it.
func (g *Gateway) addFlight(stream int, ack, done bool) {
	g.flights.Push(inFlight{stream: stream, confirm: ack, done: done})
	if done {
		g.releaseStream()
	}
}

// nextToken returns the token of the next flight.
func (g *Gateway) nextToken() uint64 {
	return tokFlight | (g.flightsDone+uint64(g.flights.Len()))&^tokMask
}

// flightDone notes that Lower has released the flight with this number.
func (g *Gateway) flightDone(name uint64) {
	i := (name - g.flightsDone) &^ tokMask
	// An old token: the flight has ended.
	if i >= uint64(g.flights.Len()) {
		return
	}
	g.flights.At(int(i)).done = true
	g.releaseStream()
}

// releaseStream releases the stream up to the first flight that Lower still has.
func (g *Gateway) releaseStream() {
	// Lower may release packets out of order, upper may not.
	for g.flights.Len() > 0 && g.flights.At(0).done && g.up.State() == xengine.Connected {
		f := g.flights.Pop()
		g.flightsDone++
		g.up.Transmitted(f.stream)
		// The peer has acknowledged: a delivery complete operation ends.
		if f.confirm {
			g.up.Arrived()
		}
	}
}

// sendNext offers the outgoing to Lower. It reports whether Lower took it.
func (g *Gateway) sendNext() bool {
	o := &g.next
	var err error
	done := false
	switch o.kind {
	case outPacket:
		// The peer has no receive for another packet.
		if !g.hasCredit(false) {
			return false
		}
		done, err = g.low.Send(o.head[:o.nhead], o.parts[:o.nparts], o.confirm, o.group, g.nextToken())
	case outWrite:
		done, err = g.low.Write(o.parts[:o.nparts], o.remote[:o.nrange], o.write, g.nextToken())
	case outRead:
		done, err = true, g.low.Read(o.parts[:o.nparts], o.remote[:o.nrange], o.token)
	}
	if !g.accepted(err) {
		return false
	}
	// Reads and writes need no receive at the peer, so they cost no credit.
	if o.kind == outPacket {
		g.useCredit()
	}
	stream, ack := o.stream, o.confirm
	o.kind = outNone
	clear(o.parts[:o.nparts])
	g.addFlight(stream, ack, done)
	return true
}

// accepted reports whether Lower has taken something. Any error except ErrAgain ends the connection.
func (g *Gateway) accepted(err error) bool {
	if err != nil && err != xengine.ErrAgain {
		g.Fail(err)
	}
	return err == nil
}

// makeNext makes the next outgoing from upper's stream. It reports whether there may be more to send.
func (g *Gateway) makeNext() bool {
	var h xwire.Header
	n, ok := g.nextHeader(&h)
	if !ok {
		g.violation() // a bug of our own Conn
		return false
	}
	switch h.Op {
	case xwire.OpMsg, xwire.OpTag:
		if h.Op == xwire.OpMsg && h.OpData == xwire.OpDataAck {
			// An acknowledgement in the stream belongs to an atomic operation: upper acknowledges nothing else,
			// since receiveAtomic alone sets FlagDelivery.
			return g.answerAtomic(n)
		}
		g.makeMessage(&h, n)
	case xwire.OpReadReq:
		g.makeRead(&h, n)
	case xwire.OpWrite:
		g.makeWrite(&h, n)
	case xwire.OpAtomic, xwire.OpAtomicFetch, xwire.OpAtomicCompare:
		return g.makeAtomic(&h, n)
	case xwire.OpAtomicRsp:
		return g.makeResult(&h, n)
	case xwire.OpExt:
		return g.announce(&h, n)
	default:
		g.violation()
		return false
	}
	return g.alive()
}

// nextHeader takes a header from upper's stream, which always has all of it. It returns its length.
func (g *Gateway) nextHeader(h *xwire.Header) (int, bool) {
	var buf [xwire.MaxHeader]byte
	if g.copyStream(buf[:xwire.BaseLen]) != xwire.BaseLen {
		return 0, false
	}
	n, err := xwire.PeekHeaderLen(buf[:])
	if err != nil || n > len(buf) || g.copyStream(buf[xwire.BaseLen:n]) != n-xwire.BaseLen {
		return 0, false
	}
	_, err = h.Decode(buf[:n], xwire.Little)
	return n, err == nil
}

// copyStream copies the next bytes of upper's stream to b. It returns their number.
func (g *Gateway) copyStream(b []byte) int {
	var space [xengine.MaxIOV][]byte
	took := 0
	for took < len(b) {
		list, n := g.up.Next(space[:0], len(b)-took)
		if n == 0 {
			break
		}
		for _, s := range list {
			took += copy(b[took:], s)
		}
	}
	return took
}

// packet makes an outgoing packet with headers p and the next n bytes of the stream as payload. It also stands for
// stream bytes before them.
func (g *Gateway) packet(p *wire.Packet, stream, n int, ack bool) {
	o := &g.next
	o.kind, o.confirm, o.stream, o.group = outPacket, ack, stream+n, 0
	// Segments after the first may use an auxiliary connection, all of a message the same one.
	if p.Type == wire.TypeSegment && p.Part != wire.First {
		o.group = p.MsgID
	}
	p.Conn = g.cfg.RemoteConn
	o.nhead = uint8(len(p.Append(o.head[:0])))
	g.fill(n, sendParts)
}

// errIncomplete ends a connection whose operations are not queued whole, which would be a bug. Submit and the
// answers of xengine.Conn queue a header together with everything that belongs to it. Cancel removes an operation
// as a whole, or not at all if its header was handed out. A Conn that has closed is not read (alive). TestWhole
// tests this.
var errIncomplete = errors.New("rxm: an operation is not queued whole")

// fill adds the next n bytes of upper's stream to the outgoing without a copy, in at most most slices. If the
// stream has more slices, the rest is copied.
func (g *Gateway) fill(n, most int) {
	o := &g.next
	o.nparts = 0
	if n == 0 {
		return
	}
	list, got := g.up.Next(o.parts[:0:most], n)
	o.nparts = uint8(len(list))
	if got == n {
		return
	}
	rest := make([]byte, n-got)
	if g.copyStream(rest) != len(rest) {
		g.Fail(errIncomplete)
		return
	}
	// The rest is copied behind the last slice, in new memory: the application's buffer must not change.
	last := list[len(list)-1]
	o.parts[o.nparts-1] = append(last[:len(last):len(last)], rest...)
}

// makeMessage makes an outgoing of a message or of its first segment. Its header in the stream had n bytes.
func (g *Gateway) makeMessage(h *xwire.Header, n int) {
	p := &g.pkt
	*p = wire.Packet{Type: wire.TypeEager, Op: wire.OpMsg, Size: h.PayloadLen()}
	if h.Op == xwire.OpTag {
		p.Op, p.Tag = wire.OpTagged, h.Tag
	}
	if h.Flags&xwire.FlagCQData != 0 {
		p.Flags, p.Data = wire.FlagCQData, h.CQData
	}
	ack := h.Flags&(xwire.FlagDelivery|xwire.FlagCommit) != 0
	// Eager: the whole message in one packet.
	if p.Size <= uint64(g.cfg.EagerLimit) {
		g.packet(p, n, int(p.Size), ack)
		return
	}
	// Longer: the first segment now, the others with makeSegment when Lower has room.
	g.segID++
	p.Type, p.Part, p.MsgID, p.SegSize = wire.TypeSegment, wire.First, g.segID, uint16(g.segmentSize())
	g.packet(p, n, int(p.SegSize), false)
	g.segments = segmenting{h: *p, left: p.Size - uint64(p.SegSize), confirm: ack}
}

// segmentSize is the payload of each segment but the last, in bytes.
func (g *Gateway) segmentSize() int { return min(g.cfg.BufferSize, wire.SegmentMax) }

// makeSegment makes an outgoing of the next segment. Only the last one is confirmed: with one group Lower keeps
// them in order.
func (g *Gateway) makeSegment() {
	p := &g.segments.h
	n := min(g.segments.left, uint64(g.segmentSize()))
	g.segments.left -= n
	// Segment numbers run from 0, the first one.
	p.SegNo++
	p.Part, p.SegSize = wire.Middle, uint16(n)
	if g.segments.left == 0 {
		p.Part = wire.Last
	}
	g.packet(p, 0, int(n), g.segments.confirm && g.segments.left == 0)
}

// makeRead makes an outgoing of a read. Its stream part ends when Lower takes it, the operation when the data has
// come.
func (g *Gateway) makeRead(h *xwire.Header, n int) {
	// The Conn keeps the operation's buffers until RequestDone.
	op := g.up.TakeRequest()
	if op == nil {
		g.violation()
		return
	}
	o := &g.next
	o.kind, o.confirm, o.stream = outRead, false, n
	o.nparts = uint8(copy(o.parts[:], op.IOV[:op.NIOV]))
	o.nrange = uint8(copy(o.remote[:], h.IOV[:h.IovCnt]))
	// The operation completes with this token, whenever Lower has taken it.
	o.token = tokRequest | g.requests.add(pendingRequest{op: op})
}

// makeWrite makes an outgoing of a write.
func (g *Gateway) makeWrite(h *xwire.Header, n int) {
	o := &g.next
	o.kind, o.confirm, o.stream = outWrite, h.Flags&(xwire.FlagDelivery|xwire.FlagCommit) != 0, n+int(h.PayloadLen())
	o.write = Write{HasData: h.Flags&xwire.FlagCQData != 0, Delivery: o.confirm}
	if o.write.HasData {
		o.write.Data = h.CQData
	}
	o.nrange = uint8(copy(o.remote[:], h.IOV[:h.IovCnt]))
	// The payload of a write may have as many slices as an operation.
	g.fill(int(h.PayloadLen()), xengine.MaxIOV)
}
