package wire

import "math"

// FlagCQData says that Data is remote CQ data. It is FI_REMOTE_CQ_DATA of fi_cq(3).
const FlagCQData = 1 << 17

// Range is memory of an endpoint. Len is in bytes, and of atomic operations in elements.
type Range struct{ Addr, Len, Key uint64 }

// Packet has the headers of a packet: the control header (struct ofi_ctrl_hdr) and the operation header (struct
// ofi_op_hdr). Type decides which fields are valid:
//
//	all               Type, Conn
//	all but credit    MsgID (of eager: not used)
//	segment           SegSize, SegNo, Part
//	eager, segment,
//	rndv_req          Op, Flags, Size, Data, Tag
//	atomic            Op, Size, Datatype, AtomOp, N, Ranges
//	atomic_resp       Op, Size, Datatype, AtomOp, Status, Result
//	rndv_req,
//	write_data        N, Ranges
//	credit            Credits
type Packet struct {
	Type     Type
	Op       Op
	Part     Part
	SegSize  uint16 // payload of a segment, bytes
	SegNo    uint32 // from 0
	Flags    uint32
	Conn     uint64 // the receiver's index of the sender: ConnIndex
	MsgID    uint64 // the requester's name for a message, which answers repeat
	Credits  uint64 // further receives posted
	Size     uint64 // bytes of the whole message; of atomic packets all that follows the headers
	Data     uint64 // remote CQ data, with FlagCQData
	Tag      uint64
	Datatype uint8  // enum fi_datatype
	AtomOp   uint8  // enum fi_op
	N        uint8  // ranges in Ranges
	Status   int32  // 0, or a negative error number
	Result   uint32 // length of the result, bytes
	Ranges   [RangesMax]Range
}

// Len is the length of the encoded headers, in bytes. The payload follows them.
func (p *Packet) Len() int {
	switch p.Type {
	case TypeRndvReq, TypeWriteData:
		return HeaderLen + RndvLen
	case TypeAtomic:
		return HeaderLen + AtomicLen
	case TypeAtomicResp:
		return HeaderLen + ResultLen
	}
	return HeaderLen
}

// Append appends the encoded headers to dst. It allocates only if dst lacks room; MaxHeader bytes are always
// enough.
func (p *Packet) Append(dst []byte) []byte {
	seg, ctrl := uint64(0), uint64(0)
	switch p.Type {
	case TypeSegment:
		seg, ctrl = uint64(p.SegSize)<<16|uint64(p.SegNo)<<32, uint64(p.Part)
	case TypeCredit:
		ctrl = p.Credits
	}
	dst = le.AppendUint64(dst, CtrlVersion|uint64(p.Type)<<8|seg)
	dst = le.AppendUint64(dst, p.Conn)
	dst = le.AppendUint64(dst, p.MsgID)
	dst = le.AppendUint64(dst, ctrl)
	dst = le.AppendUint64(dst, OpHdrByte|uint64(p.Op)<<16|uint64(p.Flags)<<32)
	dst = le.AppendUint64(dst, p.Size)
	dst = le.AppendUint64(dst, p.Data)
	switch p.Type {
	case TypeAtomic:
		dst = le.AppendUint64(dst, uint64(p.Datatype)|uint64(p.AtomOp)<<8|uint64(p.N)<<16)
		return p.appendRanges(dst)
	case TypeAtomicResp:
		dst = le.AppendUint64(dst, uint64(p.Datatype)|uint64(p.AtomOp)<<8)
		dst = be.AppendUint32(dst, uint32(p.Status))
		return be.AppendUint32(dst, p.Result)
	}
	dst = le.AppendUint64(dst, p.Tag)
	if p.Type == TypeRndvReq || p.Type == TypeWriteData {
		dst = p.appendRanges(dst)
		dst = le.AppendUint64(dst, uint64(p.N))
	}
	return dst
}

// appendRanges appends room for RangesMax ranges, of which N are filled in.
func (p *Packet) appendRanges(dst []byte) []byte {
	for i := range p.Ranges {
		var r Range
		if i < int(p.N) {
			r = p.Ranges[i]
		}
		dst = le.AppendUint64(dst, r.Addr)
		dst = le.AppendUint64(dst, r.Len)
		dst = le.AppendUint64(dst, r.Key)
	}
	return dst
}

