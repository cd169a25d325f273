package engine

// segment is a run of bytes to transmit: part of a chunk, or of a user's buffer.
type segment struct {
	b    []byte
	ch   *chunk
	end  int   // where b ends in ch, so that only neighbours are joined
	op   *TxOp // the operation it belongs to, nil for coalesced small messages
	last bool  // op is transmitted when this is; without op: there are messages of the application in it
}

// outQueue holds what is to be transmitted, in order.
type outQueue struct {
	segs   []segment
	head   int
	tail   *chunk
	queued int // staged bytes not yet transmitted
	bytes  int // all bytes not yet transmitted

	// Of transports that send ahead of what they release (ahead.go): where the bytes begin that are not handed out. Valid while ahead is not 0.
	cur, off int
	ahead    int // bytes handed out and not released
}

func (q *outQueue) empty() bool { return q.head == len(q.segs) }

// chunkFor returns a chunk with room for n bytes.
func (c *Conn) chunkFor(n int) *chunk {
	t := c.out.tail
	if t != nil && cap(t.b)-len(t.b) >= n {
		return t
	}
	if t != nil && t.unsent == 0 { // all of it has left, though what follows it has not
		if t.b = t.b[:0]; cap(t.b) >= n {
			return t
		}
		c.pool.putChunk(t)
	}
	if c.cfg.Frugal && c.out.empty() && n <= smallSize {
		t = c.pool.getSmall()
	} else {
		t = c.pool.getChunk(n)
	}
	c.out.tail = t
	return t
}

// staged notes that bytes were appended to t from position from on, as a part of op (nil: may share a segment with its neighbours; last then says that it is a
// message, not an answer).
func (c *Conn) staged(t *chunk, from int, op *TxOp, last bool) {
	q := &c.out
	c.pool.run.c = nil
	n := len(t.b) - from
	t.unsent += n
	q.queued += n
	q.bytes += n
	if op == nil && q.head < len(q.segs) {
		if s := &q.segs[len(q.segs)-1]; s.ch == t && s.op == nil && s.end == from {
			s.b, s.end = s.b[:len(s.b)+n], len(t.b)
			s.last = s.last || last
			return
		}
	}
	s := c.segment()
	s.b, s.ch, s.end, s.op, s.last = t.b[from:], t, len(t.b), op, last
}

// segment adds one to the queue, for the caller to fill in. It is made where it stays: copied there from the stack, what was written in words would be read in
// pairs of words at once, which waits until the words have left the processor's store queue.
func (c *Conn) segment() *segment {
	q := &c.out
	if q.segs == nil {
		q.segs = c.pool.getSegs()
	}
	n := len(q.segs)
	if n == cap(q.segs) {
		q.segs = append(q.segs, segment{})
	} else {
		q.segs = q.segs[:n+1] // cleared when its last one left
	}
	return &q.segs[n]
}

// stageBytes stages what f appends; at most a few hundred bytes.
func (c *Conn) stageBytes(f func([]byte) []byte) {
	t := c.chunkFor(512)
	from := len(t.b)
	t.b = f(t.b)
	c.staged(t, from, nil, false)
}

// lend queues a user's buffer.
func (c *Conn) lend(b []byte, op *TxOp, last bool) {
	c.pool.run.c = nil
	s := c.segment()
	s.b, s.op, s.last = b, op, last
	c.out.bytes += len(b)
}

// HasPending reports whether there is something to transmit.
func (c *Conn) HasPending() bool { return !c.out.empty() }

// Staged counts the staged bytes that wait for transmission.
func (c *Conn) Staged() int { return c.out.queued }

// Queued counts all bytes that wait for transmission.
func (c *Conn) Queued() int { return c.out.bytes }

// Lent reports whether what was queued last is a user's buffer.
func (c *Conn) Lent() bool {
	q := &c.out
	return q.head < len(q.segs) && q.segs[len(q.segs)-1].ch == nil
}

// Pending returns what to transmit next, at most max slices; with a single one, first holds it and more is nil. The slices are lent until the
// next call that changes the connection.
func (c *Conn) Pending(more [][]byte, maxBytes int) (first []byte, list [][]byte) {
	q := &c.out
	if q.head == len(q.segs) {
		return nil, nil
	}
	if q.head+1 == len(q.segs) {
		return q.segs[q.head].b, nil
	}
	list = more[:0]
	for i := q.head; i < len(q.segs) && len(list) < cap(more) && maxBytes > 0; i++ {
		list = append(list, q.segs[i].b)
		maxBytes -= len(q.segs[i].b)
	}
	return nil, list
}

