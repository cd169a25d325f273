package engine

import (
	"math/bits"

	"gofabric/internal/match"
)

type (
	queue    = match.Queue[*RxOp, *message]
	recvNode = match.Recv[*RxOp]
)

// messageOverhead is what a stored message counts for besides its payload, bytes.
const messageOverhead = 256

// RxContext is where messages meet posted receives: an endpoint's own, a shared receive context, or that of all connections of an RDM endpoint.
type RxContext struct {
	// Limit and PeerLimit bound the bytes of unexpected messages kept, altogether and per connection. Beyond them a connection is not read. The more the others
	// have, the less a connection may (dynamic thresholds, Choudhury and Hahne, 1998), but for a thousandth of Limit, 16 KiB at most, that any one may have: so
	// those that fill the room do not keep the small messages of others out.
	Limit, PeerLimit uint64
	// PeerMessages bounds their number per connection; 0 means no bound (FI_TCP_MAX_SAVED).
	PeerMessages int
	// MinMulti is the room below which a multi-receive buffer is given back, bytes.
	MinMulti int
	// Depth bounds the posted receives.
	Depth int
	// Sink takes completions that concern no connection: cancels and peeks.
	Sink Sink
	// Collect makes Sink take the completions of all receives, whatever connection brings their messages.
	Collect bool

	pool    *Pool
	msgs    queue
	tags    queue
	bytes   uint64
	stalled []*Conn
	claimed map[uint64]*message
	coll    *collectives // nil until SetCollector
	done    Completion
	group   []*RxContext // that connections choose from, this one among them; nil for a context that is alone
	index   uint8        // in group
	closed  bool         // messages are dropped
}

// NewRxContext makes a receive context whose memory comes from pool.
func NewRxContext(pool *Pool, sink Sink) *RxContext {
	return &RxContext{Limit: 256 << 20, PeerLimit: 64 << 20, MinMulti: 1, Depth: 1 << 16, Sink: sink, pool: pool}
}

// NewOp returns a receive to fill in and post, nil when too many are posted.
func (rx *RxContext) NewOp() *RxOp {
	if rx.msgs.Posted()+rx.tags.Posted() >= rx.Depth {
		return nil
	}
	return rx.pool.getRx()
}

// Room is how many receives NewOp has. LateOp is NewOp for a receive that was accepted while there was room, even if there is none by now.
func (rx *RxContext) Room() int     { return max(rx.Depth-rx.Posted(), 0) }
func (rx *RxContext) LateOp() *RxOp { return rx.pool.getRx() }

// Fail ends an operation from LateOp that is not posted, with a completion that says so.
func (rx *RxContext) Fail(op *RxOp, err error) { rx.abandon(op, err) }

// FreeOp returns an operation from NewOp that is not going to be posted.
func (rx *RxContext) FreeOp(op *RxOp) { rx.pool.putRx(op) }

// Posted and Unexpected count the entries of both queues.
func (rx *RxContext) Posted() int     { return rx.msgs.Posted() + rx.tags.Posted() }
func (rx *RxContext) Unexpected() int { return rx.msgs.Unexpected() + rx.tags.Unexpected() }

// held is the memory that unexpected messages of the whole group count for.
func (rx *RxContext) held() uint64 {
	n := rx.bytes
	for _, r := range rx.group {
		if r != rx {
			n += r.bytes
		}
	}
	return n
}

// UnexpectedBytes is the memory that unexpected messages count for.
func (rx *RxContext) UnexpectedBytes() uint64 { return rx.bytes }

// PostMsg posts a receive for untagged messages.
func (rx *RxContext) PostMsg(op *RxOp, src uint64) {
	op.node.Src, op.node.Tag, op.node.Ignore = src, 0, 0
	if rx.msgs.Unexpected() > 0 {
		if op = rx.take(&rx.msgs, op); op == nil {
			return
		}
	}
	rx.msgs.Post(&op.node)
}

