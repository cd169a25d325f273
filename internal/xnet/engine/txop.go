package engine

// TxOp is an operation that cannot complete at once.
type TxOp struct {
	Send
	internal bool  // the answer to a peer's read; the application does not know of it
	started  bool  // some of it has left
	context  uint8 // the peer's receive context that it is for; of the answer to a read, ours that was read through
	sent     bool  // with Match: all of it has left
	matched  bool  // with Match: the peer has matched it
	matchID  uint32
	seq      uint32         // its place among the operations of the pool
	regions  [MaxIOV]Region // of the answer to a read
	copied   []byte         // payload of an inject that had to wait
	next     *TxOp
}

// moved is the number of bytes that the operation moves; for a fetching atomic, the bytes that it brings back
// (fi_cntr(3), FI_CNTR_EVENTS_BYTES).
func (op *TxOp) moved() uint64 {
	if op.Kind != KindFetch && op.Kind != KindCompare {
		return uint64(op.Send.Len())
	}
	return op.Atomic.resultLen()
}

// promised reports whether the application takes op to be done: it is told only of errors (fi_inject(3)).
func (op *TxOp) promised() bool { return op.Inject }

// results returns the buffers that a read or fetching atomic operation fills.
func (op *TxOp) results() [][]byte {
	if op.Atomic != nil {
		return op.Atomic.Result[:op.Atomic.NResult]
	}
	return op.IOV[:op.NIOV]
}

// keepCopy copies the operands, because the caller takes its buffers back now.
func (op *TxOp) keepCopy() {
	op.copied = join(make([]byte, 0, op.Send.Len()), op.IOV[:op.NIOV])
	op.IOV[0], op.NIOV = op.copied, 1
	if a := op.Atomic; a != nil && a.NCompare > 0 {
		a.Compare[0] = join(nil, a.Compare[:a.NCompare])
		a.NCompare = 1
	}
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

// all yields the operations, which stay in the list.
func (l *opList) all(yield func(*TxOp) bool) {
	for op := l.head; op != nil; op = op.next {
		if !yield(op) {
			return
		}
	}
}

// popAll empties the list.
func (l *opList) popAll(yield func(*TxOp) bool) {
	for op := l.pop(); op != nil && yield(op); op = l.pop() {
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

// txPool holds the free operations of a domain.
type txPool struct {
	tx      *TxOp
	txSeq   uint32
	atomics *Atomic
	// OutTx and OutAtomic count operations that are in use, for leak checks.
	OutTx, OutAtomic int
}

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

// newTx returns an operation with a copy of s. The Atomic of s stays the driver's; the operation has a copy.
func (p *txPool) newTx(s *Send) *TxOp {
	op := p.getTx()
	op.Send = *s
	if s.Atomic != nil {
		op.Atomic = p.getAtomic(s.Atomic)
	}
	return op
}

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

func (p *txPool) putAtomic(a *Atomic) {
	p.OutAtomic--
	*a = Atomic{next: p.atomics}
	p.atomics = a
}
