package engine

import (
	"gofabric/internal/atomics"
	"gofabric/internal/xnet/wire"
)

// Remote memory access of the peer, and answers to ours.

// serveRead queues the answer to a read request.
func (c *Conn) serveRead() {
	h := &c.pool.hdr
	op := c.pool.getTx()
	op.internal, op.context = true, c.rx.index
	op.Kind = KindRemoteRead
	n := uint64(0)
	for i, v := range h.IOV[:h.IovCnt] {
		mem, region, no := c.mem.Verify(v.Key, v.Addr, v.Len, false)
		if no != 0 {
			c.pool.putTx(op)
			c.forbid(no, i, true)
			return
		}
		op.IOV[i], op.RMA[i], op.regions[i] = mem, v, region
		n += v.Len
	}
	op.NIOV = int(h.IovCnt)
	c.replies++
	r := &c.pool.scratch
	*r = wire.Header{Op: wire.OpReadRsp}
	r.SetPayload(n)
	c.queuePayload(r, op, int(n))
	if int(c.replies) > c.cfg.InternalMax {
		c.becomeStalled(stallReplies)
	}
	c.sink.Replied(c)
}

// startReadResponse directs the answer to the oldest read.
func (c *Conn) startReadResponse() {
	op := c.reads.pop()
	if op == nil {
		c.Fail(ErrProtocol)
		return
	}
	n := c.pool.hdr.PayloadLen()
	to := op.results()
	if n != sum(to) || (c.pool.hdr.Op == wire.OpAtomicRsp) != (op.Atomic != nil) {
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

// startWrite directs a peer's write to the memory it names, if it may.
func (c *Conn) startWrite() {
	h := &c.pool.hdr
	l := c.expect(inWrite, h.PayloadLen())
	w := &l.write
	w.refused = 0
	for i, v := range h.IOV[:h.IovCnt] {
		mem, region, no := c.mem.Verify(v.Key, v.Addr, v.Len, true)
		if no != 0 {
			if !c.Verdicts() {
				c.Fail(ErrAccess)
				return
			}
			l.refuse(no, i)
			break
		}
		l.segs[i], w.region[i], w.to[i] = mem, region, v
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

// endWrite reports a peer's write, silently unless it brought data for the queue.
func (c *Conn) endWrite(l *payload) {
	w := &l.write
	no := w.refused
	w.refused = 0
	if no != 0 && c.Verdicts() {
		c.refuse(no, w.bad)
		return
	}
	persistent := !w.commit || persist(&w.region, w.mem[:l.n])
	if persistent {
		countRegions(w.region, w.to[:l.n], true)
	}
	w.forget()
	if !persistent {
		c.forbid(wire.RefusedPersist, 0, false)
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

// accessed reports a peer's access to memory (pool.done), which counts for the context that the peer's stream is at.
func (c *Conn) accessed() { c.rx.sinkOfAccess(c.rx.index, c.completions).Completed(&c.pool.done) }

// forbid ends an access of the peer's that is not begun: a read, or an atomic operation that brings something back, if
// back; else a write. Without verdicts there is no other way to tell than to end the connection, as native does.
func (c *Conn) forbid(why Refusal, segment int, back bool) {
	switch {
	case !c.Verdicts() && why == wire.RefusedPersist:
		c.Fail(ErrPersist)
	case !c.Verdicts() && why == wire.RefusedOp:
		c.Fail(ErrProtocol)
	case !c.Verdicts():
		c.Fail(ErrAccess)
	case back:
		c.sayVerdict(wire.Verdict{Kind: wire.ExtReadRefused, Why: why, Segment: uint8(segment)})
	default:
		c.refuse(why, uint8(segment))
	}
}

// startAtomic does a peer's atomic operation at once if all of its operands are in b, and returns how many bytes they
// are; else it makes room for them.
func (c *Conn) startAtomic(b []byte) int {
	h := &c.pool.hdr
	kind := atomicOps[h.Op-wire.OpAtomic].kind
	if !c.Extended || !c.Verdicts() && !atomics.Valid(kind, atomics.Datatype(h.OpData), atomics.Op(h.Atomic)) {
		c.Fail(ErrProtocol)
		return 0
	}
	n := h.PayloadLen()
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

// perform does a peer's atomic operation with the operands p, if it may. An operation that changes memory needs the
// right to write to it, one that brings something back the right to read it. Only each element is atomic
// (fi_atomic(3)), and the lock of the domain makes it so.
func (c *Conn) perform(h *wire.Header, p []byte) {
	dt, do := atomics.Datatype(h.OpData), atomics.Op(h.Atomic)
	iov := h.IOV[:h.IovCnt]
	back := h.Op != wire.OpAtomic
	if !atomics.Valid(atomicOps[h.Op-wire.OpAtomic].kind, dt, do) {
		c.forbid(wire.RefusedOp, 0, back)
		return
	}
	n, ok := memoryLen(iov, dt)
	if !ok {
		c.Fail(ErrProtocol)
		return
	}
	var mem [MaxIOV][]byte
	var regions [MaxIOV]Region
	for i, v := range iov {
		var no Refusal
		if back {
			mem[i], regions[i], no = c.mem.Verify(v.Key, v.Addr, v.Len, false)
		}
		if no == 0 && do != atomics.Read {
			mem[i], regions[i], no = c.mem.Verify(v.Key, v.Addr, v.Len, true)
		}
		if no != 0 {
			c.forbid(no, i, back)
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
	if h.Flags&wire.FlagCommit != 0 && !persist(&regions, mem[:len(iov)]) {
		c.forbid(wire.RefusedPersist, 0, false)
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

// performFetch is perform for operations that bring back the n bytes that were in mem.
func (c *Conn) performFetch(h *wire.Header, mem [][]byte, regions *[MaxIOV]Region, p []byte, n int) {
	do := atomics.Op(h.Atomic)
	r := &c.pool.scratch
	*r = wire.Header{Op: wire.OpAtomicRsp}
	r.SetPayload(uint64(n))
	t := c.room(wire.MaxHeader + n)
	from := len(t.b)
	t.b = c.appendHeader(t.b, r)
	result := t.b[len(t.b) : len(t.b)+n]
	t.b = t.b[:len(t.b)+n]
	fetchAll(h, mem, p, result)
	if h.Flags&wire.FlagCommit != 0 && do != atomics.Read && !persist(regions, mem) {
		t.b = t.b[:from]
		c.txID-- // the header leaves with it
		c.forbid(wire.RefusedPersist, 0, true)
		return
	}
	countRegions(*regions, h.IOV[:h.IovCnt], false)
	op := c.pool.getTx()
	op.internal, op.Kind, op.Data = true, KindFetch, uint64(n)
	c.replies++
	c.results += uint32(n)
	c.staged(t, from, op, true)
	if int(c.replies) > c.cfg.InternalMax || c.results > 2*fetchMax {
		c.becomeStalled(stallReplies)
	}
	c.pool.done = Completion{Kind: KindRemoteRead, Atomic: true, Silent: true, Len: uint64(n), Src: c.Src}
	c.accessed()
	c.sink.Replied(c)
}

// fetchAll performs the operation of h on mem, with the operands p, of which those to compare with come last, and puts
// the old content of mem into result.
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
