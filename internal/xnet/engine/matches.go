package engine

// matches are the messages that complete when the peer has matched them with a receive (FI_MATCH_COMPLETE,
// fi_cq(3)). Both ends number them in the order of the stream, so that the report needs no tag.
type matches struct {
	waiting opList // ours, from the queue to the peer's match
	nextOut uint32 // next number of ours
	nextIn  uint32 // next number of the peer's
}

// expect numbers op, which is being queued.
func (m *matches) expect(op *TxOp) {
	op.matchID = m.nextOut
	m.nextOut++
	m.waiting.push(op)
}

// number returns the number of the peer's message that has just come.
func (m *matches) number() uint32 {
	m.nextIn++
	return m.nextIn - 1
}

// matched returns the operation with this number, which the peer has matched, or nil.
func (m *matches) matched(id uint32) *TxOp {
	op := m.waiting.remove(func(op *TxOp) bool { return op.matchID == id })
	if op != nil {
		op.matched = true
	}
	return op
}

// dropQueued drops the operations that have not left.
func (m *matches) dropQueued() {
	for m.waiting.remove(func(op *TxOp) bool { return !op.sent }) != nil {
	}
}