// take delivers unexpected messages of q to op until it is used up or none is left for it. It returns what is left of op.
func (rx *RxContext) take(q *queue, op *RxOp) *RxOp {
	for op != nil && q.Unexpected() > 0 {
		m := q.Take(op.node.Src, op.node.Tag, op.node.Ignore)
		if m == nil {
			break
		}
		op = rx.deliver(op, m.Value)
	}
	return op
}

// PostTagged posts a receive for tagged messages.
func (rx *RxContext) PostTagged(op *RxOp, src, tag, ignore uint64) {
	op.node.Src, op.node.Tag, op.node.Ignore = src, tag, ignore
	if rx.tags.Unexpected() > 0 {
		if op = rx.take(&rx.tags, op); op == nil {
			return
		}
	}
	rx.tags.Post(&op.node)
}

// matchMsg and matchTag find the receive for a message whose header has come; the room for it is carved out of a multi-receive buffer.
func (rx *RxContext) matchMsg(src, n uint64) *RxOp {
	r := rx.msgs.PeekPosted(src, 0)
	if r == nil {
		return nil
	}
	op := r.Value
	if op.Multi {
		child, rest := rx.carve(op, n)
		if rest != nil {
			return child // what is left of the buffer keeps its place in the queue
		}
		op = child
	}
	rx.msgs.Remove(r)
	return op
}

func (rx *RxContext) matchTag(src, tag, n uint64) *RxOp {
	r := rx.tags.PeekPosted(src, tag)
	if r == nil {
		return nil
	}
	if op := r.Value; op.Multi {
		if child, rest := rx.carve(op, n); rest != nil {
			return child
		}
	}
	rx.tags.Remove(r)
	return r.Value
}

// carve takes room for n bytes out of the multi-receive op. It returns the receive for them, and op if there is room for more.
func (rx *RxContext) carve(op *RxOp, n uint64) (child, rest *RxOp) {
	if op.multi == nil {
		op.multi = rx.pool.getMulti()
	}
	mb := op.multi
	mb.users++
	room := uint64(len(op.buf))
	if n > room || room-n < uint64(max(rx.MinMulti, 1)) {
		mb.spent = true
		return op, nil
	}
	child = rx.pool.getRx()
	child.Ctx, child.Flags, child.Silent, child.Multi, child.multi, child.Owner = op.Ctx, op.Flags, op.Silent, true, mb, op.Owner
	child.SetBuf(op.buf[:n:n])
	op.buf = op.buf[n:]
	return child, op
}

// deliver gives the unexpected message m, already out of its queue, to op. It returns what is left of a multi-receive op to post, else nil.
func (rx *RxContext) deliver(op *RxOp, m *message) (rest *RxOp) {
	if op.Multi {
		op, rest = rx.carve(op, m.msgLen)
	}
	rx.hand(op, m)
	return rest
}

// hand is deliver to an op that is for this message alone.
func (rx *RxContext) hand(op *RxOp, m *message) {
	op.hasData, op.data, op.tag, op.src = m.hasData, m.data, m.node.Tag, m.node.Src
	op.ack, op.msgLen, op.sink = m.ack, m.msgLen, rx.sinkFor(m.sink)
	owner, stalls := m.owner, m.stalls
	if m.match && m.conn == nil && owner.state == Connected { // else when all of it has come
		owner.tellMatched(m.matchID)
	}
	switch {
	case m.broken != nil:
		err := m.broken
		rx.free(m)
		rx.finishErr(op, err)
	case m.rts:
		c, index, ref, s := m.conn, m.rtsIndex, m.ref, m.seal
		if len(ref) > 0 {
			c.pullInto(op, ref, index, s)
		} else {
			c.clearToSend(op, index)
		}
		rx.free(m)
	case m.conn != nil:
		m.conn.redirect(m, op)
	default:
		m.copyTo(op)
		rx.free(m)
		rx.finish(op)
	}
	if stalls && owner.stall == stallUnwanted { // it goes on even if others fill the room
		owner.unstall()
	}
	rx.resume()
}

