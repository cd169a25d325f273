package gateway

import (
	"gofabric/internal/atomics"
	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/wire"
)

// Atomic operations, in both directions. All are answered, also those without a result. An operation of the peer's
// is checked before upper receives it: a refusal is answered with a status, and the connection continues.
//
// pendingRequest is a read or atomic operation of ours without an answer.
type pendingRequest struct {
	op *xengine.TxOp
}

// peerAtomic is an atomic operation of the peer's that upper has not answered.
type peerAtomic struct {
	id       uint64 // the peer's name for it
	op       wire.Op
	datatype uint8
	atomic   uint8
}

// Statuses in answers to atomic operations: negative error numbers of libfabric (fi_errno(3)).
const (
	statusAccess  = -13 // FI_EACCES
	statusInvalid = -22 // FI_EINVAL
)

// makeAtomic makes an outgoing of an atomic operation.
func (g *Gateway) makeAtomic(h *xwire.Header, n int) bool {
	// The Conn keeps the buffers for the result; the gateway answers for it with RequestDone.
	op := g.up.TakeRequest()
	size := uint64(atomics.Size(atomics.Datatype(h.OpData)))
	payload := int(h.PayloadLen())
	if op == nil || size == 0 || payload > g.cfg.BufferSize-wire.AtomicLen {
		g.violation() // the Conn refuses operations longer than AtomicMax
		return false
	}
	p := &g.pkt
	*p = wire.Packet{
		Type: wire.TypeAtomic, Op: wire.OpAtomic, Datatype: h.OpData, AtomOp: h.Atomic,
		Size: uint64(wire.AtomicLen + payload), N: h.IovCnt,
	}
	switch h.Op {
	case xwire.OpAtomicFetch:
		p.Op = wire.OpAtomicFetch
	case xwire.OpAtomicCompare:
		p.Op = wire.OpAtomicCompare
	}
	for i, v := range h.IOV[:h.IovCnt] {
		// The length of a range is a number of elements here.
		p.Ranges[i] = wire.Range{Addr: v.Addr, Len: v.Len / size, Key: v.Key}
	}
	p.MsgID = g.requests.add(pendingRequest{op: op})
	g.packet(p, n, payload, false)
	return true
}

// receiveAtomicResp completes an atomic operation of ours.
func (g *Gateway) receiveAtomicResp(p *wire.Packet, result []byte) {
	q := g.requests.get(p.MsgID)
	// An answer to nothing, or to a read: the peer breaks the protocol.
	if q == nil || q.op.Atomic == nil {
		g.violation()
		return
	}
	op := q.op
	// The peer has refused the operation. Native sends negative numbers; others may send positive ones.
	if p.Status != 0 {
		err := xengine.ErrInvalid
		if p.Status == statusAccess || p.Status == -statusAccess {
			err = xengine.ErrAccess
		}
		g.requests.remove(p.MsgID)
		g.up.RequestDone(op, err)
		return
	}
	to := op.Atomic.Result[:op.Atomic.NResult]
	room := 0
	for _, b := range to {
		room += len(b)
	}
	// The result must be as long as the operation's, neither longer nor shorter.
	if room != len(result) {
		g.violation()
		return
	}
	for _, b := range to {
		result = result[copy(b, result):]
	}
	g.requests.remove(p.MsgID)
	g.up.RequestDone(op, nil)
}

// receiveAtomic gives upper an atomic operation of the peer's, or refuses it.
func (g *Gateway) receiveAtomic(p *wire.Packet, operands []byte) {
	r := peerAtomic{id: p.MsgID, op: p.Op, datatype: p.Datatype, atomic: p.AtomOp}
	var h xwire.Header
	// Checked here, because upper would end the connection.
	if !atomicHeader(&h, p, uint64(len(operands))) {
		g.refuse(&r, statusInvalid)
		return
	}
	// The right to access is checked before upper gets the operation, for the same reason.
	if !g.allowed(&h) {
		g.refuse(&r, statusAccess)
		return
	}
	if h.Op == xwire.OpAtomic {
		h.Flags = xwire.FlagDelivery // upper then acknowledges it, and the peer gets its answer
		g.acks.Push(r)
	} else {
		// Its result will be in upper's stream (makeResult).
		g.results.Push(r)
	}
	h.SetPayload(uint64(len(operands)))
	g.feed(&h, operands)
}

// refuse answers an atomic operation with a status.
func (g *Gateway) refuse(r *peerAtomic, status int32) {
	g.control.Push(controlPacket{kind: controlStatus, op: r.op, code: status, id: r.id})
}

// atomicHeader translates the headers of an atomic operation with n bytes of operands. It reports whether the
// operation is valid.
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
	// Type and operation must exist and fit together.
	if !atomics.Valid(kind, atomics.Datatype(p.Datatype), atomics.Op(p.AtomOp)) {
		return false
	}
	h.OpData, h.Atomic, h.IovCnt = p.Datatype, p.AtomOp, p.N
	// The ranges are in elements on the wire, in bytes for upper.
	size, total := uint64(atomics.Size(atomics.Datatype(p.Datatype))), uint64(0)
	for i, r := range p.Ranges[:p.N] {
		h.IOV[i] = xwire.RMAIov{Addr: r.Addr, Len: r.Len * size, Key: r.Key} // Parse has bounded the count
		total += h.IOV[i].Len
	}
	return total <= xwire.MaxAtomic && n == times*total
}

// allowed checks whether the peer may access the memory: write access unless it is a fetch of FI_ATOMIC_READ, read
// access if there is a result.
func (g *Gateway) allowed(h *xwire.Header) bool {
	for _, v := range h.IOV[:h.IovCnt] {
		// Every operation except a fetch of FI_ATOMIC_READ writes.
		if atomics.Op(h.Atomic) != atomics.Read || h.Op != xwire.OpAtomicFetch {
			if _, _, no := g.mem.Verify(v.Key, v.Addr, v.Len, true); no != 0 {
				return false
			}
		}
		// It returns the previous content.
		if h.Op != xwire.OpAtomic {
			if _, _, no := g.mem.Verify(v.Key, v.Addr, v.Len, false); no != 0 {
				return false
			}
		}
	}
	return true
}

// answerAtomic makes an outgoing answer to an atomic operation without a result. Upper's acknowledgement had n
// bytes in the stream.
func (g *Gateway) answerAtomic(n int) bool {
	// Upper answers in order, so the oldest is the one.
	if g.acks.Len() == 0 {
		g.violation()
		return false
	}
	g.response(g.acks.Pop(), n, 0)
	return true
}

// makeResult makes an outgoing answer to an atomic operation with a result.
func (g *Gateway) makeResult(h *xwire.Header, n int) bool {
	if g.results.Len() == 0 {
		g.violation()
		return false
	}
	g.response(g.results.Pop(), n, int(h.PayloadLen()))
	return true
}

// response makes an outgoing answer to r with the next size bytes of the stream as the result.
func (g *Gateway) response(r peerAtomic, n, size int) {
	p := &g.pkt
	*p = wire.Packet{
		Type: wire.TypeAtomicResp, Op: r.op, MsgID: r.id, Datatype: r.datatype, AtomOp: r.atomic,
		Size: uint64(wire.ResultLen + size), Result: uint32(size),
	}
	g.packet(p, n, size, false)
}
