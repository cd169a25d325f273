package engine

// fetchMax is how many bytes of results fetching atomics may have under way, so that what a peer must keep of them is bounded: further ones wait.
const fetchMax = 1 << 20

// may says whether op may be launched while others are under way: behind a fence, when all of them are complete. A small send or write that completes
// at once needs no waiting for: the peer takes the stream in order, so that what it brought is in place before anything of the fenced operation
// is looked at. All else completes here only when the transport or the peer has it, which is counted in ops.
func (c *Conn) may(op *TxOp, others int) bool {
	if op.Fence && others > 0 && (!op.Reads || c.reading(op.Kind)) {
		return false
	}
	if c.carriage() != nil && c.carriage().carries(&op.Send) && c.rtsIndex() == 0 {
		return false
	}
	if op.Kind == KindFetch || op.Kind == KindCompare {
		return c.fetching == 0 || uint64(c.fetching)+sum(op.Atomic.Result[:op.Atomic.NResult]) <= fetchMax
	}
	return true
}

// reading reports that something was asked of the peer that has not come yet, or not all of it: the peer sends it from where it is, so that what arrives there
// meanwhile would be seen. Fetching atomics need not wait for each other, for their results are copies.
func (c *Conn) reading(behind Kind) bool {
	if behind >= KindFetch && c.carriage() == nil {
		for op := c.reads.head; op != nil; op = op.next {
			if op.Kind == KindRead {
				return true
			}
		}
		return c.in != nil && c.in.kind == inRead && c.in.tx.Kind == KindRead
	}
	return c.reads.head != nil || c.in != nil && c.in.kind == inRead || c.carriage() != nil && c.carriage().asked.head != nil
}

// Reading reports that an operation posted now could overtake one that reads, and needs a fence if it must not.
func (c *Conn) Reading() bool { return c.waiting.head != nil || c.reading(KindSend) }

// hold keeps an operation for later, behind others.
func (c *Conn) hold(op *TxOp) {
	if (op.Inject || op.Copy) && op.copied == nil { // the caller takes its buffers back now
		n := op.Send.Len()
		op.copied = join(make([]byte, 0, n), op.IOV[:op.NIOV])
		op.IOV[0], op.NIOV = op.copied, 1
		if a := op.Atomic; a != nil && a.NCompare > 0 {
			a.Compare[0] = join(nil, a.Compare[:a.NCompare])
			a.NCompare = 1
		}
	}
	if c.pool.run.c == c {
		c.pool.run.c = nil // what joined it would overtake op
	}
	c.waits++
	c.waiting.push(op)
}

// release launches what needs to wait no more.
func (c *Conn) release() {
	if c.state != Connected || c.releasing {
		return
	}
	c.releasing = true
	some := false
	for op := c.waiting.head; op != nil && c.may(op, int(c.ops-c.waits)); op = c.waiting.head {
		c.waiting.pop()
		c.waits--
		c.launch(op)
		some = true
	}
	c.releasing = false
	if some {
		c.sink.Replied(c)
	}
}

// endWaiting ends what is held, for the connection has ended.
func (c *Conn) endWaiting(err error) {
	c.waits = 0
	c.waiting.each(func(op *TxOp) { c.finishErr(op, err) })
}

// sum is the length of all buffers together, bytes.
func sum(iov [][]byte) uint64 {
	n := 0
	for _, b := range iov {
		n += len(b)
	}
	return uint64(n)
}

// join appends all of iov to b.
func join(b []byte, iov [][]byte) []byte {
	for _, p := range iov {
		b = append(b, p...)
	}
	return b
}
