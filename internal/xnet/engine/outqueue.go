package engine

// The queue of bytes to transmit. Small messages are copied into chunks and share segments, so that one system call
// sends many. Large payload stays in the application's buffers, of which segments are slices.
//
// segment is a range of bytes to transmit: a part of a chunk, or of an application's buffer.
type segment struct {
	b    []byte
	ch   *chunk // nil: a buffer of the application
	end  int    // where b ends in ch: only neighbours are joined
	op   *TxOp  // the operation that it belongs to; nil: a small message that was copied
	last bool   // op is transmitted when this is; without op: it has messages of the application
}

// outQueue has the bytes to transmit, in order. It does not know their meaning, or whose connection it is.
type outQueue struct {
	segs   []segment
	head   int    // index of the first segment in segs
	tail   *chunk // chunk where the next message is staged
	queued int    // staged bytes that were not transmitted
	bytes  int    // all bytes that were not transmitted

	// For transports that send ahead of what they release (ahead.go): segment and offset of the first byte that was
	// not handed out. Valid while ahead is not 0.
	cur, off int
	ahead    int // bytes handed out and not released
}

// empty reports that there is nothing to transmit.
func (q *outQueue) empty() bool { return q.head == len(q.segs) }

// fits reports whether the next n bytes can be staged in tail.
func (q *outQueue) fits(n int) bool { return q.tail != nil && cap(q.tail.b)-len(q.tail.b) >= n }

// makeRoom makes tail a chunk with room for n bytes, which do not fit into the present one. With frugal an empty
// queue begins with a small chunk.
func (q *outQueue) makeRoom(p *stagePool, n int, frugal bool) *chunk {
	t := q.tail
	// All of it has left, although buffers behind it have not: it can be used again.
	if t != nil && t.unsent == 0 {
		if t.b = t.b[:0]; cap(t.b) >= n {
			return t
		}
		p.putChunk(t)
	}
	if frugal && q.empty() && n <= smallSize {
		t = p.getSmall()
	} else {
		t = p.getChunk(n)
	}
	q.tail = t
	return t
}

// staged notes that bytes were appended to t from position from on, as a part of op. With a nil op they may share a
// segment with their neighbours, and last says that they are a message of the application.
func (q *outQueue) staged(p *stagePool, t *chunk, from int, op *TxOp, last bool) {
	p.open.q = nil
	n := len(t.b) - from
	t.unsent += n
	q.queued += n
	q.bytes += n
	// A small message joins the segment before it, if that ends where this one begins.
	if op == nil && q.head < len(q.segs) {
		if s := &q.segs[len(q.segs)-1]; s.ch == t && s.op == nil && s.end == from {
			s.b, s.end = s.b[:len(s.b)+n], len(t.b)
			s.last = s.last || last
			return
		}
	}
	s := q.segment(p)
	s.b, s.ch, s.end, s.op, s.last = t.b[from:], t, len(t.b), op, last
}

// segment adds a segment to the queue, for the caller to fill in. The caller writes it in place. A copy from the
// stack would read pairs of words that were just written as single words, and wait until the processor's store
// queue is empty (store-to-load forwarding fails).
func (q *outQueue) segment(p *stagePool) *segment {
	if q.segs == nil {
		q.segs = p.getSegs()
	}
	n := len(q.segs)
	if n == cap(q.segs) {
		q.segs = append(q.segs, segment{})
	} else {
		q.segs = q.segs[:n+1] // cleared when its last user left
	}
	return &q.segs[n]
}

// lend queues a buffer of the application, which stays where it is until it is transmitted.
func (q *outQueue) lend(p *stagePool, b []byte, op *TxOp, last bool) {
	p.open.q = nil
	s := q.segment(p)
	s.b, s.op, s.last = b, op, last
	q.bytes += len(b)
}

// lendAll queues the buffers of op as its payload.
func (q *outQueue) lendAll(p *stagePool, op *TxOp) {
	last := op.NIOV - 1
	for last > 0 && len(op.IOV[last]) == 0 {
		last--
	}
	for i, b := range op.IOV[:last+1] {
		if len(b) > 0 {
			q.lend(p, b, op, i == last)
		}
	}
}

// endsLent reports whether the last bytes of the queue are in a buffer of the application.
func (q *outQueue) endsLent() bool { return q.head < len(q.segs) && q.segs[len(q.segs)-1].ch == nil }

