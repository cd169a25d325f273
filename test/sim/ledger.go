package sim

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"gofabric/internal/xnet/engine"
)

// anyNode is the source of receives that accept messages from every node (FI_ADDR_UNSPEC).
const anyNode = ^uint64(0)

// channel is where an operation was submitted.
type channel interface {
	up() bool    // operations posted now can still arrive
	ended() bool // operations may fail
	opDone()     // an operation has ended
	opNew()      // an operation was posted

	from() int
	to() *app
	submit(*engine.Send) error
	cancel(ctx uint64) bool
	posted()              // there is something to transmit
	forReads() []byte     // memory of the peer, with key 1
	forWrites() []byte    // memory of the peer to which only this node writes, with key 100 plus our number
	cells() []byte        // numbers at the peer, with key 2, one for each node
	writing(o *op, n int) // n is 1 before o is posted, -1 if it was not accepted
}

// outcome is the error of a completion.
type outcome uint8

const (
	success outcome = iota
	truncated
	canceled
	noMessage
	failed
	refused // by the target
)

// done is a completion of any engine.
type done struct {
	kind      opKind
	inject    bool
	hasData   bool
	release   bool
	ctx       uint64
	n, over   uint64
	data, tag uint64
	src       uint64
	buf       []byte
	how       outcome
	err       error
}

type opKind uint8

const (
	opSend opKind = iota
	opRecv
	opRead
	opWrite
	opPeek
	opFetch
	opAdd // an atomic operation without a result
)

// op is an operation and its result. A send is also the message. The number of an operation is its context.
type op struct {
	id         uint64
	kind       opKind
	node, peer int
	side       channel // where it was submitted
	tagged     bool
	tag        uint64
	n          int // length of the payload
	buf        []byte

	ack, data, inject bool
	doomed            bool // names memory that it may not access
	completed         bool
	cancelled         bool
	succeeded         bool

	// Fields of messages.
	delivered bool
	taken     bool // by a peek that claimed it

	// Fields of receives and peeks.
	src, ignore    uint64
	multi          bool
	claim, discard bool
	found          bool
	order          uint64 // position in the order of becoming able to match
	cancelWanted   bool
	segs           [][]byte // the remote memory of reads and writes
	at             int64    // the time of posting
	result         []byte   // of fetching operations
}

// ledger records all operations of a run.
type ledger struct {
	w           *World
	table       []byte // contents are pieces of it, which the ids determine
	ops         []*op
	injects     int // completions that have not come yet
	completions int
	matches     []match
	moment      uint64
	fetched     map[[2]int]fetched // by node and peer
}

// fetched is the latest number that a fetch returned.
type fetched struct {
	side channel
	v    uint64
}

const tableSize = 1 << 20

func newLedger(w *World) *ledger {
	l := &ledger{w: w, table: make([]byte, tableSize), ops: make([]*op, 1), fetched: map[[2]int]fetched{}}
	for i := 0; i < len(l.table); i += 8 {
		binary.LittleEndian.PutUint64(l.table[i:], uint64(i)*0x9e3779b97f4a7c15>>3)
	}
	return l
}

func (l *ledger) add(o *op) *op {
	o.id = uint64(len(l.ops))
	l.ops = append(l.ops, o)
	l.moment++
	o.order = l.moment
	return o
}

// undo removes an operation that was not accepted.
func (l *ledger) undo(o *op) { l.ops = l.ops[:o.id] }

// body returns n bytes of content, beginning at position 8. The id is before it.
func (l *ledger) body(id uint64, n int) []byte {
	at := int(id*7919) % (tableSize / 2)
	return l.table[at : at+n]
}

func (l *ledger) content(id uint64, n int) []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, max(n, 8)), id)
	if n > 8 {
		b = append(b, l.body(id, n-8)...)
	}
	return b[:n]
}

// intact checks the first bytes of a message of length n.
func (l *ledger) intact(got []byte, id uint64, n int) bool {
	k := min(len(got), 8)
	var head [8]byte
	binary.LittleEndian.PutUint64(head[:], id)
	return len(got) <= n && bytes.Equal(got[:k], head[:k]) &&
		(len(got) <= 8 || bytes.Equal(got[8:], l.body(id, len(got)-8)))
}

func (l *ledger) violate(format string, args ...any) {
	l.w.violate(fmt.Sprintf(format, args...))
}

// completed records the completion of an operation at a node.
func (l *ledger) completed(node int, c *done) {
	l.completions++
	l.w.s.Trace(node, "done", c.ctx<<8|uint64(c.kind), c.n)
	if c.inject { // it has no context unless it failed
		l.injects--
		if c.how == canceled {
			l.ops[c.ctx].cancelled = true
		}
		return
	}
	if c.ctx == 0 || c.ctx >= uint64(len(l.ops)) || l.ops[c.ctx] == nil {
		l.violate("completion of unknown operation %d", c.ctx)
		return
	}
	o := l.ops[c.ctx]
	if o.node != node {
		l.violate("operation %d of node %d completed at node %d", o.id, o.node, node)
	}
	if c.kind == opRecv {
		l.received(o, c)
	} else {
		l.sent(o, c)
	}
}

