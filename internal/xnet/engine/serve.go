package engine

import (
	"gofabric/internal/atomics"
	"gofabric/internal/xnet/wire"
)

// Remote memory access: the peer's requests, and the answers to ours. Each access is checked against the registered
// memory before a byte moves (fi_mr(3)). If both ends have verdicts, a refusal is reported and the connection
// continues; otherwise it ends, as with native.

// serveRead queues the answer to a read request. The payload is sent from the registered memory without a copy, if
// it is large.
func (c *Conn) serveRead() {
	h := &c.pool.hdr
	op := c.pool.getTx()
	op.internal, op.context = true, c.rx.index
	op.Kind = KindRemoteRead
	n := uint64(0)
	for i, v := range h.IOV[:h.IovCnt] {
		mem, region, no := c.mem.Verify(v.Key, v.Addr, v.Len, false)
		// Nothing of the read has begun: refuse it as a whole.
		if no != 0 {
			c.pool.putTx(op)
			c.refuseAccess(no, i, true)
			return
		}
		// Regions are counted when the data has left.
		op.IOV[i], op.RMA[i], op.regions[i] = mem, v, region
		n += v.Len
	}
	op.NIOV = int(h.IovCnt)
	c.replies++
	r := &c.pool.scratch
	*r = wire.Header{Op: wire.OpReadRsp}
	r.SetPayload(n)
	c.queuePayload(r, op, int(n))
	// The peer asks faster than it reads. It is not read until it has taken its answers.
	if int(c.replies) > c.cfg.InternalMax {
		c.becomeStalled(stallReplies)
	}
	c.sink.Replied(c)
}

// startReadResponse directs the answer to our oldest read into its buffers. Answers come in the order of the
// requests, without a number.
func (c *Conn) startReadResponse() {
	op := c.reads.pop()
	if op == nil {
		c.Fail(ErrProtocol)
		return
	}
	n := c.pool.hdr.PayloadLen()
	to := op.results()
	// The answer must be as long as the request, and of the right kind.
	if n != sum(to) || (c.pool.hdr.Op == wire.OpAtomicRsp) != (op.Atomic != nil) {
		// Fail ends it with the others.
		c.reads.pushFront(op)
		c.Fail(ErrProtocol)
		return
	}
	l := c.expect(inRead, n)
	l.tx, l.n = op, len(to)
	copy(l.segs[:], to)
	if n == 0 {
		c.endPayload()
	}
}

// startWrite directs a peer's write to the memory that it names, if it may. A refused write is received and
// discarded, because its payload is in the stream.
func (c *Conn) startWrite() {
	h := &c.pool.hdr
	l := c.expect(inWrite, h.PayloadLen())
	w := &l.write
	w.refused = 0
	for i, v := range h.IOV[:h.IovCnt] {
		mem, region, no := c.mem.Verify(v.Key, v.Addr, v.Len, true)
		if no != 0 {
			// Without verdicts the connection ends, as with native.
			if !c.Verdicts() {
				c.Fail(ErrAccess)
				return
			}
			l.refuse(no, i)
			break
		}
		l.segs[i], w.region[i], w.to[i] = mem, region, v
		// Regions that count or persist need the memory again at the end.
		if region != nil {
			w.mem[i] = mem
		}
	}
	if w.refused == 0 {
		l.n = int(h.IovCnt)
	}
	l.hasAck = h.Flags&(wire.FlagDelivery|wire.FlagCommit) != 0
	w.commit = h.Flags&wire.FlagCommit != 0
	if w.hasData = h.Flags&wire.FlagCQData != 0; w.hasData {
		w.data = h.CQData
	}
	if l.left == 0 {
		c.endPayload()
	}
}

