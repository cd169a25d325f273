package engine

// TxOp is an operation that cannot complete at once. It is in one list at a time, or in the queue, or in the table
// of announcements.
type TxOp struct {
	Send
	internal bool  // the answer to a peer's read; the application does not know it
	started  bool  // some of it has left
	context  uint8 // the peer's receive context that it is for; of an answer: ours that was read through
	sent     bool  // with Match: all of it has left
	matched  bool  // with Match: the peer has matched it
	matchID  uint32
	seq      uint32         // number among all operations of the pool
	regions  [MaxIOV]Region // of the answer to a read
	copied   []byte         // payload of an inject that had to wait
	next     *TxOp
}

// moved is the number of bytes that the operation moves; of a fetching atomic operation, that it brings back
// (fi_cntr(3), FI_CNTR_EVENTS_BYTES).
func (op *TxOp) moved() uint64 {
	if op.Kind != KindFetch && op.Kind != KindCompare {
		return uint64(op.Send.Len())
	}
	return op.Atomic.resultLen()
}

// promised reports whether op is complete for the application, which gets only errors (fi_inject(3)).
func (op *TxOp) promised() bool { return op.Inject }

// results returns the buffers that a read or a fetching atomic operation fills.
func (op *TxOp) results() [][]byte {
	if op.Atomic != nil {
		return op.Atomic.Result[:op.Atomic.NResult]
	}
	return op.IOV[:op.NIOV]
}

// keepCopy copies payload and comparands, because the caller's buffers are free after the post.
func (op *TxOp) keepCopy() {
	op.copied = join(make([]byte, 0, op.Send.Len()), op.IOV[:op.NIOV])
	op.IOV[0], op.NIOV = op.copied, 1
	// Comparands belong to the operands.
	if a := op.Atomic; a != nil && a.NCompare > 0 {
		a.Compare[0] = join(nil, a.Compare[:a.NCompare])
		a.NCompare = 1
	}
}

// opList is a first-in, first-out list of operations, linked by their next.
type opList struct{ head, tail *TxOp }

// push appends op.
func (l *opList) push(op *TxOp) {
	op.next = nil
	if l.tail == nil {
		l.head = op
	} else {
		l.tail.next = op
	}
	l.tail = op
}

// pushFront puts op back in front.
func (l *opList) pushFront(op *TxOp) {
	if op.next = l.head; l.tail == nil {
		l.tail = op
	}
	l.head = op
}

// pop removes and returns the oldest operation, or nil.
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

// all yields the operations. They stay in the list.
func (l *opList) all(yield func(*TxOp) bool) {
	for op := l.head; op != nil; op = op.next {
		if !yield(op) {
			return
		}
	}
}

// popAll removes and yields the operations.
func (l *opList) popAll(yield func(*TxOp) bool) {
	for op := l.pop(); op != nil && yield(op); op = l.pop() {
	}
}

// remove removes the first operation that f accepts, or returns nil.
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

// txPool has the free operations of a domain.
type txPool struct {
	tx      *TxOp
	txSeq   uint32
	atomics *Atomic
	// OutTx and OutAtomic count operations in use. Tests use them to find leaks.
	OutTx, OutAtomic int
}

// getTx returns a numbered, empty operation.
func (p *txPool) getTx() *TxOp {
	p.OutTx++
	op := p.tx
	if op == nil {
		op = &TxOp{}
	} else {
		p.tx, op.next = op.next, nil
	}
	p.txSeq++
	op.seq = p.txSeq
	return op
}

// newTx returns an operation with a copy of s, and of its Atomic, which stays the driver's.
func (p *txPool) newTx(s *Send) *TxOp {
	op := p.getTx()
	op.Send = *s
	if s.Atomic != nil {
		op.Atomic = p.getAtomic(s.Atomic)
	}
	return op
}

// putTx takes an operation back.
func (p *txPool) putTx(op *TxOp) {
	p.OutTx--
	if op.Atomic != nil {
		p.putAtomic(op.Atomic)
	}
	*op = TxOp{next: p.tx}
	p.tx = op
}

// getAtomic returns a copy of a.
func (p *txPool) getAtomic(a *Atomic) *Atomic {
	p.OutAtomic++
	b := p.atomics
	if b == nil {
		b = &Atomic{}
	} else {
		p.atomics = b.next
	}
	*b = *a
	b.next = nil
	return b
}

// putAtomic takes an Atomic back.
func (p *txPool) putAtomic(a *Atomic) {
	p.OutAtomic--
	*a = Atomic{next: p.atomics}
	p.atomics = a
}
