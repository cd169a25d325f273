package engine

import (
	"gofabric/internal/atomics"
	"gofabric/internal/xnet/wire"
)

// Atomic is what an atomic operation has besides operands (Send.IOV) and remote memory (Send.RMA). Operands are copied when they are posted or launched;
// results are lent until the completion. All have as many bytes as the remote memory, at most wire.MaxAtomic, except that FI_ATOMIC_READ has no operands.
type Atomic struct {
	Type     atomics.Datatype
	Op       atomics.Op
	Compare  [MaxIOV][]byte // of KindCompare
	NCompare int
	Result   [MaxIOV][]byte // of KindFetch and KindCompare
	NResult  int
	next     *Atomic
}

// MaxAtomic is the most bytes of operands of one operation.
const MaxAtomic = wire.MaxAtomic

// atomicOps are the wire's names of the kinds, from KindAtomic on, and whose operations they take.
var atomicOps = [...]struct {
	op   wire.Op
	kind atomics.Kind
}{{wire.OpAtomic, atomics.Base}, {wire.OpAtomicFetch, atomics.FetchKind}, {wire.OpAtomicCompare, atomics.CompareKind}}

// checkAtomic says whether the arguments go together.
func (s *Send) checkAtomic() error {
	a := s.Atomic
	if a == nil || s.Kind > KindCompare || s.NRMA == 0 || !atomics.Valid(atomicOps[s.Kind-KindAtomic].kind, a.Type, a.Op) {
		return ErrInvalid
	}
	n, ok := memoryLen(s.RMA[:s.NRMA], a.Type)
	if !ok || n == 0 {
		return ErrInvalid
	}
	if n > MaxAtomic {
		return ErrTooLong
	}
	if a.Op != atomics.Read && uint64(s.Len()) != n || s.Kind == KindCompare && sum(a.Compare[:a.NCompare]) != n || s.Kind != KindAtomic && sum(a.Result[:a.NResult]) != n {
		return ErrInvalid
	}
	return nil
}

// memoryLen adds up remote memory, which consists of whole elements.
func memoryLen(iov []wire.RMAIov, dt atomics.Datatype) (n uint64, ok bool) {
	size := uint64(atomics.Size(dt))
	for _, v := range iov {
		if v.Len > wire.MaxSize || v.Len%size != 0 {
			return 0, false
		}
		n += v.Len
	}
	return n, true
}

// launchAtomic queues an atomic operation with n bytes of operands. One that brings nothing back is transmitted and completes as a write; the others' results
// come in the order of all that is asked for.
func (c *Conn) launchAtomic(op *TxOp, h *wire.Header, n int) {
	if !c.Extended {
		c.finishErr(op, ErrUnsupported)
		return
	}
	a := op.Atomic
	if most := c.cfg.AtomicMax; most > 0 && uint64(n)+sum(a.Compare[:a.NCompare]) > uint64(most) {
		c.finishErr(op, ErrTooLong)
		return
	}
	if c.cfg.NativeAtomics && !atomics.Native(a.Type, a.Op) {
		c.finishErr(op, ErrUnsupported)
		return
	}
	if c.carriage() != nil && op.HasData {
		c.finishErr(op, ErrUnsupported) // rxm has none with atomic operations
		return
	}
	*h = wire.Header{Op: atomicOps[op.Kind-KindAtomic].op, OpData: uint8(a.Type), Atomic: uint8(a.Op), IovCnt: uint8(op.NRMA), IOV: op.RMA}
	if op.Kind == KindAtomic && c.carriage() == nil {
		h.CQData = op.Data
		c.setFlags(h, &op.Send)
		h.SetPayload(uint64(n))
		c.queuePayload(h, op, n)
		return
	}
	if op.Commit {
		h.Flags |= wire.FlagCommit
	}
	if a.Op == atomics.Read {
		n, op.NIOV = 0, 0
	}
	var compare [][]byte
	if op.Kind == KindCompare {
		compare = a.Compare[:a.NCompare]
		n += int(sum(compare))
	}
	h.SetPayload(uint64(n))
	t := c.chunkFor(wire.MaxHeader + n)
	from := len(t.b)
	t.b = join(join(c.appendHeader(t.b, h), op.IOV[:op.NIOV]), compare)
	c.staged(t, from, nil, false)
	c.fetching += uint32(sum(a.Result[:a.NResult]))
	c.reads.push(op)
}

// atomicIn is a peer's atomic operation whose operands are still coming.
type atomicIn struct {
	h    wire.Header
	ch   *chunk
	next *atomicIn
}

// startAtomic does a peer's atomic operation at once if all of its operands are in b, and returns how many bytes they are; else it makes room for them.
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
	a := c.pool.arrays
	if a == nil {
		a = &atomicIn{}
	} else {
		c.pool.arrays = a.next
	}
	a.h, a.ch, a.next = *h, c.pool.getChunk(int(n)), nil
	in := c.expect(inAtomic, n)
	in.atom, in.n = a, 1
	in.segs[0] = a.ch.b[:n]
	return 0
}

func (c *Conn) freeAtomicIn(a *atomicIn) {
	c.pool.putChunk(a.ch)
	a.ch, a.next = nil, c.pool.arrays
	c.pool.arrays = a
}

// perform does a peer's atomic operation with the operands p, if it may. What changes memory needs the right to write to it, what brings something back
// the right to read it. fi_atomic(3): only each element is atomic, and the lock of the domain makes it so.
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
	c.accessed(c.rx.index)
}

// performFetch is perform for operations that bring back the n bytes that were in mem.
func (c *Conn) performFetch(h *wire.Header, mem [][]byte, regions *[MaxIOV]Region, p []byte, n int) {
	dt, do := atomics.Datatype(h.OpData), atomics.Op(h.Atomic)
	var compare []byte
	if h.Op == wire.OpAtomicCompare {
		p, compare = p[:n], p[n:]
	}
	r := &c.pool.scratch
	*r = wire.Header{Op: wire.OpAtomicRsp}
	r.SetPayload(uint64(n))
	t := c.chunkFor(wire.MaxHeader + n)
	from := len(t.b)
	t.b = c.appendHeader(t.b, r)
	result := t.b[len(t.b) : len(t.b)+n]
	t.b = t.b[:len(t.b)+n]
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
	c.accessed(c.rx.index)
	c.sink.Replied(c)
}