// endWrite completes a peer's write. It is reported silently, except if it has remote CQ data.
func (c *Conn) endWrite(l *payload) {
	w := &l.write
	no := w.refused
	w.refused = 0
	// The payload was received and discarded; now the refusal may be sent.
	if no != 0 && c.Verdicts() {
		c.refuse(no, w.bad)
		return
	}
	// Persistence comes before the acknowledgement that promises it.
	persistent := !w.commit || persist(&w.region, w.mem[:l.n])
	if persistent {
		countRegions(w.region, w.to[:l.n], true)
	}
	w.forget()
	if !persistent {
		c.refuseAccess(wire.RefusedPersist, 0, false)
		return
	}
	if c.Verdicts() {
		c.accept(l.size)
	} else if l.hasAck {
		c.acknowledge()
	}
	c.pool.done = Completion{
		Kind: KindRemoteWrite, Silent: !w.hasData, HasData: w.hasData, Len: l.size, Data: w.data, Src: c.Src,
	}
	c.accessed()
}

// accessed reports a peer's access to memory (pool.done). It counts for the context that the peer's stream is at.
func (c *Conn) accessed() { c.rx.sinkOfAccess(c.rx.index, c.completions).Completed(&c.pool.done) }

// refuseAccess refuses an access of the peer's that has not begun. back says that it is a read, or an atomic
// operation with a result. Without verdicts the connection ends, as with native: there is no other way to report
// it.
func (c *Conn) refuseAccess(why Refusal, segment int, back bool) {
	switch {
	case !c.Verdicts() && why == wire.RefusedPersist:
		c.Fail(ErrPersist)
	case !c.Verdicts() && why == wire.RefusedOp:
		c.Fail(ErrProtocol)
	case !c.Verdicts():
		c.Fail(ErrAccess)
	case back:
		c.sendVerdict(wire.Verdict{Kind: wire.ExtReadRefused, Why: why, Segment: uint8(segment)})
	default:
		c.refuse(why, uint8(segment))
	}
}

// startAtomic executes a peer's atomic operation at once if all of its operands are in b, and returns their length.
// Otherwise the operands go to a chunk first, because they must be complete.
func (c *Conn) startAtomic(b []byte) int {
	h := &c.pool.hdr
	kind := atomicOps[h.Op-wire.OpAtomic].kind
	// A peer that has no atomic operations must not send any. With verdicts an unknown operation can be refused
	// alone.
	if !c.Extended || !c.Verdicts() && !atomics.Valid(kind, atomics.Datatype(h.OpData), atomics.Op(h.Atomic)) {
		c.Fail(ErrProtocol)
		return 0
	}
	n := h.PayloadLen()
	// Usually the operands are here with the header.
	if n <= uint64(len(b)) {
		c.perform(h, b[:n])
		return int(n)
	}
	a := c.pool.getOperands()
	a.h, a.ch = *h, c.pool.getChunk(int(n))
	l := c.expect(inAtomic, n)
	l.atom, l.n = a, 1
	l.segs[0] = a.ch.b[:n]
	return 0
}

