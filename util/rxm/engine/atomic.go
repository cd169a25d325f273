package engine

import (
	"gofabric/internal/atomics"
	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/wire"
)

// question is a read or atomic operation of ours that the peer has not answered.
type question struct {
	op *xengine.TxOp
}

// request is an atomic operation of the peer's that upper has not answered.
type request struct {
	id       uint64
	op       wire.Op
	datatype uint8
	atomic   uint8
}

// Negative error numbers of libfabric, as answers to atomic operations carry them.
const (
	statusAccess  = -13 // FI_EACCES
	statusInvalid = -22 // FI_EINVAL
)

// makeAtomic makes an atomic operation ready.
func (g *Gateway) makeAtomic(h *xwire.Header, n int) bool {
	op := g.up.TakeRequest()
	size := uint64(atomics.Size(atomics.Datatype(h.OpData)))
	payload := int(h.PayloadLen())
	if op == nil || size == 0 || payload > g.cfg.BufferSize-wire.AtomicLen {
		g.protocol() // the Conn lets none longer than AtomicMax through
		return false
	}
	p := &g.pkt
	*p = wire.Packet{Type: wire.TypeAtomic, Op: wire.OpAtomic, Datatype: h.OpData, AtomOp: h.Atomic, Size: uint64(wire.AtomicLen + payload), N: h.IovCnt}
	switch h.Op {
	case xwire.OpAtomicFetch:
		p.Op = wire.OpAtomicFetch
	case xwire.OpAtomicCompare:
		p.Op = wire.OpAtomicCompare
	}
	for i, v := range h.IOV[:h.IovCnt] {
		p.Ranges[i] = wire.Range{Addr: v.Addr, Len: v.Len / size, Key: v.Key}
	}
	p.MsgID = g.asked.add(question{op: op})
	g.packet(p, n, payload, false)
	return true
}

// takeAtomicResp completes an atomic operation of ours.
func (g *Gateway) takeAtomicResp(p *wire.Packet, result []byte) {
	q := g.asked.get(p.MsgID)
	if q == nil || q.op.Atomic == nil {
		g.protocol()
		return
	}
	op := q.op
	if p.Status != 0 {
		err := xengine.ErrInvalid
		if p.Status == statusAccess || p.Status == -statusAccess {
			err = xengine.ErrAccess
		}
		g.asked.remove(p.MsgID)
		g.up.RequestDone(op, err)
		return
	}
	to := op.Atomic.Result[:op.Atomic.NResult]
	room := 0
	for _, b := range to {
		room += len(b)
	}
	if room != len(result) {
		g.protocol()
		return
	}
	for _, b := range to {
		result = result[copy(b, result):]
	}
	g.asked.remove(p.MsgID)
	g.up.RequestDone(op, nil)
}

// takeAtomic gives upper an atomic operation of the peer's; one that may not be is refused without ending the connection, as natively.
func (g *Gateway) takeAtomic(p *wire.Packet, operands []byte) {
	r := request{id: p.MsgID, op: p.Op, datatype: p.Datatype, atomic: p.AtomOp}
	var h xwire.Header
	if !atomicHeader(&h, p, uint64(len(operands))) {
		g.refuse(&r, statusInvalid)
		return
	}
	if !g.allowed(&h) {
		g.refuse(&r, statusAccess)
		return
	}
	if h.Op == xwire.OpAtomic {
		h.Flags = xwire.FlagDelivery // the peer wants an answer
		g.acks.Push(r)
	} else {
		g.results.Push(r)
	}
	h.SetPayload(uint64(len(operands)))
	g.feed(&h, operands)
}

// refuse answers an atomic operation that is not done.
func (g *Gateway) refuse(r *request, status int32) {
	g.control.Push(notice{kind: noticeStatus, op: r.op, code: status, id: r.id})
}

// atomicHeader translates the headers of an atomic operation with n bytes of operands, and reports whether they make sense.
func atomicHeader(h *xwire.Header, p *wire.Packet, n uint64) bool {
	kind, times := atomics.Base, uint64(1)
	h.Op = xwire.OpAtomic
	switch p.Op {
	case wire.OpAtomicFetch:
		h.Op, kind = xwire.OpAtomicFetch, atomics.FetchKind
		if atomics.Op(p.AtomOp) == atomics.Read {
			times = 0
		}
	case wire.OpAtomicCompare:
		h.Op, kind, times = xwire.OpAtomicCompare, atomics.CompareKind, 2
	}
	if !atomics.Valid(kind, atomics.Datatype(p.Datatype), atomics.Op(p.AtomOp)) {
		return false
	}
	h.OpData, h.Atomic, h.IovCnt = p.Datatype, p.AtomOp, p.N
	size, total := uint64(atomics.Size(atomics.Datatype(p.Datatype))), uint64(0)
	for i, r := range p.Ranges[:p.N] {
		h.IOV[i] = xwire.RMAIov{Addr: r.Addr, Len: r.Len * size, Key: r.Key} // Parse has bounded the count
		total += h.IOV[i].Len
	}
	return total <= xwire.MaxAtomic && n == times*total
}

// allowed checks the memory that an atomic operation names.
func (g *Gateway) allowed(h *xwire.Header) bool {
	for _, v := range h.IOV[:h.IovCnt] {
		if atomics.Op(h.Atomic) != atomics.Read || h.Op != xwire.OpAtomicFetch {
			if _, _, no := g.mem.Verify(v.Key, v.Addr, v.Len, true); no != 0 {
				return false
			}
		}
		if h.Op != xwire.OpAtomic {
			if _, _, no := g.mem.Verify(v.Key, v.Addr, v.Len, false); no != 0 {
				return false
			}
		}
	}
	return true
}

// answerAtomic makes the answer ready to an atomic operation that upper has done; its acknowledgement was n bytes of the stream.
func (g *Gateway) answerAtomic(n int) bool {
	if g.acks.Len() == 0 {
		g.protocol()
		return false
	}
	g.response(g.acks.Pop(), n, 0)
	return true
}

// makeResult makes the result ready of an atomic operation that upper has done.
func (g *Gateway) makeResult(h *xwire.Header, n int) bool {
	if g.results.Len() == 0 {
		g.protocol()
		return false
	}
	g.response(g.results.Pop(), n, int(h.PayloadLen()))
	return true
}

// response makes the answer to r ready, with the next size bytes of the stream for the result.
func (g *Gateway) response(r request, n, size int) {
	p := &g.pkt
	*p = wire.Packet{Type: wire.TypeAtomicResp, Op: r.op, MsgID: r.id, Datatype: r.datatype, AtomOp: r.atomic, Size: uint64(wire.ResultLen + size), Result: uint32(size)}
	g.packet(p, n, size, false)
}
