package session

import (
	"gofabric/internal/atomics"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxd/wire"
)

// ackEvery is how many packets of an operation are taken before one is acknowledged. Native acknowledges every
// MaxUnacked packets; more often keeps its window open.
const ackEvery = 32

// Packets of a native peer become transfers of the xnet stream, which the Conn takes as if a gofabric peer had sent
// them. Matching, budgets, RMA and completions are then the same for all peers. Payload is not copied, except what
// shares a packet with a header.
//
// inbound is the operation of the peer, or the answer to ours, of which more packets are to come. docs/wire/rxd.md:
// operations do not interleave, so there is one at most.
type inbound struct {
	segType wire.Type // TypeData or TypeDataRead
	left    uint64    // bytes to come
	segs    uint64    // packets to come
	seg     uint64    // number of the next segment
}

// processNative takes a packet of a native peer. A packet out of sequence, or one while the Conn is stalled, is
// dropped and acknowledged with the number expected.
func (p *Peer) processNative(now int64, base wire.Base, pkt []byte) {
	g, e := p.nat, p.e
	g.receivedAt = now
	if base.Type == wire.TypeAck {
		p.processAck(now, pkt)
		return
	}
	// The expected packet came: the peer does not continue an older sequence.
	if base.Seq == g.expect {
		g.earlyCount = 0
	}
	if (base.Seq != g.expect && !g.acceptsJump(base.Seq)) || p.stalled() {
		switch {
		// In sequence, but the Conn is stalled.
		case base.Seq == g.expect:
			e.Stats.Refused++
		case base.Seq < g.expect:
			e.Stats.Duplicates++
		default:
			e.Stats.OutOfOrder++
		}
		g.ackDue = true
		e.Posted(p)
		return
	}
	var ok bool
	g.refusing = false
	switch base.Type {
	case wire.TypeData, wire.TypeDataRead:
		ok = p.processSegment(pkt)
	default:
		ok = p.processOp(pkt)
	}
	// The ack with window 0 and the same number is native's refusal. The peer repeats the packet.
	if g.refusing {
		e.Stats.Refused++
		g.ackDue = true
		e.Posted(p)
		return
	}
	// It is in sequence but makes no sense. It may have been damaged on its way, and an intact one may follow, so
	// it is dropped without an ack.
	if !ok {
		e.Stats.Malformed++
		return
	}
	// The packet is taken. Answers to empty reads of ours may now follow in the stream.
	g.expect++
	if !p.answerEmptyReads() {
		return
	}
	// Native acknowledges the first and the last packet of an operation at once.
	if g.partial = p.conn.Stalled(); g.partial || g.in.left == 0 || g.expect%ackEvery == 0 || g.in.seg == 0 {
		g.ackDue = true
	}
	e.Posted(p)
}

// processOp takes a packet that begins an operation. It reports whether the packet is valid.
func (p *Peer) processOp(pkt []byte) bool {
	g := p.nat
	var op wire.Op
	payload, err := op.Parse(pkt)
	// Operations do not interleave.
	if err != nil || g.in.segs > 0 {
		return false
	}
	if op.Type.HasRMA() && !p.allowed(&op) {
		g.refusing = true
		return false
	}
	var h xwire.Header
	size := uint64(len(payload))
	// The operation has further packets.
	if op.HasSAR() {
		size = op.SAR.Size
	}
	switch op.Type {
	case wire.TypeMsg:
		h.Op = xwire.OpMsg
	case wire.TypeTagged:
		h.Op, h.Tag = xwire.OpTag, op.Tag
	case wire.TypeWrite:
		h.Op = xwire.OpWrite
		putIOV(&h, &op)
	// The answer that the Conn queues must go into packets with this tx id (nextPacket).
	case wire.TypeReadReq:
		h.Op = xwire.OpReadReq
		putIOV(&h, &op)
		size = 0
		g.served.Push(op.SAR.TxID)
	default:
		if size = uint64(len(payload)); !atomicHeader(&h, &op, size) {
			return false
		}
		if op.Type.Answered() {
			g.served.Push(op.SAR.TxID)
		}
	}
	// Operations with an answer have no completion at the target that could carry CQ data.
	if op.HasCQData() && !op.Type.Answered() {
		h.Flags, h.CQData = xwire.FlagCQData, op.CQData
	}
	// Data packets with the rest must follow.
	if size > uint64(len(payload)) {
		g.in = inbound{segType: wire.TypeData, left: size - uint64(len(payload)), segs: op.SAR.NumSegs - 1}
	}
	h.SetPayload(size)
	p.feed(&h, payload)
	return true
}

// putIOV copies the RMA segments of op to h.
func putIOV(h *xwire.Header, op *wire.Op) {
	h.IovCnt = uint8(op.NRMA)
	for i, v := range op.RMA[:op.NRMA] {
		h.IOV[i] = xwire.RMAIov(v)
	}
}

