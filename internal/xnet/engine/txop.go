package engine

import "gofabric/internal/xnet/wire"

// Send says what to transmit. The driver fills it in and passes it to Conn.Submit, which copies what it needs.
type Send struct {
	Kind    Kind // KindSend, KindRead, KindWrite, KindAtomic, KindFetch or KindCompare with Atomic, or KindColl (SubmitColl)
	Tagged  bool
	HasData bool
	Inject  bool // copy the payload; report errors only
	Copy    bool // copy the payload
	Ack     bool // complete when the peer has acknowledged
	Commit  bool // and has made it persistent
	Match   bool // with Ack, of KindSend: complete when the peer has matched it with a receive
	Silent  bool // no queue entry on success
	Fence   bool // FI_FENCE: it and what follows waits until all before it is complete
	Reads   bool // with Fence: only until all that reads is complete (FI_ORDER_WAR, FI_ORDER_SAR)
	Ctx     uint64
	Flags   uint64
	Tag     uint64
	Data    uint64
	IOV     [MaxIOV][]byte
	NIOV    int
	RMA     [MaxIOV]wire.RMAIov
	NRMA    int
	Atomic  *Atomic // of atomic operations; Submit copies what it points to
	Mark    uint8   // the driver's, given back with the completion
	Owner   Owner   // takes the end in the place of the sink's queues and counters; nil for the application's own operations
}

// SetIOV names the payload; at most MaxIOV parts.
func (s *Send) SetIOV(iov [][]byte) error {
	if len(iov) > MaxIOV {
		return ErrTooLong
	}
	s.NIOV = copy(s.IOV[:], iov)
	return nil
}

// Len is the payload's length in bytes.
func (s *Send) Len() int {
	if s.NIOV == 1 {
		return len(s.IOV[0])
	}
	n := 0
	for _, b := range s.IOV[:s.NIOV] {
		n += len(b)
	}
	return n
}

// Completion returns what Completed would be told of a send that is complete.
func (s *Send) Completion(src uint64) Completion {
	return Completion{Kind: s.Kind, Silent: s.Silent || s.Inject, Inject: s.Inject, Ctx: s.Ctx, Flags: s.Flags, Len: uint64(s.Len()), Tag: s.Tag, Data: s.Data, Src: src, Mark: s.Mark, Owner: s.Owner}
}

// TxOp is an operation that cannot complete at once.
type TxOp struct {
	Send
	internal bool  // a read response: nobody waits for it
	started  bool  // some of it has left
	context  uint8 // of the peer's receive contexts (named.go); of a read response, ours
	left     bool  // of Match: all of it has
	matched  bool  // of Match: the peer says so
	matchID  uint32
	seq      uint32         // its place among the operations of the pool
	regions  [MaxIOV]Region // of a read response
	copied   []byte         // payload of an inject that had to wait
	next     *TxOp
}

// moved is the number of bytes that the operation moves: of those that bring something back, what they bring (fi_cntr(3), FI_CNTR_EVENTS_BYTES).
func (op *TxOp) moved() uint64 {
	if op.Kind == KindFetch || op.Kind == KindCompare {
		return sum(op.Atomic.Result[:op.Atomic.NResult])
	}
	return uint64(op.Send.Len())
}

// opList is a first-in first-out list.
type opList struct{ head, tail *TxOp }

func (l *opList) push(op *TxOp) {
	op.next = nil
	if l.tail == nil {
		l.head = op
	} else {
		l.tail.next = op
	}
	l.tail = op
}

func (l *opList) pushFront(op *TxOp) {
	if op.next = l.head; l.tail == nil {
		l.tail = op
	}
	l.head = op
}

func (l *opList) pop() *TxOp {
	op := l.head
	if op == nil {
		return nil
	}
	if l.head = op.next; l.head == nil {
		l.tail = nil
	}
	op.next = nil
	return op
}

// each empties the list.
func (l *opList) each(f func(*TxOp)) {
	for op := l.pop(); op != nil; op = l.pop() {
		f(op)
	}
}

// remove takes out the first operation that f accepts.
func (l *opList) remove(f func(*TxOp) bool) *TxOp {
	var prev *TxOp
	for op := l.head; op != nil; prev, op = op, op.next {
		if !f(op) {
			continue
		}
		if prev == nil {
			l.pop()
		} else {
			prev.next = op.next
			if l.tail == op {
				l.tail = prev
			}
			op.next = nil
		}
		return op
	}
	return nil
}
