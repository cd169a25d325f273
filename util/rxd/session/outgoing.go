package session

import (
	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxd/wire"
)

// The Conn's stream is cut into native packets: a header of the stream becomes a packet that begins an operation,
// its payload fills this packet and the following ones. A packet counts the bytes of the stream that it stands for,
// and its acknowledgement releases them.
//
// outgoing is the operation that is being cut.
type outgoing struct {
	active  bool      // payload is left
	confirm bool      // the Conn must know when all of it has arrived (delivery complete)
	segType wire.Type // TypeData or TypeDataRead
	flags   wire.Flags
	tx      uint32 // tx id
	seg     uint64 // number of the next segment
	left    uint64 // bytes of payload not cut yet
	stream  int    // bytes of the stream that the next packet stands for, besides its payload
}

// nextPacket cuts the next packet from the Conn's stream. It returns nil if there is nothing to send.
func (p *Peer) nextPacket() *packet {
	g := p.nat
	// Some headers of the stream have no packet; the loop goes on with the next one.
	for p.state == native {
		if g.out.active {
			return p.nextSegment()
		}
		if p.conn.Unsent() == 0 {
			return nil
		}
		var h xwire.Header
		n, ok := p.nextHeader(&h)
		if !ok {
			p.fail(xengine.ErrProtocol) // a bug of our own Conn
			return nil
		}
		switch h.Op {
		case xwire.OpMsg, xwire.OpTag, xwire.OpWrite:
			// An acknowledgement of the stream.
			if h.Op == xwire.OpMsg && h.OpData == xwire.OpDataAck {
				g.out.stream += n // native has no such acknowledgement, and never asks for one
				p.skipStream()
				continue
			}
			return p.firstPacket(&h, n)
		case xwire.OpReadReq:
			// nil: a read of no bytes, which needs no packet.
			if pk := p.readPacket(&h, n); pk != nil {
				return pk
			}
		case xwire.OpAtomic, xwire.OpAtomicFetch, xwire.OpAtomicCompare:
			return p.atomicPacket(&h, n)
		case xwire.OpReadRsp, xwire.OpAtomicRsp:
			// An answer belongs to the oldest request of the peer, as native answers in order.
			if g.served.Len() == 0 {
				p.fail(xengine.ErrProtocol)
				return nil
			}
			g.out = outgoing{
				active: true, segType: wire.TypeDataRead, tx: g.served.Pop(),
				left: h.PayloadLen(), stream: g.out.stream + n,
			}
		default:
			p.fail(xengine.ErrProtocol)
			return nil
		}
	}
	return nil
}

// skipStream releases bytes of the stream that no packet stands for: with the last packet that waits, or at once.
func (p *Peer) skipStream() {
	g := p.nat
	n := g.out.stream
	g.out.stream = 0
	// Bytes of the stream are released in order, so these wait for the packets before them.
	if g.final != nil {
		g.final.stream += n
		return
	}
	p.conn.Transmitted(n)
}

// nextHeader takes a header from the Conn's stream, which always has all of it. It returns its length.
func (p *Peer) nextHeader(h *xwire.Header) (int, bool) {
	var buf [xwire.MaxHeader]byte
	if p.copyStream(buf[:xwire.BaseLen]) != xwire.BaseLen {
		return 0, false
	}
	n, err := xwire.PeekHeaderLen(buf[:])
	if err != nil || n > len(buf) || p.copyStream(buf[xwire.BaseLen:n]) != n-xwire.BaseLen {
		return 0, false
	}
	_, err = h.Decode(buf[:n], xwire.Little)
	return n, err == nil
}

// copyStream copies the next bytes of the Conn's stream to b and returns their number.
func (p *Peer) copyStream(b []byte) int {
	var space [partsMax][]byte
	took := 0
	// The bytes may be in several chunks.
	for took < len(b) {
		list, n := p.conn.Next(space[:0], len(b)-took)
		if n == 0 {
			break
		}
		for _, s := range list {
			took += copy(b[took:], s)
		}
	}
	return took
}

// firstPacket begins a message or write. Its header in the stream has n bytes.
func (p *Peer) firstPacket(h *xwire.Header, n int) *packet {
	g := p.nat
	// Inline is the form for operations of one packet (RXD_INLINE).
	op := wire.Op{Base: wire.Base{Type: wire.TypeMsg, Flags: wire.FlagInline}}
	switch h.Op {
	case xwire.OpTag:
		op.Type, op.Tag = wire.TypeTagged, h.Tag
		op.Flags |= wire.FlagTag
	case xwire.OpWrite:
		op.Type, op.NRMA = wire.TypeWrite, int(h.IovCnt)
		copyIOV(&op, h)
	}
	if h.Flags&xwire.FlagCQData != 0 {
		op.Flags |= wire.FlagCQData
		op.CQData = h.CQData
	}
	size, mtu := h.PayloadLen(), p.e.cfg.NativeMTU
	first := size
	// It does not fit into one packet, or has several RMA segments, which native never sends inline.
	if op.Type == wire.TypeWrite && op.NRMA != 1 || size > uint64(mtu-op.Len()) {
		op.Flags &^= wire.FlagInline
		first = min(size, uint64(mtu-op.Len()))
		// The receiver computes the place of a segment from its number, so every one but the last must be full.
		seg := uint64(wire.SegmentLen(mtu))
		g.txID++
		op.SAR = wire.SAR{Size: size, NumSegs: 1 + (size-first+seg-1)/seg, TxID: uint32(g.txID)}
	}
	ack := h.Flags&(xwire.FlagDelivery|xwire.FlagCommit) != 0
	pk := p.opPacket(&op, n)
	// The operation is delivered when its last packet is acknowledged.
	pk.confirm = ack && first == size
	p.fill(pk, int(first))
	if first < size {
		g.out = outgoing{
			active: true, confirm: ack, segType: wire.TypeData,
			flags: op.Flags & wire.FlagTag, tx: uint32(g.txID), left: size - first,
		}
	}
	return pk
}

