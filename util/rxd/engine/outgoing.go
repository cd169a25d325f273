package engine

import (
	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxd/wire"
)

// outgoing is the operation that is being cut into packets.
type outgoing struct {
	active bool
	ack    bool      // the Conn wants to know when all of it has arrived
	kind   wire.Type // TypeData or TypeDataRead
	flags  wire.Flags
	tx     uint32
	seg    uint64
	left   uint64 // bytes of payload not cut
	stream int    // bytes of the stream that the next packet stands for besides its payload
}

// nextPacket cuts the next packet from the Conn's stream, nil if there is nothing to send.
func (p *Peer) nextPacket() *packet {
	g := p.nat
	for p.state == native {
		if g.cut.active {
			return p.nextSegment()
		}
		if p.conn.Unsent() == 0 {
			return nil
		}
		var h xwire.Header
		n, ok := p.nextHeader(&h)
		if !ok {
			p.fail(xengine.ErrProtocol) // our own Conn: cannot be
			return nil
		}
		switch h.Op {
		case xwire.OpMsg, xwire.OpTag, xwire.OpWrite:
			if h.Op == xwire.OpMsg && h.OpData == xwire.OpDataAck {
				g.cut.stream += n // native peers do not ask for acknowledgements, so they understand none
				p.skip()
				continue
			}
			return p.firstPacket(&h, n)
		case xwire.OpReadReq:
			if pk := p.readPacket(&h, n); pk != nil {
				return pk
			}
		case xwire.OpAtomic, xwire.OpAtomicFetch, xwire.OpAtomicCompare:
			return p.atomicPacket(&h, n)
		case xwire.OpReadRsp, xwire.OpAtomicRsp:
			if g.served.Len() == 0 {
				p.fail(xengine.ErrProtocol)
				return nil
			}
			g.cut = outgoing{active: true, kind: wire.TypeDataRead, tx: g.served.Pop(), left: h.PayloadLen(), stream: g.cut.stream + n}
		default:
			p.fail(xengine.ErrProtocol)
			return nil
		}
	}
	return nil
}

// skip releases stream bytes that no packet stands for, if no packet before them waits.
func (p *Peer) skip() {
	g := p.nat
	n := g.cut.stream
	g.cut.stream = 0
	if g.final != nil {
		g.final.stream += n
		return
	}
	p.conn.Transmitted(n)
}

// nextHeader takes a header from the Conn's stream; it is queued as a whole.
func (p *Peer) nextHeader(h *xwire.Header) (int, bool) {
	var buf [xwire.MaxHeader]byte
	if p.take(buf[:xwire.BaseLen]) != xwire.BaseLen {
		return 0, false
	}
	n, err := xwire.PeekHeaderLen(buf[:])
	if err != nil || n > len(buf) || p.take(buf[xwire.BaseLen:n]) != n-xwire.BaseLen {
		return 0, false
	}
	_, err = h.Decode(buf[:n], xwire.Little)
	return n, err == nil
}

