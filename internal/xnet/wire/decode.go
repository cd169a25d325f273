package wire

// PeekHeaderLen returns the length of the whole header, given its first BaseLen bytes, so that the caller can wait
// for the rest. Version, operation and length must not contradict each other. Decode checks everything else.
func PeekHeaderLen(b []byte) (n int, err error) {
	if len(b) < BaseLen {
		return 0, ErrShort
	}
	if b[0] != Version {
		return 0, ErrVersion
	}
	n = int(b[6])
	ok := false
	switch extra := n - BaseLen; Op(b[1]) {
	case OpMsg:
		ok = extra == 0 || extra == wordLen || extra == 2*wordLen
	case OpTag:
		ok = extra == wordLen || extra == 2*wordLen
	case OpTagRTS:
		ok = extra == 2*wordLen || extra == 3*wordLen
	case OpColl:
		ok = extra == 2*wordLen
	case OpReadRsp, OpCTS, OpData, OpExt, OpAtomicRsp, OpCoalesced, OpContext:
		ok = extra == 0
	case OpTagCoalesced:
		ok = extra == wordLen
	case OpReadReq, OpWrite, OpAtomic, OpAtomicFetch, OpAtomicCompare:
		if b[5] > IOVLimit {
			return 0, ErrIOV
		}
		extra -= int(b[5]) * iovLen
		ok = extra == 0 || extra == wordLen && Op(b[1]) != OpReadReq
	default:
		return 0, ErrOp
	}
	if !ok {
		return 0, ErrHeaderLen
	}
	return n, nil
}

// Decode reads the header at the start of b and returns its length in bytes. The result satisfies HdrLen == Len()
// and HdrLen <= Size. The segments of a write add up to its payload. Requests, acknowledgements and OpCTS have no
// payload. ErrShort means that b ends within the header. Fields that the operation does not use are unchanged,
// except that OpMsg and OpTag clear CQData and Tag. After an error h may be partly overwritten.
func (h *Header) Decode(b []byte, o Order) (n int, err error) {
	if len(b) < BaseLen {
		return 0, ErrShort
	}
	w, size := le.Uint64(b), le.Uint64(b[8:])
	flags := uint16(w >> 16)
	if o == Big {
		flags, size = o.u16(flags), o.u64(size)
	}
	h.Op, h.Flags, h.OpData = Op(w>>8), Flags(flags), uint8(w>>32)
	h.IovCnt, h.HdrLen, h.ID = uint8(w>>40), uint8(w>>48), uint8(w>>56)
	h.Size = size
	if uint8(w) != Version {
		return 0, ErrVersion
	}
	if h.Op > OpTag {
		return h.decodeCold(b, o)
	}

	// This is Len for OpMsg and OpTag, without branches: small messages take this path.
	n = BaseLen + int(flags&1)*wordLen + int(uint16(h.Op)|flags>>7&1)*wordLen
	if int(h.HdrLen) != n {
		return 0, ErrHeaderLen
	}
	if size-uint64(n) > MaxSize-MaxHeader { // also if size < n
		return 0, ErrSize
	}
	if h.OpData == OpDataAck && h.Op == OpMsg && size != BaseLen {
		return 0, ErrSize
	}
	h.CQData, h.Tag = 0, 0
	if n == BaseLen {
		return n, nil
	}
	if len(b) < n {
		return 0, ErrShort
	}
	h.words(b[BaseLen:n], o)
	return n, nil
}

// words reads CQ data and tag, as far as the header has them.
func (h *Header) words(b []byte, o Order) {
	last := o.u64(le.Uint64(b[len(b)-wordLen:]))
	switch {
	case len(b) == 2*wordLen:
		h.CQData, h.Tag = o.u64(le.Uint64(b)), last
	case h.Flags&FlagCQData != 0:
		h.CQData = last
	default:
		h.Tag = last
	}
}

