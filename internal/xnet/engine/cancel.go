package engine

import (
	"gofabric/internal/xnet/wire"
	"slices"
)

// Operations and buffers that a connection gives up while it continues.

// Cancel withdraws the oldest send posted with ctx of which nothing has left (fi_cancel(3)). It reports whether
// there was one.
func (c *Conn) Cancel(ctx uint64) bool {
	return c.cancel(func(op *TxOp) bool { return op.Ctx == ctx })
}

// CancelOf is Cancel for the operations of one owner.
func (c *Conn) CancelOf(o Owner, ctx uint64) bool {
	return c.cancel(func(op *TxOp) bool { return op.Ctx == ctx && op.Owner == o })
}

// cancel withdraws the oldest operation that which accepts.
func (c *Conn) cancel(which func(*TxOp) bool) bool {
	op := c.waiting.remove(which)
	// It waited, and was not queued.
	if op != nil {
		c.waits--
	} else if op = c.out.withdraw(&c.pool.stagePool, which); op != nil && c.answers != nil {
		c.answers.verdicts.forgetLast()
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

// ignored is the Owner of operations whose owner has closed.
type ignored struct{}

// Done implements Owner. It does nothing.
func (ignored) Done(*Completion) {}

// Disown gives up the buffers of all operations of an owner that closes while the connection continues. Their ends
// are not reported any more. Operations that wait are withdrawn. Bytes that the peer expects are sent from a copy,
// and its answers are discarded.
//
// A transport that sends ahead (Next) may still read the bytes that it was given, and a peer on this host the
// messages that were announced to it. A Fetcher gives buffers back only when it is done with them, so a connection
// where it has some ends.
func (c *Conn) Disown(o Owner) {
	mine := func(op *TxOp) bool { return !op.internal && op.Owner == o }
	ignore := func(list *opList) {
		for op := range list.all {
			if mine(op) {
				op.Owner = ignored{}
			}
		}
	}
	// The transport may still use the buffers; only the end of the connection takes them back.
	if c.carries(mine) {
		c.Fail(ErrClosed)
		return
	}
	for op := c.waiting.remove(mine); op != nil; op = c.waiting.remove(mine) {
		c.ops--
		c.waits--
		c.pool.putTx(op)
	}
	// The peer expects these bytes.
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

// disownReads is Disown for operations with a result: the result goes to memory that is not used.
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
	// The answer is just arriving.
	if l := c.in.now; l != nil && l.kind == inRead && mine(l.tx) {
		l.drop()
		l.tx.Owner = ignored{}
	}
}

// Forget gives up the memory of a region that is being closed (fi_close(3)). The rest of a write that is arriving
// is discarded, and the write is refused, although a part of it may be in place. An answer to a read is sent from a
// copy.
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
		return op.internal && slices.ContainsFunc(op.RMA[:op.NIOV], func(r wire.RMAIov) bool { return r.Key == key })
	})
}