// sent records the end of a send, read or write.
func (l *ledger) sent(o *op, c *done) {
	if o.kind != c.kind {
		l.violate("operation %d completed as kind %d", o.id, c.kind)
		return
	}
	if o.completed {
		l.violate("operation %d completed twice", o.id)
		return
	}
	o.completed = true
	o.side.opDone()
	switch {
	case c.how == success:
		o.succeeded = true
		if o.doomed && (o.ack || l.w.f.verdicts) {
			l.violate("%d accessed memory without permission", o.id)
		}
		if o.kind == opWrite && l.w.f.verdicts && !o.delivered {
			l.violate("write %d has completed, but the data are not in place", o.id)
		}
		if o.kind == opFetch {
			l.counted(o)
		}
		if o.kind == opRead && !bytes.Equal(o.buf, bytes.Join(o.segs, nil)) {
			l.violate("read %d returned wrong bytes", o.id)
		}
	case c.how == canceled:
		if !o.cancelWanted {
			l.violate("%d was cancelled without a call of cancel", o.id)
		}
		o.cancelled = true
	case c.how == refused:
		if !o.doomed || !l.w.f.verdicts {
			l.violate("%d was refused: %v", o.id, c.err)
		}
		l.w.refusals++
	case !o.side.ended():
		l.violate("%d failed on an open connection: %v", o.id, c.err)
	}
	if l.w.f.scribble && o.kind == opSend {
		clear(o.buf) // the engine must not use it any more
	}
}

// counted checks the result of a fetch: on one connection the next number, on a later connection a greater one.
func (l *ledger) counted(o *op) {
	pair, v := [2]int{o.node, o.peer}, binary.NativeEndian.Uint64(o.result)
	last, again := l.fetched[pair]
	if again && (v <= last.v || last.side == o.side && v != last.v+1) {
		l.violate("fetch %d returned %d after %d", o.id, v, last.v)
	}
	if cell := binary.NativeEndian.Uint64(o.side.cells()[8*o.node:]); v >= cell {
		l.violate("fetch %d returned %d, the cell has %d", o.id, v, cell)
	}
	l.fetched[pair] = fetched{o.side, v}
}

// received records the end of a receive, a peek or the use of a claim.
func (l *ledger) received(o *op, c *done) {
	if o.completed {
		l.violate("receive %d completed twice", o.id)
		return
	}
	o.completed = !o.multi || c.release
	if o.multi && c.how == canceled {
		o.cancelled = true
	}
	switch {
	case o.kind == opPeek:
		l.peeked(o, c)
	case c.how == success || c.how == truncated:
		l.delivered(o, c)
	case c.how == canceled:
		if !o.cancelWanted {
			l.violate("receive %d was cancelled without a call of cancel", o.id)
		}
		o.cancelled = true
	case !l.w.f.mayFail():
		l.violate("receive %d failed although no connection did: %v", o.id, c.err)
	}
}

// message finds the message that a completion at o refers to.
func (l *ledger) message(o *op, c *done) *op {
	id := c.data
	switch {
	case o.tagged:
		id = c.tag >> 8
	case c.hasData:
	case len(o.buf) >= 8 && c.n >= 8:
		id = binary.LittleEndian.Uint64(o.buf)
	}
	if id == 0 || id >= uint64(len(l.ops)) || l.ops[id] == nil || l.ops[id].kind != opSend {
		l.violate("receive %d got unknown message %d", o.id, id)
		return nil
	}
	m := l.ops[id]
	if m.peer != o.node || m.tagged != o.tagged || c.src != uint64(m.node) && (c.src != anyNode || !l.w.f.lateNames) {
		l.violate("receive %d at %d got message %d from %d to %d, reported as from %d", o.id,
			o.node, id, m.node, m.peer, c.src)
	}
	if !o.accepts(m) || c.hasData != m.data || m.data && c.data != id {
		l.violate("receive %d got message %d, which it does not accept, or the data are wrong", o.id, id)
	}
	if m.delivered || m.cancelled {
		l.violate("message %d was delivered again, or after it was cancelled", id)
	}
	return m
}

func (o *op) accepts(m *op) bool {
	return m.tagged == o.tagged && (o.src == anyNode || o.src == uint64(m.node)) &&
		(!o.tagged || (o.tag^m.tag)&^o.ignore == 0)
}

func (l *ledger) delivered(o *op, c *done) {
	if o.discard { // it discards a claimed message
		l.discarded(o, c)
		return
	}
	m := l.message(o, c)
	if m == nil {
		return
	}
	m.delivered = true
	room, got := len(o.buf), o.buf
	if o.multi {
		room, got = len(c.buf), c.buf
	}
	if want := min(m.n, room); int(c.n) != want || int(c.over) != m.n-want || (c.how != success) != (m.n > room) {
		l.violate("message %d of %d bytes for %d: %d received, %d over, %v", m.id, m.n, room, c.n, c.over, c.err)
		return
	}
	if !l.intact(got[:c.n], m.id, m.n) {
		l.violate("message %d has wrong content in receive %d", m.id, o.id)
	}
	if g := o.buf[len(o.buf):cap(o.buf)]; len(g) > 0 && !bytes.Equal(g[:1], guard) {
		l.violate("receive %d was written beyond its end", o.id)
	}
	l.matches = append(l.matches, match{m, o})
}

// guard follows receive buffers in memory.
var guard = []byte{0xa5}

func (l *ledger) peeked(o *op, c *done) {
	if c.how == noMessage {
		return
	}
	m := l.message(o, c)
	if m == nil {
		return
	}
	if c.how != success || int(c.n) != m.n || m.taken {
		l.violate("peek %d: message %d of %d bytes, taken %v: %d, %v", o.id, m.id, m.n, m.taken, c.n, c.err)
	}
	o.found = true
	switch {
	case o.claim:
		m.taken = true
	case o.discard:
		m.delivered = true
		l.matches = append(l.matches, match{m, o})
	}
}

func (l *ledger) discarded(o *op, c *done) {
	if m := l.message(o, c); m != nil {
		m.delivered = true
		l.matches = append(l.matches, match{m, o})
	}
}