// take copies the next bytes of the Conn's stream to b.
func (p *Peer) take(b []byte) int {
	var space [partsMax][]byte
	took := 0
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

// firstPacket begins a message or write with its op packet, whose header in the stream was n bytes.
func (p *Peer) firstPacket(h *xwire.Header, n int) *packet {
	g := p.nat
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
	if op.Type == wire.TypeWrite && op.NRMA != 1 || size > uint64(mtu-op.Len()) {
		op.Flags &^= wire.FlagInline
		first = min(size, uint64(mtu-op.Len()))
		seg := uint64(wire.SegmentLen(mtu))
		g.txID++
		op.SAR = wire.SAR{Size: size, NumSegs: 1 + (size-first+seg-1)/seg, TxID: uint32(g.txID)}
	}
	ack := h.Flags&(xwire.FlagDelivery|xwire.FlagCommit) != 0
	pk := p.opPacket(&op, n)
	pk.ack = ack && first == size
	p.fill(pk, int(first))
	if first < size {
		g.cut = outgoing{active: true, ack: ack, kind: wire.TypeData, flags: op.Flags & wire.FlagTag, tx: uint32(g.txID), left: size - first}
	}
	return pk
}

// readPacket asks for remote memory. An empty read is answered here: native never answers one.
func (p *Peer) readPacket(h *xwire.Header, n int) *packet {
	g := p.nat
	op := wire.Op{Base: wire.Base{Type: wire.TypeReadReq}, NRMA: int(h.IovCnt)}
	copyIOV(&op, h)
	size, _ := op.Total()
	g.txID++
	g.reads.Push(read{tx: g.txID, size: size, op: uint8(xwire.OpReadRsp)})
	if size == 0 {
		g.cut.stream += n
		p.skip()
		p.settle()
		return nil
	}
	seg := uint64(wire.SegmentLen(p.e.cfg.NativeMTU))
	op.SAR = wire.SAR{Size: size, NumSegs: (size + seg - 1) / seg, TxID: uint32(g.txID)}
	return p.opPacket(&op, n)
}

// MaxAtomic is the most bytes of operands of an atomic operation, those to compare with included, that reach a native peer: it must fit into one packet.
func (e *Engine) MaxAtomic() int { return e.cfg.NativeMTU - wire.MaxOpHeader }

// atomicPacket begins, and ends, an atomic operation.
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
	if op.HasSAR() {
		g.txID++
		op.SAR = wire.SAR{Size: size, NumSegs: 1, TxID: uint32(g.txID)}
	}
	payload := int(h.PayloadLen())
	if op.Len()+payload > p.e.cfg.NativeMTU {
		p.fail(xengine.ErrTooLong) // the driver lets none longer than MaxAtomic through
		return nil
	}
	if op.Type != wire.TypeAtomic {
		g.reads.Push(read{tx: g.txID, size: size, op: uint8(xwire.OpAtomicRsp)})
	}
	pk := p.opPacket(&op, n)
	pk.ack = h.Flags&(xwire.FlagDelivery|xwire.FlagCommit) != 0
	p.fill(pk, payload)
	return pk
}

func copyIOV(op *wire.Op, h *xwire.Header) {
	for i, v := range h.IOV[:h.IovCnt] {
		op.RMA[i] = wire.RMAIov(v)
	}
}

// opPacket numbers a packet that begins an operation and encodes its header.
func (p *Peer) opPacket(op *wire.Op, stream int) *packet {
	g := p.nat
	pk := p.e.getPacket()
	op.Peer, op.Seq = g.remote, g.seq
	pk.seq, pk.stream = g.seq, g.cut.stream+stream
	g.cut.stream = 0
	g.seq++
	pk.nhead = uint8(len(op.Append(pk.head[:0])))
	return pk
}

// nextSegment cuts the next DATA or DATA_READ of the operation in progress.
func (p *Peer) nextSegment() *packet {
	g := p.nat
	o := &g.cut
	n := int(min(o.left, uint64(wire.SegmentLen(p.e.cfg.NativeMTU))))
	d := wire.Data{Base: wire.Base{Type: o.kind, Flags: o.flags, Peer: g.remote, Seq: g.seq}, TxID: o.tx, SegNo: o.seg}
	pk := p.e.getPacket()
	pk.seq, pk.stream = g.seq, o.stream
	g.seq++
	pk.nhead = uint8(len(d.Append(pk.head[:0])))
	o.stream = 0
	o.seg++
	if o.left -= uint64(n); o.left == 0 {
		pk.ack = o.ack
		*o = outgoing{}
	}
	p.fill(pk, n)
	return pk
}

// fill puts the next n bytes of the stream into the packet, without copying them.
func (p *Peer) fill(pk *packet, n int) {
	pk.stream += n
	if n == 0 {
		return
	}
	list, got := p.conn.Next(pk.parts[:0], n)
	pk.nparts = uint8(len(list))
	for got < n { // more pieces than there is room for
		b := make([]byte, n-got)
		k := p.take(b)
		if k == 0 {
			panic("BUG: rxd: an operation's payload is not queued whole")
		}
		last := pk.parts[pk.nparts-1]
		pk.parts[pk.nparts-1] = append(last[:len(last):len(last)], b[:k]...)
		got += k
	}
}