// readPacket sends a read request. A read of no bytes is answered here, because native never answers one.
func (p *Peer) readPacket(h *xwire.Header, n int) *packet {
	g := p.nat
	op := wire.Op{Base: wire.Base{Type: wire.TypeReadReq}, NRMA: int(h.IovCnt)}
	copyIOV(&op, h)
	size, _ := op.Total()
	// The answer carries this number; native uses 16 bits of it.
	g.txID++
	g.reads.Push(read{tx: g.txID, size: size, op: uint8(xwire.OpReadRsp)})
	if size == 0 {
		g.out.stream += n
		p.skipStream()
		p.answerEmptyReads()
		return nil
	}
	// The target cuts its answer into segments of the same size.
	seg := uint64(wire.SegmentLen(p.e.cfg.NativeMTU))
	op.SAR = wire.SAR{Size: size, NumSegs: (size + seg - 1) / seg, TxID: uint32(g.txID)}
	return p.opPacket(&op, n)
}

// MaxAtomic is the most operand bytes of an atomic operation to a native peer, including the comparands: it must
// fit into one packet.
func (e *Engine) MaxAtomic() int { return e.cfg.NativeMTU - wire.MaxOpHeader }

// atomicPacket sends an atomic operation, which is one packet.
func (p *Peer) atomicPacket(h *xwire.Header, n int) *packet {
	g := p.nat
	op := wire.Op{NRMA: int(h.IovCnt), AtomDatatype: uint32(h.OpData), AtomOp: uint32(h.Atomic)}
	copyIOV(&op, h)
	size, _ := op.Total()
	switch h.Op {
	case xwire.OpAtomic:
		op.Type = wire.TypeAtomic
		if op.NRMA == 1 {
			op.Flags = wire.FlagInline
		}
	case xwire.OpAtomicFetch:
		op.Type = wire.TypeAtomicFetch
	default:
		op.Type = wire.TypeAtomicCompare
	}
	if h.Flags&xwire.FlagCQData != 0 {
		op.Flags |= wire.FlagCQData
		op.CQData = h.CQData
	}
	// All atomic operations except simple inline ones have a SAR header, although they are one packet.
	if op.HasSAR() {
		g.txID++
		op.SAR = wire.SAR{Size: size, NumSegs: 1, TxID: uint32(g.txID)}
	}
	payload := int(h.PayloadLen())
	if op.Len()+payload > p.e.cfg.NativeMTU {
		p.fail(xengine.ErrTooLong) // the limits of Engine.natConn refuse longer ones before
		return nil
	}
	// It has an answer.
	if op.Type != wire.TypeAtomic {
		g.reads.Push(read{tx: g.txID, size: size, op: uint8(xwire.OpAtomicRsp)})
	}
	pk := p.opPacket(&op, n)
	pk.confirm = h.Flags&(xwire.FlagDelivery|xwire.FlagCommit) != 0
	p.fill(pk, payload)
	return pk
}

// copyIOV copies the RMA segments of h to op.
func copyIOV(op *wire.Op, h *xwire.Header) {
	for i, v := range h.IOV[:h.IovCnt] {
		op.RMA[i] = wire.RMAIov(v)
	}
}

// opPacket numbers a packet that begins an operation and encodes its header. stream is the length of the header in
// the stream.
func (p *Peer) opPacket(op *wire.Op, stream int) *packet {
	g := p.nat
	pk := p.e.getPacket()
	// An acknowledgement of this packet also releases the bytes of the stream that no packet stands for.
	op.Peer, op.Seq = g.remote, g.seq
	pk.seq, pk.stream = g.seq, g.out.stream+stream
	g.out.stream = 0
	g.seq++
	pk.nhead = uint8(len(op.Append(pk.head[:0])))
	return pk
}

// nextSegment cuts the next data or data_read packet of the operation.
func (p *Peer) nextSegment() *packet {
	g := p.nat
	o := &g.out
	n := int(min(o.left, uint64(wire.SegmentLen(p.e.cfg.NativeMTU))))
	d := wire.Data{Base: wire.Base{Type: o.segType, Flags: o.flags, Peer: g.remote, Seq: g.seq}, TxID: o.tx, SegNo: o.seg}
	pk := p.e.getPacket()
	pk.seq, pk.stream = g.seq, o.stream
	g.seq++
	pk.nhead = uint8(len(d.Append(pk.head[:0])))
	o.stream = 0
	o.seg++
	// The last segment: the operation is delivered when it is acknowledged.
	if o.left -= uint64(n); o.left == 0 {
		pk.confirm = o.confirm
		*o = outgoing{}
	}
	p.fill(pk, n)
	return pk
}

// fill adds the next n bytes of the stream to the packet, without a copy if there are at most partsMax slices.
func (p *Peer) fill(pk *packet, n int) {
	pk.stream += n
	if n == 0 {
		return
	}
	// Slices of the Conn's queue; it keeps them until Transmitted.
	list, got := p.conn.Next(pk.parts[:0], n)
	pk.nparts = uint8(len(list))
	for got < n { // more slices: the rest is copied
		// An application's buffers are few; only chunks of small messages can be in more pieces.
		b := make([]byte, n-got)
		k := p.copyStream(b)
		if k == 0 {
			panic("BUG: rxd: an operation's payload is not queued whole")
		}
		last := pk.parts[pk.nparts-1]
		pk.parts[pk.nparts-1] = append(last[:len(last):len(last)], b[:k]...)
		got += k
	}
}