// perform executes a peer's atomic operation with the operands p, if the peer may access the memory. An operation
// that changes memory needs write access, one with a result read access. Each element is atomic (fi_atomic(3)),
// because the domain's lock is held.
func (c *Conn) perform(h *wire.Header, p []byte) {
	dt, do := atomics.Datatype(h.OpData), atomics.Op(h.Atomic)
	iov := h.IOV[:h.IovCnt]
	back := h.Op != wire.OpAtomic
	if !atomics.Valid(atomicOps[h.Op-wire.OpAtomic].kind, dt, do) {
		c.refuseAccess(wire.RefusedOp, 0, back)
		return
	}
	// The wire has checked the operands against the memory in bytes; here it must be whole elements.
	n, ok := memoryLen(iov, dt)
	if !ok {
		c.Fail(ErrProtocol)
		return
	}
	var mem [MaxIOV][]byte
	var regions [MaxIOV]Region
	for i, v := range iov {
		var no Refusal
		// A result reveals the previous content, so it needs read access.
		if back {
			mem[i], regions[i], no = c.mem.Verify(v.Key, v.Addr, v.Len, false)
		}
		// FI_ATOMIC_READ changes nothing.
		if no == 0 && do != atomics.Read {
			mem[i], regions[i], no = c.mem.Verify(v.Key, v.Addr, v.Len, true)
		}
		if no != 0 {
			c.refuseAccess(no, i, back)
			return
		}
	}
	if back {
		c.performFetch(h, mem[:len(iov)], &regions, p, int(n))
		return
	}
	for _, m := range mem[:len(iov)] {
		_ = atomics.Apply(dt, do, m, p[:len(m)]) // the lengths were checked with the header
		p = p[len(m):]
	}
	// Not persistent: the operation has changed memory, but its promise cannot be kept.
	if h.Flags&wire.FlagCommit != 0 && !persist(&regions, mem[:len(iov)]) {
		c.refuseAccess(wire.RefusedPersist, 0, false)
		return
	}
	countRegions(regions, iov, true)
	if c.Verdicts() {
		c.accept(n)
	} else if h.Flags&(wire.FlagDelivery|wire.FlagCommit) != 0 {
		c.acknowledge()
	}
	c.pool.done = Completion{Kind: KindRemoteWrite, Atomic: true, Silent: true, Len: n, Src: c.Src}
	if h.Flags&wire.FlagCQData != 0 {
		c.pool.done.Silent, c.pool.done.HasData, c.pool.done.Data = false, true, h.CQData
	}
	c.accessed()
}

// performFetch is perform for operations that return the n bytes that were in mem. The result is written into the
// chunk behind its header, without another copy.
func (c *Conn) performFetch(h *wire.Header, mem [][]byte, regions *[MaxIOV]Region, p []byte, n int) {
	do := atomics.Op(h.Atomic)
	r := &c.pool.scratch
	*r = wire.Header{Op: wire.OpAtomicRsp}
	r.SetPayload(uint64(n))
	t := c.room(wire.MaxHeader + n)
	from := len(t.b)
	t.b = c.appendHeader(t.b, r)
	// The result is computed where it is sent from.
	result := t.b[len(t.b) : len(t.b)+n]
	t.b = t.b[:len(t.b)+n]
	fetchAll(h, mem, p, result)
	if h.Flags&wire.FlagCommit != 0 && do != atomics.Read && !persist(regions, mem) {
		t.b = t.b[:from]
		c.txID-- // the header is taken back as well
		c.refuseAccess(wire.RefusedPersist, 0, true)
		return
	}
	countRegions(*regions, h.IOV[:h.IovCnt], false)
	op := c.pool.getTx()
	op.internal, op.Kind, op.Data = true, KindFetch, uint64(n)
	c.replies++
	c.results += uint32(n)
	c.staged(t, from, op, true)
	// Results are copies in our memory: their bytes are bounded as well as their number.
	if int(c.replies) > c.cfg.InternalMax || c.results > 2*fetchMax {
		c.becomeStalled(stallReplies)
	}
	c.pool.done = Completion{Kind: KindRemoteRead, Atomic: true, Silent: true, Len: uint64(n), Src: c.Src}
	c.accessed()
	c.sink.Replied(c)
}

// fetchAll executes the operation of h on mem, and puts the previous content of mem into result. p has the
// operands, then the comparands.
func fetchAll(h *wire.Header, mem [][]byte, p, result []byte) {
	dt, do := atomics.Datatype(h.OpData), atomics.Op(h.Atomic)
	var compare []byte
	if h.Op == wire.OpAtomicCompare {
		p, compare = p[:len(result)], p[len(result):]
	}
	for _, m := range mem {
		k := len(m)
		switch {
		case compare != nil:
			_ = atomics.Compare(dt, do, m, p[:k], compare[:k], result[:k])
			p, compare = p[k:], compare[k:]
		case do == atomics.Read:
			_ = atomics.Fetch(dt, do, m, nil, result[:k])
		default:
			_ = atomics.Fetch(dt, do, m, p[:k], result[:k])
			p = p[k:]
		}
		result = result[k:]
	}
}