// Transmitted says that the transport took the next n bytes, or, after Next, that it needs the oldest n that it was handed no more.
func (c *Conn) Transmitted(n int) {
	q := &c.out
	c.pool.run.c = nil
	c.BytesOut += uint64(n)
	q.bytes -= n
	q.ahead = max(q.ahead-n, 0)
	for n > 0 || q.head < len(q.segs) && len(q.segs[q.head].b) == 0 {
		s := &q.segs[q.head]
		if n < len(s.b) {
			if s.ch != nil {
				s.ch.unsent -= n
				q.queued -= n
			}
			if s.op != nil {
				s.op.started = true
			}
			s.b = s.b[n:]
			if q.cur == q.head {
				q.off -= n
			}
			break
		}
		n -= len(s.b)
		ch, op, last := s.ch, s.op, s.last
		if ch != nil {
			ch.unsent -= len(s.b)
			q.queued -= len(s.b)
			if ch.unsent == 0 && ch != q.tail {
				c.pool.putChunk(ch)
			}
		}
		*s = segment{}
		q.head++
		if op != nil {
			op.started = true
			if last {
				c.transmitted(op)
			}
		}
	}
	if q.head == len(q.segs) {
		c.emptied()
	} else if q.head > 64 && q.head*2 > len(q.segs) {
		n := copy(q.segs, q.segs[q.head:])
		clear(q.segs[n:])
		q.cur -= q.head
		q.segs, q.head = q.segs[:n], 0
	}
	if c.stall == stallReplies && int(c.replies) <= c.cfg.InternalMax/2 && c.results <= fetchMax && c.fewAnswers() {
		c.unstall()
	}
}

// emptied gives back the memory of the queue, for all of it has left.
func (c *Conn) emptied() {
	q := &c.out
	c.pool.putSegs(q.segs)
	q.segs, q.head = nil, 0
	if q.tail != nil {
		c.pool.putChunk(q.tail)
		q.tail = nil
	}
	if c.said != nil {
		c.said.answers = answers{}
	}
}

// transmitted decides what an operation waits for now that all of it has left.
func (c *Conn) transmitted(op *TxOp) {
	switch {
	case op.internal:
		c.replies--
		if op.Kind == KindFetch {
			c.results -= uint32(op.Data)
			c.pool.putTx(op)
			return
		}
		countRegions(op.regions, op.RMA[:op.NIOV], false)
		c.pool.done = Completion{Kind: KindRemoteRead, Silent: true, Len: uint64(op.Send.Len()), Src: c.Src}
		context := op.context
		c.pool.putTx(op)
		c.accessed(context)
	case op.Match:
		if op.left = true; op.matched {
			c.finish(op)
		}
	case c.judged(op):
		c.speech().asked.push(op)
	case op.Ack || op.Commit:
		c.acks.push(op)
	default:
		c.finish(op)
	}
}

// finish completes an operation of the application.
func (c *Conn) finish(op *TxOp) { c.finishErr(op, nil) }

func (c *Conn) finishErr(op *TxOp, err error) {
	if op.internal {
		c.replies--
		c.pool.putTx(op)
		return
	}
	c.ops--
	c.pool.done = Completion{Kind: op.Kind, Silent: op.Silent || op.Inject, Inject: op.Inject, Ctx: op.Ctx, Flags: op.Flags, Len: op.moved(), Tag: op.Tag, Data: op.Data, Src: c.Src, Err: err, Mark: op.Mark, Owner: op.Owner}
	c.pool.putTx(op)
	c.sink.Completed(&c.pool.done)
	if c.waiting.head != nil {
		c.release()
	}
}

// drain ends everything queued with err.
func (q *outQueue) drain(c *Conn, err error) {
	c.pool.run.c = nil
	segs := q.segs[q.head:]
	q.segs, q.head, q.queued, q.bytes, q.ahead = nil, 0, 0, 0, 0
	for _, s := range segs {
		if s.ch != nil {
			if s.ch.unsent -= len(s.b); s.ch.unsent == 0 && s.ch != q.tail {
				c.pool.putChunk(s.ch)
			}
		}
		if s.op != nil && s.last {
			c.finishErr(s.op, err)
		}
	}
	if q.tail != nil {
		c.pool.putChunk(q.tail)
		q.tail = nil
	}
}

// Cancel withdraws the oldest send posted with ctx of which nothing has left yet, and reports whether there was one.
func (c *Conn) Cancel(ctx uint64) bool {
	return c.cancel(func(op *TxOp) bool { return op.Ctx == ctx })
}

func (c *Conn) cancel(which func(*TxOp) bool) bool {
	if op := c.waiting.remove(which); op != nil {
		c.waits--
		c.finishErr(op, ErrCanceled)
		return true
	}
	q := &c.out
	c.pool.run.c = nil
	for i := q.head; i < len(q.segs); i++ {
		op := q.segs[i].op
		if op == nil || op.internal || !which(op) || op.started || op.Kind == KindRead || op.Match { // the peer numbers those that it is to tell of
			continue
		}
		kept := q.segs[:i]
		for _, s := range q.segs[i:] {
			if s.op != op {
				kept = append(kept, s)
				continue
			}
			q.bytes -= len(s.b)
			if s.ch != nil {
				s.ch.unsent -= len(s.b)
				q.queued -= len(s.b)
				if s.ch.unsent == 0 && s.ch != q.tail {
					c.pool.putChunk(s.ch)
				}
			}
		}
		c.unsettle()
		clear(q.segs[len(kept):])
		if q.segs = kept; q.head == len(kept) {
			c.emptied()
		}
		q.settle()
		c.finishErr(op, ErrCanceled)
		return true
	}
	return false
}
