package engine

import (
	"gofabric/internal/atomics"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxd/wire"
)

// ackEvery is how many packets of data are taken before they are acknowledged while an operation is under way.
const ackEvery = 32

// inbound is the operation of the peer, or its answer to ours, that is coming in several packets.
type inbound struct {
	kind wire.Type // TypeData or TypeDataRead
	left uint64    // bytes to come
	segs uint64    // packets to come
	seg  uint64    // number of the next
}

// takeNative takes a packet of a native peer.
func (p *Peer) takeNative(now int64, base wire.Base, pkt []byte) {
	g, e := p.nat, p.e
	g.came = now
	if base.Type == wire.TypeAck {
		p.takeAck(now, pkt)
		return
	}
	if base.Seq == g.expect {
		g.lowestCame = 0
	}
	if (base.Seq != g.expect && !g.leaps(base.Seq)) || p.refuses() {
		switch {
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
		ok = p.takeSegment(pkt)
	default:
		ok = p.takeOp(pkt)
	}
	if g.refusing {
		e.Stats.Refused++
		g.ackDue = true
		e.Posted(p)
		return
	}
	if !ok { // in sequence, but it does not fit: perhaps damaged on the way, and a good one follows
		e.Stats.Malformed++
		return
	}
	g.expect++
	if !p.settle() {
		return
	}
	if g.partly = p.conn.Stalled(); g.partly || g.in.left == 0 || g.expect%ackEvery == 0 || g.in.seg == 0 {
		g.ackDue = true
	}
	e.Posted(p)
}

// takeOp takes a packet that begins an operation, and reports whether it makes sense.
func (p *Peer) takeOp(pkt []byte) bool {
	g := p.nat
	var op wire.Op
	payload, err := op.Parse(pkt)
	if err != nil || g.in.segs > 0 {
		return false
	}
	if op.Type.HasRMA() && !p.allowed(&op) {
		g.refusing = true
		return false
	}
	var h xwire.Header
	size := uint64(len(payload))
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
	if op.HasCQData() && !op.Type.Answered() {
		h.Flags, h.CQData = xwire.FlagCQData, op.CQData
	}
	if size > uint64(len(payload)) {
		g.in = inbound{kind: wire.TypeData, left: size - uint64(len(payload)), segs: op.SAR.NumSegs - 1}
	}
	h.SetPayload(size)
	p.feed(&h, payload)
	return true
}

func putIOV(h *xwire.Header, op *wire.Op) {
	h.IovCnt = uint8(op.NRMA)
	for i, v := range op.RMA[:op.NRMA] {
		h.IOV[i] = xwire.RMAIov(v)
	}
}

// allowed checks the memory that an operation names, as native does before it takes the packet: what is refused stays where it is, in front of all that the
// peer sends after it, and the Conn does not have to end for it.
func (p *Peer) allowed(op *wire.Op) bool {
	write := op.Type == wire.TypeWrite || op.Type.HasAtom() && atomics.Op(op.AtomOp) != atomics.Read
	for _, v := range op.RMA[:op.NRMA] {
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

// atomicHeader translates the header of an atomic operation with n bytes of payload, and reports whether it makes sense.
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
	total, ok := op.Total()
	return ok && total <= xwire.MaxAtomic && atomics.Valid(kind, atomics.Datatype(h.OpData), atomics.Op(h.Atomic)) && n == operands*total
}

// feed gives the Conn a header and the payload that is here.
func (p *Peer) feed(h *xwire.Header, payload []byte) {
	b := h.Append(p.e.scratch[:0], xwire.Little)
	p.conn.Receive(0, append(b, payload...))
}

// takeSegment takes a packet that continues an operation, and reports whether it makes sense.
func (p *Peer) takeSegment(pkt []byte) bool {
	g := p.nat
	in := &g.in
	var d wire.Data
	payload, err := d.Parse(pkt)
	if err != nil {
		return false
	}
	n := uint64(len(payload))
	if d.Type == wire.TypeDataRead && in.segs == 0 {
		if p.takeAnswer(&d, payload) {
			return true
		}
		return g.stale
	}
	if in.segs == 0 && g.stale {
		return true // of an operation that we know nothing of any more
	}
	if in.segs == 0 || in.kind != d.Type || d.SegNo != in.seg || n == 0 || n > in.left || (n == in.left) != (in.segs == 1) {
		return false
	}
	in.left -= n
	in.segs--
	in.seg++
	p.conn.Receive(0, payload)
	return true
}

// takeAnswer takes the first packet of the answer to our oldest read.
func (p *Peer) takeAnswer(d *wire.Data, payload []byte) bool {
	g := p.nat
	if g.reads.Len() == 0 || d.SegNo != 0 {
		return false
	}
	r := g.reads.At(0)
	n := uint64(len(payload))
	if d.TxID != uint32(r.tx) || n == 0 || n > r.size {
		return false
	}
	size := r.size
	h := xwire.Header{Op: xwire.Op(r.op)}
	g.reads.Drop()
	if n < size {
		g.in = inbound{kind: wire.TypeDataRead, left: size - n, segs: (size - n + n - 1) / n, seg: 1} // all but the last are as long as the first
	}
	h.SetPayload(size)
	p.feed(&h, payload)
	return true
}

// settle gives the Conn the answers to empty reads, which have to wait for the end of a message. It reports whether the peer lives.
func (p *Peer) settle() bool {
	g := p.nat
	for p.checked(nil) && g.in.left == 0 && !p.conn.Stalled() && g.reads.Len() > 0 && g.reads.At(0).size == 0 {
		h := xwire.Header{Op: xwire.Op(g.reads.Pop().op)}
		h.SetPayload(0)
		p.feed(&h, nil)
	}
	return p.state != gone
}