// decodeCold is Decode for all operations except small messages.
func (h *Header) decodeCold(b []byte, o Order) (int, error) {
	atomic := h.Op.atomic()
	coalesced := h.Op == OpCoalesced || h.Op == OpTagCoalesced
	if h.Op > OpData && h.Op != OpExt && h.Op != OpAtomicRsp && h.Op != OpContext && h.Op != OpColl && !atomic && !coalesced {
		return 0, ErrOp
	}
	if (h.Op == OpWrite || h.Op == OpReadReq || atomic) && h.IovCnt > IOVLimit {
		return 0, ErrIOV
	}
	if atomic {
		h.Flags, h.Atomic = h.Flags&0xff, uint8(h.Flags>>8)
	}
	n := h.Len()
	if int(h.HdrLen) != n {
		return 0, ErrHeaderLen
	}
	payload := h.Size - uint64(n)
	if payload > MaxSize-MaxHeader {
		return 0, ErrSize
	}
	if payload != 0 && (h.Op == OpReadReq || h.Op == OpTagRTS || h.Op == OpCTS || h.Op == OpContext) {
		return 0, ErrSize
	}
	if h.Op == OpExt && (payload == 0 || payload > MaxExt) {
		return 0, ErrSize
	}
	if coalesced && h.badCoalesced(payload) || h.Op == OpColl && h.Flags != 0 {
		return 0, ErrSize
	}
	if len(b) < n {
		return 0, ErrShort
	}
	p := b[BaseLen:n]
	if h.Flags&FlagCQData != 0 && (h.Op == OpWrite || h.Op == OpTagRTS || atomic) {
		h.CQData = o.u64(le.Uint64(p))
		p = p[wordLen:]
	}
	switch h.Op {
	case OpTagCoalesced:
		h.Tag = o.u64(le.Uint64(p))
	case OpColl:
		h.Tag, h.CQData = o.u64(le.Uint64(p)), o.u64(le.Uint64(p[wordLen:]))
		if h.CQData&CollAbort != 0 && payload != 0 {
			return 0, ErrSize
		}
	case OpTagRTS:
		h.Tag, h.MsgSize = o.u64(le.Uint64(p)), o.u64(le.Uint64(p[wordLen:]))
		if h.MsgSize > MaxSize {
			return 0, ErrSize
		}
	case OpReadReq, OpWrite:
		total, err := h.iovs(p, o)
		if err != nil {
			return 0, err
		}
		if h.Op == OpWrite && total != payload {
			return 0, ErrIOV
		}
	case OpAtomic, OpAtomicFetch, OpAtomicCompare:
		total, err := h.iovs(p, o)
		if err != nil {
			return 0, err
		}
		if total > MaxAtomic || payload != h.operands(total) {
			return 0, ErrSize
		}
	}
	return n, nil
}

// badCoalesced reports whether the payload of a coalesced message is empty or cannot be divided equally among its
// messages.
func (h *Header) badCoalesced(payload uint64) bool {
	n := uint64(h.OpData) | uint64(h.IovCnt)<<8
	return n == 0 || payload < n || payload%n != 0 || h.Flags != 0
}

// operands is the payload of an atomic operation on total bytes of memory.
func (h *Header) operands(total uint64) uint64 {
	switch {
	case h.Op == OpAtomicCompare:
		return 2 * total
	case h.Op == OpAtomicFetch && h.Atomic == AtomicRead:
		return 0
	}
	return total
}

// iovs reads the segments in b and adds up their lengths. The memory registration decides whether the sender may
// access them.
func (h *Header) iovs(b []byte, o Order) (total uint64, err error) {
	for i := range h.IOV[:h.IovCnt] {
		v := &h.IOV[i]
		v.Addr = o.u64(le.Uint64(b))
		v.Len = o.u64(le.Uint64(b[wordLen:]))
		v.Key = o.u64(le.Uint64(b[2*wordLen:]))
		b = b[iovLen:]
		if v.Len > MaxSize || total+v.Len > MaxSize {
			return 0, ErrIOV
		}
		total += v.Len
	}
	return total, nil
}
