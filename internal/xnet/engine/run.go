package engine

import (
	"encoding/binary"

	"gofabric/internal/xnet/wire"
)

// Small messages that follow one another to a peer of this module, equally long, with the same tag or none and without remote data, share one header: a run
// (wire.OpRun, OpTagRun). The first is staged as any message; when another one like it comes before the first has left, its header becomes that of a run.
// Headers are a fifth of what 64-byte messages are on the wire, and making and taking them a third of the work.

// openRun is the run that can still grow: that of the last message staged anywhere in the domain. It ends with whatever else is staged or leaves.
type openRun struct {
	c      *Conn
	ch     *chunk
	at     int // of the header in ch
	size   int // of a message's payload
	count  int // messages
	quiet  int // queued bytes below which the driver need not be told of another message
	tag    uint64
	tagged bool
}

// Where the fields of a header are, bytes.
const (
	atOp    = 1
	atCount = 4
	atSize  = 8
)

// beginRun notes that the message staged last, of n bytes with header h, may become a run.
func (c *Conn) beginRun(h *wire.Header, n int) {
	if !c.Ours || h.Flags != 0 || n == 0 {
		return
	}
	t := c.out.tail
	r := &c.pool.run
	r.c, r.ch, r.at, r.size, r.count, r.quiet = c, t, len(t.b)-n-int(h.HdrLen), n, 1, 0 // in place: see segment
	if r.tagged = h.Op == wire.OpTag; r.tagged {
		r.tag = h.Tag
	}
}

// Quiet says that what joins the open run of c needs no word to the driver while fewer than limit bytes are queued: it leaves with the rest.
func (c *Conn) Quiet(limit int) {
	if r := &c.pool.run; r.c == c {
		r.quiet = limit
	}
}

// Loud is Pool.Loud of the pool of c.
func (c *Conn) Loud() int { return c.pool.Loud() }

// Loud ends what Quiet began, and returns how many messages joined meanwhile.
func (p *Pool) Loud() int {
	n := p.joined
	p.run.quiet, p.joined = 0, 0
	return n
}

// Join sends a message that the driver need not be told of, with nothing said but its tag, if it can be put into the open run of c. It is complete then, and
// buf the caller's again; no sink is told.
func (c *Conn) Join(buf []byte, tagged bool, tag uint64) bool {
	r := &c.pool.run
	if r.c != c || c.out.queued >= r.quiet || !c.join(buf, tagged, tag) {
		return false
	}
	c.MsgsOut++
	c.pool.joined++
	return true
}

// join puts a message into the open run, if it fits there.
func (c *Conn) join(buf []byte, tagged bool, tag uint64) bool {
	r := &c.pool.run
	n := len(buf)
	if r.c != c || n != r.size || tagged != r.tagged || tagged && tag != r.tag || r.count == wire.MaxRun {
		return false
	}
	t := r.ch
	from := len(t.b)
	if t != c.out.tail || cap(t.b)-from < n {
		return false
	}
	h := t.b[r.at:]
	if r.count++; r.count == 2 {
		h[atOp] = byte(wire.OpRun)
		if tagged {
			h[atOp] = byte(wire.OpTagRun)
		}
	}
	binary.LittleEndian.PutUint16(h[atCount:], uint16(r.count))
	binary.LittleEndian.PutUint64(h[atSize:], uint64(from+n-r.at))
	t.b = append(t.b, buf...)
	q := &c.out
	t.unsent += n
	q.queued += n
	q.bytes += n
	last := &q.segs[len(q.segs)-1]
	last.b, last.end = last.b[:len(last.b)+n], len(t.b)
	return true
}

// takeRun takes the messages of a run whose header has come, as far as they are in b, and returns how much of b that was. What is left of the run waits as
// a header that has just come.
func (c *Conn) takeRun(b []byte) int {
	h := &c.pool.hdr
	if !c.Ours {
		c.Fail(ErrProtocol)
		return 0
	}
	count := int(h.OpData) | int(h.IovCnt)<<8
	n, tag, tagged := h.PayloadLen()/uint64(count), h.Tag, h.Op == wire.OpTagRun
	if !tagged {
		tag = 0
	}
	h.Flags = 0 // startRecv and newMessage look there
	took := c.takeWhole(b, &count, n, tag, tagged)
	for count > 0 && took < len(b) && (c.state == Connected || c.state == Broken) && c.stall == flowing && (c.in == nil || c.in.left == 0) {
		count--
		c.MsgsIn++
		var op *RxOp
		q := &c.rx.msgs
		if tagged {
			q = &c.rx.tags
			op = c.rx.matchTag(c.Src, tag, n)
		} else {
			op = c.rx.matchMsg(c.Src, n)
		}
		if op != nil {
			took += c.startRecv(op, n, tag, b[took:])
		} else {
			c.startMessage(q, n, tag)
		}
	}
	if count > 0 && c.state == Connected {
		rest := wire.Header{Op: wire.OpRun, OpData: uint8(count), IovCnt: uint8(count >> 8), Tag: tag}
		if tagged {
			rest.Op = wire.OpTagRun
		}
		rest.SetPayload(uint64(count) * n)
		c.part = rest.Append(c.pool.buffer(wire.MaxHeader), c.order)
	}
	return took
}

// takeWhole takes messages of a run as long as each is all in b, and a receive with room for it is there. It lowers count and returns how much of b it took.
func (c *Conn) takeWhole(b []byte, count *int, n, tag uint64, tagged bool) int {
	rx, src, sink := c.rx, c.Src, c.rx.sinkFor(c.sink)
	q := &rx.msgs
	if tagged {
		q = &rx.tags
	}
	took, size := 0, int(n)
	for left := *count; left > 0 && len(b)-took >= size && c.stall == flowing; left-- {
		r := q.PeekPosted(src, tag)
		if r == nil {
			break
		}
		op := r.Value
		if op.Multi || op.multi != nil || op.niov != 1 || len(op.buf) < size {
			break
		}
		q.Remove(r)
		copy(op.buf, b[took:took+size])
		took += size
		op.tag, op.src, op.data, op.msgLen = tag, src, 0, n
		sink.Received(op)
		rx.pool.putRx(op)
		*count = left - 1
		c.MsgsIn++
	}
	return took
}
