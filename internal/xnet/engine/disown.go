package engine

// nobody takes the ends of operations that nobody waits for.
type nobody struct{}

func (nobody) Done(*Completion) {}

// Disown lets go of the buffers of all operations of an owner, which is closing while the connection goes on: nothing is told of them any more. What has not
// left yet and waits behind others is withdrawn; what the peer expects is sent from a copy, and what it answers is dropped. A transport that sends ahead
// (Next) may still read what it was handed, and a peer of this host what it was told of by reference. A carrier does not give back buffers before it is done with
// them: a connection where it has some ends.
func (c *Conn) Disown(o Owner) {
	mine := func(op *TxOp) bool { return !op.internal && op.Owner == o }
	if c.lends(mine) {
		c.Fail(ErrClosed)
		return
	}
	for op := c.waiting.remove(mine); op != nil; op = c.waiting.remove(mine) {
		c.ops--
		c.waits--
		c.pool.putTx(op)
	}
	q := &c.out
	for i := q.head; i < len(q.segs); i++ {
		if s := &q.segs[i]; s.op != nil && mine(s.op) && s.ch == nil {
			s.b = append([]byte(nil), s.b...)
		}
	}
	for i := q.head; i < len(q.segs); i++ {
		if op := q.segs[i].op; op != nil && mine(op) {
			op.Owner = nobody{}
		}
	}
	for op := c.acks.head; op != nil; op = op.next {
		if mine(op) {
			op.Owner = nobody{}
		}
	}
	if c.said != nil {
		for op := c.said.asked.head; op != nil; op = op.next {
			if mine(op) {
				op.Owner = nobody{}
			}
		}
	}
	if c.pul != nil {
		for op := c.pul.matches.head; op != nil; op = op.next {
			if mine(op) {
				op.Owner = nobody{}
			}
		}
	}
	c.disownReads(mine)
	if c.rdv != nil {
		for i, op := range c.rdv.rts {
			if op != nil && mine(op) {
				c.rdv.becomeUnsealed(uint8(i)) // a peer that has not copied it asks for it, and gets the copy
				op.IOV[0], op.NIOV = join(nil, op.IOV[:op.NIOV]), 1
				op.Owner = nobody{}
			}
		}
	}
}

// disownReads is Disown for operations that bring something back.
func (c *Conn) disownReads(mine func(*TxOp) bool) {
	for op := c.reads.head; op != nil; op = op.next {
		if !mine(op) {
			continue
		}
		to := op.IOV[:op.NIOV]
		if op.Atomic != nil {
			to = op.Atomic.Result[:op.Atomic.NResult]
		}
		for i := range to {
			to[i] = make([]byte, len(to[i]))
		}
		op.Owner = nobody{}
	}
	if in := c.in; in != nil && in.kind == inRead && mine(in.tx) {
		in.i, in.n = 0, 0 // no room: absorb drops what comes
		clear(in.segs[:])
		in.tx.Owner = nobody{}
	}
}

// CancelOf is Cancel for the operations of one owner.
func (c *Conn) CancelOf(o Owner, ctx uint64) bool {
	return c.cancel(func(op *TxOp) bool { return op.Ctx == ctx && op.Owner == o })
}
