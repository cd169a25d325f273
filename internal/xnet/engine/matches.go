package engine

// matches are the messages that complete when the peer has matched them with a receive (FI_MATCH_COMPLETE, fi_cq(3)).
// Both ends number such messages in the order of the stream.
type matches struct {
	waiting opList // ours, from when they are queued until the peer has matched them
	nextOut uint32 // the next number of ours
	nextIn  uint32 // and of the peer's
}

// expect notes that op, which is being queued, waits for its match.
func (m *matches) expect(op *TxOp) {
	op.matchID = m.nextOut
	m.nextOut++
	m.waiting.push(op)
}

// number is the number of the peer's message that has just come.
func (m *matches) number() uint32 {
	m.nextIn++
	return m.nextIn - 1
}

// matched returns the operation with a number, which the peer has matched; nil if there is none.
func (m *matches) matched(id uint32) *TxOp {
	op := m.waiting.remove(func(op *TxOp) bool { return op.matchID == id })
	if op != nil {
		op.matched = true
	}
	return op
}

// dropQueued forgets the operations that wait for transmission still.
func (m *matches) dropQueued() {
	for m.waiting.remove(func(op *TxOp) bool { return !op.sent }) != nil {
	}
}
