package engine

import "gofabric/internal/xnet/wire"

// directMin is the payload left below which it is not worth receiving in place.
const directMin = 4 << 10

// payloadKind says where a payload goes.
type payloadKind uint8

const (
	_         payloadKind = iota
	inRecv                // to a posted receive
	inMessage             // to an unexpected message
	inRead                // to a read operation, as its answer
	inWrite               // to registered memory: a peer writes
	inDiscard             // nowhere
	inExt                 // an OpExt
	inAtomic              // operands of an atomic operation
)

// payload is the payload in progress. Its bytes go to segs from i on; those of an unexpected message are stored by its
// context.
type payload struct {
	kind    payloadKind
	hasAck  bool // acknowledge when it is all here
	match   bool // then say, too, that the message is matched, which promises that this process has it
	i, n    int
	left    uint64 // bytes still to come
	size    uint64 // of all of it
	segs    [MaxIOV][]byte
	op      *RxOp
	msg     *message
	tx      *TxOp
	atom    *operands
	matchID uint32
	write   remoteWrite
	next    *payload
}

// remoteWrite holds what a peer's write needs at its end.
type remoteWrite struct {
	commit  bool    // make it persistent
	refused Refusal // it is dropped, because of segment bad
	bad     uint8
	hasData bool
	data    uint64
	to      [MaxIOV]wire.RMAIov
	region  [MaxIOV]Region
	mem     [MaxIOV][]byte // of regions that count accesses or are persistent
}

// operands are those of a peer's atomic operation, which are still coming.
type operands struct {
	h    wire.Header
	ch   *chunk
	next *operands
}

// drop lets the rest of the payload go nowhere: absorb finds no room for it.
func (l *payload) drop() {
	l.i, l.n = 0, 0
	clear(l.segs[:])
}

// refuse drops the rest of a write, because of its segment bad.
func (l *payload) refuse(why Refusal, bad int) {
	l.write.refused, l.write.bad = why, uint8(bad)
	l.drop()
	l.write.forget()
}

// forget lets go of the regions.
func (w *remoteWrite) forget() {
	clear(w.region[:])
	clear(w.mem[:])
}

// absorb copies b to where the payload goes. Bytes that find no room are lost: the message was too long.
func (l *payload) absorb(b []byte) {
	for i := l.i; len(b) > 0 && i < l.n; i++ {
		k := copy(l.segs[i], b)
		l.segs[i], b = l.segs[i][k:], b[k:]
		if len(l.segs[i]) > 0 {
			break
		}
		l.i = i + 1
	}
}

// direct notes that n bytes have come to where target said, and reports whether they were the last.
func (l *payload) direct(n int) (all bool) {
	l.segs[l.i] = l.segs[l.i][n:]
	if len(l.segs[l.i]) == 0 {
		l.i++
	}
	l.left -= uint64(n)
	return l.left == 0
}

// redirect lets the rest of an unexpected message go to op, which has the first stored bytes.
func (l *payload) redirect(op *RxOp, stored uint64) {
	l.kind, l.op, l.msg, l.i, l.n, l.hasAck = inRecv, op, nil, 0, 0, op.ack
	for i := range int(op.niov) {
		b := op.buffer(i)
		if stored >= uint64(len(b)) {
			stored -= uint64(len(b))
			continue
		}
		l.segs[l.n] = b[stored:]
		stored = 0
		l.n++
	}
}

// inboundPool holds memory that connections need only while they receive. It comes back cleared, as far as it matters.
type inboundPool struct {
	hdr      wire.Header // the message that has come, on whatever connection is at work
	payloads *payload
	kepts    *kept
	operands *operands
}

func (p *inboundPool) getPayload() *payload {
	l := p.payloads
	if l == nil {
		return &payload{}
	}
	p.payloads, l.next = l.next, nil
	return l
}

func (p *inboundPool) putPayload(l *payload) {
	l.next = p.payloads
	p.payloads = l
}

func (p *inboundPool) getOperands() *operands {
	a := p.operands
	if a == nil {
		return &operands{}
	}
	p.operands, a.next = a.next, nil
	return a
}

func (p *inboundPool) putOperands(a *operands) {
	a.ch, a.next = nil, p.operands
	p.operands = a
}