// pending lists the next bytes to transmit: see Conn.Pending.
func (q *outQueue) pending(more [][]byte, maxBytes int) (first []byte, list [][]byte) {
	if q.head == len(q.segs) {
		return nil, nil
	}
	// One segment needs no list.
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

// released notes that the transport took n bytes. The caller must then call next until it returns nil.
func (q *outQueue) released(p *stagePool, n int) {
	p.open.q = nil
	q.bytes -= n
	q.ahead = max(q.ahead-n, 0)
}

// next releases the oldest n bytes up to the end of an operation, and returns that operation and the number of
// bytes still to release. It returns nil when all are released. The caller may queue more between two calls, since
// the end of an operation may start another one.
func (q *outQueue) next(p *stagePool, n int) (*TxOp, int) {
	for n > 0 || q.head < len(q.segs) && len(q.segs[q.head].b) == 0 {
		s := &q.segs[q.head]
		if n < len(s.b) {
			q.shorten(s, n)
			break
		}
		n -= len(s.b)
		ch, op, last := s.ch, s.op, s.last
		if ch != nil {
			q.queued -= len(s.b)
			if ch.unsent -= len(s.b); ch.unsent == 0 && ch != q.tail {
				p.putChunk(ch)
			}
		}
		*s = segment{}
		q.head++
		if op != nil {
			if op.started = true; last {
				return op, n
			}
		}
	}
	// All has left: give the memory back, because a connection that is idle holds none. Otherwise move the segments
	// to the front from time to time.
	if q.head == len(q.segs) {
		q.emptied(p)
	} else if q.head > 64 && q.head*2 > len(q.segs) {
		n := copy(q.segs, q.segs[q.head:])
		clear(q.segs[n:])
		q.cur -= q.head
		q.segs, q.head = q.segs[:n], 0
	}
	return nil, 0
}

// shorten removes n bytes from the oldest segment, which is longer.
func (q *outQueue) shorten(s *segment, n int) {
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
}

// unref gives back the chunk of a segment that leaves the queue, if it was the last one in the chunk.
func (q *outQueue) unref(p *stagePool, s *segment) {
	if s.ch.unsent -= len(s.b); s.ch.unsent == 0 && s.ch != q.tail {
		p.putChunk(s.ch)
	}
}

// emptied gives the queue's memory back.
func (q *outQueue) emptied(p *stagePool) {
	p.putSegs(q.segs)
	q.segs, q.head = nil, 0
	q.dropTail(p)
}

// dropTail gives the staging chunk back.
func (q *outQueue) dropTail(p *stagePool) {
	if q.tail != nil {
		p.putChunk(q.tail)
		q.tail = nil
	}
}

// drain empties the queue and calls end for each operation whose end was in it.
func (q *outQueue) drain(p *stagePool, end func(*TxOp)) {
	p.open.q = nil
	segs := q.segs[q.head:]
	q.segs, q.head, q.queued, q.bytes, q.ahead = nil, 0, 0, 0, 0
	for i := range segs {
		s := &segs[i]
		if s.ch != nil {
			q.unref(p, s)
		}
		// Only the last segment of an operation ends it.
		if s.op != nil && s.last {
			end(s.op)
		}
	}
	q.dropTail(p)
}

// withdraw removes the oldest operation of the application that which accepts and of which nothing has left, or
// returns nil. Reads and operations that wait for a match stay, because the peer counts them.
func (q *outQueue) withdraw(p *stagePool, which func(*TxOp) bool) *TxOp {
	p.open.q = nil
	for i := q.head; i < len(q.segs); i++ {
		op := q.segs[i].op
		if op == nil || op.internal || !which(op) || op.started || op.Kind == KindRead || op.Match {
			continue
		}
		// The bytes of other operations between its segments stay in order.
		kept := q.segs[:i]
		for _, s := range q.segs[i:] {
			if s.op != op {
				kept = append(kept, s)
				continue
			}
			q.bytes -= len(s.b)
			if s.ch != nil {
				q.queued -= len(s.b)
				q.unref(p, &s)
			}
		}
		clear(q.segs[len(kept):])
		if q.segs = kept; q.head == len(kept) {
			q.emptied(p)
		}
		q.fixCursor()
		return op
	}
	return nil
}

// copyLent replaces buffers of operations that which accepts by copies.
func (q *outQueue) copyLent(which func(*TxOp) bool) {
	for i := q.head; i < len(q.segs); i++ {
		if s := &q.segs[i]; s.op != nil && s.ch == nil && which(s.op) {
			s.b = append([]byte(nil), s.b...)
		}
	}
}

// operations yields the application's operations that are queued, each once per segment.
func (q *outQueue) operations(yield func(*TxOp) bool) {
	for i := q.head; i < len(q.segs); i++ {
		if op := q.segs[i].op; op != nil && !op.internal && !yield(op) {
			return
		}
	}
}

// promisedEnd is the stream position behind the last byte of operations that are complete for the application. The
// queue begins at start. An operation that is partly transmitted need not be finished for it.
func (q *outQueue) promisedEnd(start uint64) uint64 {
	at, end := start, start
	for i := q.head; i < len(q.segs); i++ {
		s := &q.segs[i]
		if at += uint64(len(s.b)); s.op == nil && s.last || s.op != nil && s.op.promised() {
			end = at
		}
	}
	// Only a partly transmitted operation is left: what counts ends before its first byte.
	if q.head < len(q.segs) && end == start {
		if op := q.segs[q.head].op; op != nil && op.started && !op.promised() {
			sent := op.Send.Len()
			for i := q.head; i < len(q.segs) && q.segs[i].op == op; i++ {
				sent -= len(q.segs[i].b)
			}
			end -= min(uint64(max(sent, 0)), end)
		}
	}
	return end
}
