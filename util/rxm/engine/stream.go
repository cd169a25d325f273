package engine

import (
	"errors"

	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/wire"
)

// sendParts is how many parts of payload a message of Lower may have.
const sendParts = 3

// outKind says what an outgoing is.
type outKind uint8

const (
	outNone outKind = iota
	outPacket
	outWrite
	outRead
)

// outgoing is what stands for the next part of upper's stream, ready for Lower.
type outgoing struct {
	kind   outKind
	ack    bool // upper waits for its arrival (and, of packets, Lower is to tell)
	nhead  uint8
	nparts uint8
	nrange uint8
	stream int // bytes of upper's stream
	head   [wire.MaxHeader]byte
	parts  [xengine.MaxIOV][]byte
	remote [xengine.MaxIOV]xwire.RMAIov
	write  Write
	token  uint64 // of a read
	group  uint64 // Lower's, of a packet
}

// cutting is a message that is being cut into segments.
type cutting struct {
	h    wire.Packet // of the last segment
	left uint64      // bytes of payload not cut
	ack  bool
}

// flight is a part of upper's stream that Lower has.
type flight struct {
	stream    int
	ack, done bool
}

// launch notes that Lower has taken what stands for some of the stream, and reports whether it was copied.
func (g *Gateway) launch(stream int, ack, done bool) {
	g.flights.Push(flight{stream: stream, ack: ack, done: done})
	if done {
		g.land()
	}
}

// nextToken is the token of the next flight.
func (g *Gateway) nextToken() uint64 { return tokFlight | (g.landed+uint64(g.flights.Len()))&^tokMask }

// flown notes that Lower needs a part of the stream no more.
func (g *Gateway) flown(name uint64) {
	i := (name - g.landed) &^ tokMask
	if i >= uint64(g.flights.Len()) {
		return
	}
	g.flights.At(int(i)).done = true
	g.land()
}

// land releases the stream in order.
func (g *Gateway) land() {
	for g.flights.Len() > 0 && g.flights.At(0).done && g.up.State() == xengine.Connected {
		f := g.flights.Pop()
		g.landed++
		g.up.Transmitted(f.stream)
		if f.ack {
			g.up.Arrived()
		}
	}
}

// sendNext gives Lower what is ready, and reports whether it took it.
func (g *Gateway) sendNext() bool {
	o := &g.next
	var err error
	done := false
	switch o.kind {
	case outPacket:
		if !g.credit(false) {
			return false
		}
		done, err = g.low.Send(o.head[:o.nhead], o.parts[:o.nparts], o.ack, o.group, g.nextToken())
	case outWrite:
		done, err = g.low.Write(o.parts[:o.nparts], o.remote[:o.nrange], o.write, g.nextToken())
	case outRead:
		done, err = true, g.low.Read(o.parts[:o.nparts], o.remote[:o.nrange], o.token)
	}
	if !g.took(err) {
		return false
	}
	if o.kind == outPacket {
		g.spend()
	}
	stream, ack := o.stream, o.ack
	o.kind = outNone
	clear(o.parts[:o.nparts])
	g.launch(stream, ack, done)
	return true
}

// took reports whether Lower has taken something; errors but ErrAgain end the connection.
func (g *Gateway) took(err error) bool {
	if err != nil && err != xengine.ErrAgain {
		g.Fail(err)
	}
	return err == nil
}

