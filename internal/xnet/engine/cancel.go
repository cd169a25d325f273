package engine

import "gofabric/internal/xnet/wire"

// A connection that goes on lets go of operations and buffers.

// Cancel withdraws the oldest send posted with ctx of which nothing has left yet, and reports whether there was one.
func (c *Conn) Cancel(ctx uint64) bool {
	return c.cancel(func(op *TxOp) bool { return op.Ctx == ctx })
}

// CancelOf is Cancel for the operations of one owner.
func (c *Conn) CancelOf(o Owner, ctx uint64) bool {
	return c.cancel(func(op *TxOp) bool { return op.Ctx == ctx && op.Owner == o })
}

func (c *Conn) cancel(which func(*TxOp) bool) bool {
	op := c.waiting.remove(which)
	if op != nil {
		c.waits--
	} else if op = c.out.withdraw(&c.pool.stagePool, which); op != nil && c.answers != nil {
		c.answers.verdicts.settle()
		if c.out.empty() {
			c.answers.budget = answerBudget{}
		}
	}
	if op == nil {
		return false
	}
	c.finishErr(op, ErrCanceled)
	return true
}

// ignored takes the ends of operations whose owner has gone.
type ignored struct{}

func (ignored) Done(*Completion) {}

// Disown lets go of the buffers of all operations of an owner, which is closing while the connection goes on: no end of
// theirs is told any more. Operations that wait are withdrawn; bytes that the peer expects are sent from a copy, and
// its answers are dropped. A transport that sends ahead (Next) may still read the bytes that it was handed, and a peer
// of this host the messages that were announced to it. A Fetcher does not give back buffers before it is done with
// them: a connection where it has some ends.
func (c *Conn) Disown(o Owner) {
	mine := func(op *TxOp) bool { return !op.internal && op.Owner == o }
	ignore := func(list *opList) {
		for op := range list.all {
			if mine(op) {
				op.Owner = ignored{}
			}
		}
	}
	if c.carries(mine) {
		c.Fail(ErrClosed)
		return
	}
	for op := c.waiting.remove(mine); op != nil; op = c.waiting.remove(mine) {
		c.ops--
		c.waits--
		c.pool.putTx(op)
	}
	c.out.copyLent(mine)
	for op := range c.out.operations {
		if mine(op) {
			op.Owner = ignored{}
		}
	}
	ignore(&c.acks)
	if c.answers != nil {
		ignore(&c.answers.verdicts.asked)
	}
	if c.ext != nil {
		ignore(&c.ext.matches.waiting)
	}
	c.disownReads(mine)
	for i, op := range c.rdv.sends {
		if mine(op) {
			c.rdv.t.becomeUnsealed(i) // a peer that has not copied it asks for it, and gets the copy
			op.IOV[0], op.NIOV = join(nil, op.IOV[:op.NIOV]), 1
			op.Owner = ignored{}
		}
	}
}

// carries reports whether the Fetcher has buffers of operations that mine accepts.
func (c *Conn) carries(mine func(*TxOp) bool) bool {
	y := c.oob()
	if y == nil {
		return false
	}
	for _, op := range c.rdv.sends {
		if mine(op) {
			return true
		}
	}
	return y.has(mine)
}

// disownReads is Disown for operations that bring something back.
func (c *Conn) disownReads(mine func(*TxOp) bool) {
	for op := range c.reads.all {
		if !mine(op) {
			continue
		}
		to := op.results()
		for i := range to {
			to[i] = make([]byte, len(to[i]))
		}
		op.Owner = ignored{}
	}
	if l := c.in.now; l != nil && l.kind == inRead && mine(l.tx) {
		l.drop()
		l.tx.Owner = ignored{}
	}
}

// Forget lets go of the memory of a region that is being closed: the rest of a write into it that is still arriving is
// dropped, and the write refused, though some of it may be in place; an answer to a read is sent from a copy.
func (c *Conn) Forget(key uint64) {
	if l := c.in.now; l != nil && l.kind == inWrite {
		for i := range l.n {
			if l.write.to[i].Key == key {
				l.refuse(wire.RefusedKey, i)
				break
			}
		}
	}
	c.out.copyLent(func(op *TxOp) bool {
		if op.internal {
			for _, r := range op.RMA[:op.NIOV] {
				if r.Key == key {
					return true
				}
			}
		}
		return false
	})
}