// copyTo copies what is stored of m into op's buffers, as far as there is room.
func (m *message) copyTo(op *RxOp) {
	i, off := 0, 0
	for _, p := range m.parts {
		for len(p) > 0 && i < int(op.niov) {
			n := copy(op.part(i)[off:], p)
			p, off = p[n:], off+n
			if off == len(op.part(i)) {
				i, off = i+1, 0
			}
		}
	}
}

// finish completes a receive whose message is all there.
func (rx *RxContext) finish(op *RxOp) {
	if op.multi != nil || op.discarded || op.size() < op.msgLen {
		rx.finishErr(op, nil)
		return
	}
	sink := op.sink
	if sink == nil {
		sink = rx.Sink
	}
	sink.Received(op)
	rx.pool.putRx(op)
}

func (rx *RxContext) finishErr(op *RxOp, err error) {
	if op.discarded {
		rx.pool.putRx(op)
		return
	}
	d := &rx.done
	*d = Completion{Kind: KindRecv, HasData: op.hasData, Silent: op.Silent, Ctx: op.Ctx, Flags: op.Flags, Len: op.msgLen, Data: op.data, Tag: op.tag, Src: op.src, Err: err, Owner: op.Owner}
	if op.niov > 0 {
		d.Buf = op.buf
	}
	if room := op.size(); err == nil && room < op.msgLen {
		d.Err, d.Len, d.OLen = ErrTruncated, room, op.msgLen-room
	}
	if mb := op.multi; mb != nil {
		mb.users--
		if d.Release = mb.spent && mb.users == 0; d.Release {
			rx.pool.putMulti(mb)
		}
	}
	sink := op.sink
	if sink == nil {
		sink = rx.Sink
	}
	rx.pool.putRx(op)
	sink.Completed(d)
	d.Buf = nil
}

// free drops a message that is in no queue.
func (rx *RxContext) free(m *message) {
	rx.bytes -= m.cost
	m.owner.unexpBytes -= m.cost
	m.owner.unexpCount--
	rx.pool.putMessage(m)
}

// ownMax is the most that any connection may keep, whatever others have, bytes.
const ownMax = 16 << 10

// full reports whether c may not store another byte of unexpected messages. Its part of what is free is such that one alone gets PeerLimit, and half of that while half
// is free, which is most often all that is asked. Products are compared, for each message asks twice: a division showed in the rate of small ones.
func (rx *RxContext) full(c *Conn) bool {
	has, held := c.unexpBytes, rx.held()
	switch {
	case rx.PeerMessages > 0 && int(c.unexpCount) > rx.PeerMessages:
		return true
	case has < rx.PeerLimit/2 && held < rx.Limit/2, has < min(rx.Limit/1024, ownMax, rx.PeerLimit):
		return false
	case held >= rx.Limit:
		return true
	case rx.PeerLimit >= rx.Limit:
		return has >= rx.PeerLimit
	}
	high, low := bits.Mul64(has, rx.Limit-rx.PeerLimit)
	mostHigh, most := bits.Mul64(rx.Limit-held, rx.PeerLimit)
	return high > mostHigh || high == mostHigh && low >= most
}

// resume lets stalled connections go on while there is room.
func (rx *RxContext) resume() {
	if rx.group == nil {
		rx.resumeOwn()
		return
	}
	for _, r := range rx.group { // what one context gives back, others' connections may take
		r.resumeOwn()
	}
}

func (rx *RxContext) resumeOwn() {
	for i := 0; i < len(rx.stalled); {
		c := rx.stalled[i]
		if rx.full(c) {
			i++
			continue
		}
		c.unstall()
		if i < len(rx.stalled) && rx.stalled[i] == c {
			i++
		}
	}
}