// Parse reads a packet and returns its payload, a part of b. It checks that the payload is as long as the headers
// say. Fields that the type does not use are 0.
func (p *Packet) Parse(b []byte) (payload []byte, err error) {
	if len(b) < HeaderLen {
		return nil, ErrShort
	}
	if b[0] != CtrlVersion || b[32] != OpHdrByte {
		return nil, ErrVersion
	}
	*p = Packet{Type: Type(b[1]), Conn: le.Uint64(b[8:]), MsgID: le.Uint64(b[16:]), Op: Op(b[34])}
	rest := b[HeaderLen:]
	switch p.Type {
	case TypeEager:
		if err = p.parseMessage(b); err == nil && p.Size != uint64(len(rest)) {
			err = ErrSize
		}
	case TypeSegment:
		p.SegSize, p.SegNo, p.Part = le.Uint16(b[2:]), le.Uint32(b[4:]), Part(b[24]&3)
		if err = p.parseMessage(b); err == nil {
			err = p.checkSegment(len(rest))
		}
	case TypeRndvReq:
		if err = p.parseMessage(b); err == nil {
			rest, err = p.parseRndv(rest)
		}
		if err == nil && !p.Trim(p.Size) {
			err = ErrRanges
		}
	case TypeWriteData:
		rest, err = p.parseRndv(rest)
	case TypeReadDone, TypeWriteDone:
	case TypeCredit:
		p.Credits = le.Uint64(b[24:])
	case TypeAtomic:
		rest, err = p.parseAtomic(b)
	case TypeAtomicResp:
		rest, err = p.parseResult(b)
	default:
		err = ErrType
	}
	if err != nil {
		return nil, err
	}
	return rest, nil
}

// parseMessage reads the fields of a message.
func (p *Packet) parseMessage(b []byte) error {
	if p.Op != OpMsg && p.Op != OpTagged {
		return ErrOp
	}
	p.Flags, p.Size, p.Data = le.Uint32(b[36:]), le.Uint64(b[40:]), le.Uint64(b[48:])
	p.Tag = le.Uint64(b[56:])
	if p.Size > MaxSize {
		return ErrSize
	}
	return nil
}

// checkSegment checks a segment with n bytes of payload.
func (p *Packet) checkSegment(n int) error {
	if p.Part == 0 || n == 0 || n != int(p.SegSize) || uint64(n) > p.Size {
		return ErrSize
	}
	if (p.Part == First) != (p.SegNo == 0) || p.Part != Last && uint64(n) == p.Size {
		return ErrSize
	}
	return nil
}

// parseRndv reads the ranges of a rendezvous and returns the rest of b.
func (p *Packet) parseRndv(b []byte) ([]byte, error) {
	if len(b) < RndvLen {
		return nil, ErrShort
	}
	p.N = b[RangesMax*RangeLen]
	if p.N == 0 || p.N > RangesMax {
		return nil, ErrRanges
	}
	p.parseRanges(b)
	return b[RndvLen:], nil
}

// parseRanges reads N ranges.
func (p *Packet) parseRanges(b []byte) {
	for i := range p.Ranges[:p.N] {
		p.Ranges[i] = Range{Addr: le.Uint64(b), Len: le.Uint64(b[8:]), Key: le.Uint64(b[16:])}
		b = b[RangeLen:]
	}
}

// Trim shortens the ranges to n bytes altogether, and reports whether they had as many. Native does not clear
// ranges behind the end of a message, so they have no meaning.
func (p *Packet) Trim(n uint64) bool {
	for i := range p.Ranges[:p.N] {
		r := &p.Ranges[i]
		if r.Len >= n {
			r.Len, p.N = n, uint8(i+1)
			clear(p.Ranges[i+1:])
			return true
		}
		n -= r.Len
	}
	return n == 0
}

// parseAtomic reads the headers of an atomic operation. The length of its operands depends on the datatype, so the
// receiver must check it.
func (p *Packet) parseAtomic(b []byte) ([]byte, error) {
	if p.Op < OpAtomic || p.Op > OpAtomicCompare {
		return nil, ErrOp
	}
	p.Size, p.Data = le.Uint64(b[40:]), le.Uint64(b[48:])
	p.Flags = le.Uint32(b[36:])
	p.Datatype, p.AtomOp, p.N = b[56], b[57], b[58]
	rest := b[HeaderLen:]
	if p.Size != uint64(len(rest)) {
		return nil, ErrSize
	}
	if len(rest) < AtomicLen {
		return nil, ErrShort
	}
	if p.N == 0 || p.N > RangesMax {
		return nil, ErrRanges
	}
	p.parseRanges(rest)
	for _, r := range p.Ranges[:p.N] {
		if r.Len > math.MaxUint32 {
			return nil, ErrRanges
		}
	}
	return rest[AtomicLen:], nil
}

// parseResult reads the headers of the answer to an atomic operation.
func (p *Packet) parseResult(b []byte) ([]byte, error) {
	if p.Op < OpAtomic || p.Op > OpAtomicCompare {
		return nil, ErrOp
	}
	p.Size, p.Datatype, p.AtomOp = le.Uint64(b[40:]), b[56], b[57]
	rest := b[HeaderLen:]
	if len(rest) < ResultLen {
		return nil, ErrShort
	}
	p.Status, p.Result = int32(be.Uint32(rest)), be.Uint32(rest[4:])
	rest = rest[ResultLen:]
	if p.Size != uint64(len(rest))+ResultLen || uint64(p.Result) != uint64(len(rest)) {
		return nil, ErrSize
	}
	return rest, nil
}