// makeNext makes the next operation of upper's stream ready, and reports whether there may be more to do.
func (g *Gateway) makeNext() bool {
	var h xwire.Header
	n, ok := g.nextHeader(&h)
	if !ok {
		g.protocol() // our own Conn: cannot be
		return false
	}
	switch h.Op {
	case xwire.OpMsg, xwire.OpTag:
		if h.Op == xwire.OpMsg && h.OpData == xwire.OpDataAck {
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
		return g.makeLoan(&h, n)
	default:
		g.protocol()
		return false
	}
	return g.alive()
}

// nextHeader takes a header from upper's stream; it is queued as a whole.
func (g *Gateway) nextHeader(h *xwire.Header) (int, bool) {
	var buf [xwire.MaxHeader]byte
	if g.take(buf[:xwire.BaseLen]) != xwire.BaseLen {
		return 0, false
	}
	n, err := xwire.PeekHeaderLen(buf[:])
	if err != nil || n > len(buf) || g.take(buf[xwire.BaseLen:n]) != n-xwire.BaseLen {
		return 0, false
	}
	_, err = h.Decode(buf[:n], xwire.Little)
	return n, err == nil
}

// take copies the next bytes of upper's stream to b.
func (g *Gateway) take(b []byte) int {
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

// packet makes a packet ready whose headers are p, with the next n bytes of upper's stream for payload. stream bytes before them belong to it.
func (g *Gateway) packet(p *wire.Packet, stream, n int, ack bool) {
	o := &g.next
	o.kind, o.ack, o.stream, o.group = outPacket, ack, stream+n, 0
	if p.Type == wire.TypeSegment && p.Part != wire.First {
		o.group = p.MsgID
	}
	p.Conn = g.cfg.RemoteConn
	o.nhead = uint8(len(p.Append(o.head[:0])))
	g.fill(n, sendParts)
}

// errHalf ends a connection whose operations are not queued whole. It cannot be: Submit and the answers of xengine.Conn queue a header and all that belongs to it
// at once, of the Conn's own account and never of what a peer says; Cancel takes an operation out whole, or leaves it when its header was handed out; and
// nothing is made of a Conn that has closed (alive).
var errHalf = errors.New("rxm: an operation is not queued whole")

// fill lends the next n bytes of upper's stream to what is being made ready, in at most most parts.
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
	rest := make([]byte, n-got) // the message is in more pieces than there is room for
	if g.take(rest) != len(rest) {
		g.Fail(errHalf)
		return
	}
	last := list[len(list)-1]
	o.parts[o.nparts-1] = append(last[:len(last):len(last)], rest...)
}

// makeMessage makes a message ready, or its first segment. Its header was n bytes of the stream.
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
	if p.Size <= uint64(g.cfg.EagerLimit) {
		g.packet(p, n, int(p.Size), ack)
		return
	}
	g.segID++
	p.Type, p.Part, p.MsgID, p.SegSize = wire.TypeSegment, wire.First, g.segID, uint16(g.segment())
	g.packet(p, n, int(p.SegSize), false)
	g.cut = cutting{h: *p, left: p.Size - uint64(p.SegSize), ack: ack}
}

// segment is how many bytes a segment has that is not the last.
func (g *Gateway) segment() int { return min(g.cfg.BufferSize, wire.SegmentMax) }

// makeSegment makes the next segment of a message ready.
func (g *Gateway) makeSegment() {
	p := &g.cut.h
	n := min(g.cut.left, uint64(g.segment()))
	g.cut.left -= n
	p.SegNo++
	p.Part, p.SegSize = wire.Middle, uint16(n)
	if g.cut.left == 0 {
		p.Part = wire.Last
	}
	g.packet(p, 0, int(n), g.cut.ack && g.cut.left == 0)
}

// makeRead makes a read ready.
func (g *Gateway) makeRead(h *xwire.Header, n int) {
	op := g.up.TakeRequest()
	if op == nil {
		g.protocol()
		return
	}
	o := &g.next
	o.kind, o.ack, o.stream = outRead, false, n
	o.nparts = uint8(copy(o.parts[:], op.IOV[:op.NIOV]))
	o.nrange = uint8(copy(o.remote[:], h.IOV[:h.IovCnt]))
	o.token = tokAsked | g.asked.add(question{op: op})
}

// makeWrite makes a write ready.
func (g *Gateway) makeWrite(h *xwire.Header, n int) {
	o := &g.next
	o.kind, o.ack, o.stream = outWrite, h.Flags&(xwire.FlagDelivery|xwire.FlagCommit) != 0, n+int(h.PayloadLen())
	o.write = Write{HasData: h.Flags&xwire.FlagCQData != 0, Delivery: o.ack}
	if o.write.HasData {
		o.write.Data = h.CQData
	}
	o.nrange = uint8(copy(o.remote[:], h.IOV[:h.IovCnt]))
	g.fill(int(h.PayloadLen()), xengine.MaxIOV)
}