// allowed checks the memory that an operation names before the packet is taken, as native does. A refused packet
// stays where it is, in front of all others of the peer, which repeats it. The Conn need not end for it.
func (p *Peer) allowed(op *wire.Op) bool {
	write := op.Type == wire.TypeWrite || op.Type.HasAtom() && atomics.Op(op.AtomOp) != atomics.Read
	for _, v := range op.RMA[:op.NRMA] {
		// Verify for each right that the operation needs.
		if write {
			if _, _, no := p.e.mem.Verify(v.Key, v.Addr, v.Len, true); no != 0 {
				return false
			}
		}
		if op.Type.Answered() {
			if _, _, no := p.e.mem.Verify(v.Key, v.Addr, v.Len, false); no != 0 {
				return false
			}
		}
	}
	return true
}

// atomicHeader translates the header of an atomic operation with n bytes of payload. It reports whether the
// operation is valid.
func atomicHeader(h *xwire.Header, op *wire.Op, n uint64) bool {
	if op.AtomDatatype > 255 || op.AtomOp > 255 {
		return false
	}
	kind, operands := atomics.Base, uint64(1)
	switch op.Type {
	case wire.TypeAtomic:
		h.Op = xwire.OpAtomic
	case wire.TypeAtomicFetch:
		h.Op, kind = xwire.OpAtomicFetch, atomics.FetchKind
		if atomics.Op(op.AtomOp) == atomics.Read {
			operands = 0
		}
	default:
		h.Op, kind, operands = xwire.OpAtomicCompare, atomics.CompareKind, 2
	}
	h.OpData, h.Atomic = uint8(op.AtomDatatype), uint8(op.AtomOp)
	putIOV(h, op)
	// The operands must be exactly as long as the memory.
	total, ok := op.Total()
	return ok && total <= xwire.MaxAtomic && atomics.Valid(kind, atomics.Datatype(h.OpData), atomics.Op(h.Atomic)) &&
		n == operands*total
}

// feed gives the Conn a header and the payload in this packet.
func (p *Peer) feed(h *xwire.Header, payload []byte) {
	b := h.Append(p.e.scratch[:0], xwire.Little)
	p.conn.Receive(0, append(b, payload...))
}

// processSegment takes a packet that continues an operation. It reports whether the packet is valid.
func (p *Peer) processSegment(pkt []byte) bool {
	g := p.nat
	in := &g.in
	var d wire.Data
	payload, err := d.Parse(pkt)
	if err != nil {
		return false
	}
	n := uint64(len(payload))
	// The first packet of an answer. One that fits no request may belong to a request of an earlier process at our
	// address.
	if d.Type == wire.TypeDataRead && in.segs == 0 {
		if p.processReadResponse(&d, payload) {
			return true
		}
		return g.stale
	}
	if in.segs == 0 && g.stale {
		return true // of an operation before our time
	}
	// It must be the next segment of the operation, not longer than what is missing, and the last one exactly when
	// nothing is missing behind it.
	if in.segs == 0 || in.segType != d.Type || d.SegNo != in.seg || n == 0 || n > in.left || (n == in.left) != (in.segs == 1) {
		return false
	}
	in.left -= n
	in.segs--
	in.seg++
	p.conn.Receive(0, payload)
	return true
}

// processReadResponse takes the first packet of the answer to our oldest read.
func (p *Peer) processReadResponse(d *wire.Data, payload []byte) bool {
	g := p.nat
	if g.reads.Len() == 0 || d.SegNo != 0 {
		return false
	}
	r := g.reads.At(0)
	n := uint64(len(payload))
	// Native answers requests in order, so it must be for the oldest.
	if d.TxID != uint32(r.tx) || n == 0 || n > r.size {
		return false
	}
	size := r.size
	h := xwire.Header{Op: xwire.Op(r.op)}
	g.reads.Drop()
	// All packets but the last are as long as the first.
	if n < size {
		g.in = inbound{segType: wire.TypeDataRead, left: size - n, segs: (size - n + n - 1) / n, seg: 1}
	}
	h.SetPayload(size)
	p.feed(&h, payload)
	return true
}

// answerEmptyReads gives the Conn the answers to reads of no bytes, which native never answers. They must wait for
// the end of a message that is being received. It reports whether the peer is still there.
func (p *Peer) answerEmptyReads() bool {
	g := p.nat
	for p.checkConn(nil) && g.in.left == 0 && !p.conn.Stalled() && g.reads.Len() > 0 && g.reads.At(0).size == 0 {
		h := xwire.Header{Op: xwire.Op(g.reads.Pop().op)}
		h.SetPayload(0)
		p.feed(&h, nil)
	}
	return p.state != removed
}
