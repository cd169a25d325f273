package engine

import "gofabric/internal/xnet/wire"

// directMin is the least number of payload bytes that is worth a receive in place: a system call for less costs
// more than the copy.
const directMin = 4 << 10

// payloadKind says where a payload goes.
type payloadKind uint8

const (
	_         payloadKind = iota
	inRecv                // to a posted receive
	inMessage             // to an unexpected message
	inRead                // to a read or fetching operation, as its answer
	inWrite               // to registered memory: the peer's write
	inDiscard             // nowhere
	inExt                 // an OpExt
	inAtomic              // to a chunk: operands of the peer's atomic operation
)

// payload is the payload in progress. Its bytes go to segs from i on. Those of an unexpected message are stored by
// its receive context.
type payload struct {
	kind    payloadKind
	hasAck  bool // acknowledge it when it is complete
	match   bool // also report that the message has met its receive, which promises that this process has it
	i, n    int
	left    uint64 // bytes still to come
	size    uint64 // of the whole payload
	segs    [MaxIOV][]byte
	op      *RxOp
	msg     *message
	tx      *TxOp
	atom    *operands
	matchID uint32
	write   remoteWrite
	next    *payload
}

// remoteWrite is what the end of a peer's write needs.
type remoteWrite struct {
	commit  bool    // make it persistent (FI_COMMIT_COMPLETE)
	refused Refusal // the write is discarded, because of segment bad
	bad     uint8
	hasData bool
	data    uint64
	to      [MaxIOV]wire.RMAIov
	region  [MaxIOV]Region
	mem     [MaxIOV][]byte // of regions that count accesses or are persistent
}

// operands are the operands of a peer's atomic operation that are still coming.
type operands struct {
	h    wire.Header
	ch   *chunk
	next *operands
}

// drop discards the rest of the payload: absorb finds no room for it.
func (l *payload) drop() {
	l.i, l.n = 0, 0
	clear(l.segs[:])
}

// refuse discards the rest of a write because of its segment bad.
func (l *payload) refuse(why Refusal, bad int) {
	l.write.refused, l.write.bad = why, uint8(bad)
	l.drop()
	l.write.forget()
}

// forget drops the references to regions.
func (w *remoteWrite) forget() {
	clear(w.region[:])
	clear(w.mem[:])
}

// absorb copies b to where the payload goes. Bytes without room are lost: the message was too long for its receive.
func (l *payload) absorb(b []byte) {
	for i := l.i; len(b) > 0 && i < l.n; i++ {
		k := copy(l.segs[i], b)
		l.segs[i], b = l.segs[i][k:], b[k:]
		// b is used up.
		if len(l.segs[i]) > 0 {
			break
		}
		l.i = i + 1
	}
}

// direct notes that n bytes have come to where target said. It reports whether they were the last.
func (l *payload) direct(n int) (all bool) {
	l.segs[l.i] = l.segs[l.i][n:]
	// The next bytes go to the next segment.
	if len(l.segs[l.i]) == 0 {
		l.i++
	}
	l.left -= uint64(n)
	return l.left == 0
}

// redirect directs the rest of an unexpected message to op, which has its first stored bytes.
func (l *payload) redirect(op *RxOp, stored uint64) {
	l.kind, l.op, l.msg, l.i, l.n, l.hasAck = inRecv, op, nil, 0, 0, op.ack
	for i := range int(op.niov) {
		b := op.buffer(i)
		// This buffer is filled by the part that was stored.
		if stored >= uint64(len(b)) {
			stored -= uint64(len(b))
			continue
		}
		l.segs[l.n] = b[stored:]
		stored = 0
		l.n++
	}
}

// inboundPool has memory that connections need only while they receive.
type inboundPool struct {
	hdr      wire.Header // the header being handled, of the connection that is running
	payloads *payload
	kepts    *kept
	operands *operands
}

// getPayload returns a payload; expect sets its fields.
func (p *inboundPool) getPayload() *payload {
	l := p.payloads
	if l == nil {
		return &payload{}
	}
	p.payloads, l.next = l.next, nil
	return l
}

// putPayload takes a payload back. Its references must have been cleared.
func (p *inboundPool) putPayload(l *payload) {
	l.next = p.payloads
	p.payloads = l
}

// getOperands and putOperands do the same for operands.
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
