package wire

import "encoding/binary"

var le = binary.LittleEndian

// RMAIov is an RMA segment of a read or write (struct fi_rma_iov, fi_rma(3)). Addr is an address or an offset,
// depending on the target's mr_mode (fi_mr(3)). Len is in bytes.
type RMAIov struct {
	Addr, Len, Key uint64
}

// Header is the header of one transfer (struct xnet_base_hdr and those that begin with it). Op and Flags decide
// which fields are valid; see docs/wire/tcp.md.
type Header struct {
	Op      Op
	Atomic  uint8 // OpAtomic to OpAtomicCompare: enum fi_op; OpData is enum fi_datatype
	Flags   Flags
	OpData  uint8  // OpDataAck, or the context byte of OpTagRTS, OpCTS and OpData
	IovCnt  uint8  // OpReadReq, OpWrite and atomics; native leaves garbage in other headers
	HdrLen  uint8  // header length in bytes; set by Append, SetPayload and Decode
	ID      uint8  // sequence number modulo 256; only native's debug builds read it
	Size    uint64 // header and payload, in bytes
	CQData  uint64 // with FlagCQData, except in OpData; OpColl
	Tag     uint64 // OpTag, OpTagRTS, OpColl and, with FlagTagged, OpMsg
	MsgSize uint64 // OpTagRTS: bytes of payload that wait
	IOV     [IOVLimit]RMAIov
}

// Len is the length of the header in bytes, as Op, Flags and IovCnt imply. It is right for known operations and
// IovCnt up to IOVLimit.
func (h *Header) Len() int {
	cq := int(h.Flags&FlagCQData) * wordLen
	switch h.Op {
	case OpMsg:
		if h.Flags&FlagTagged != 0 {
			cq += wordLen
		}
		return BaseLen + cq
	case OpTag:
		return BaseLen + cq + wordLen
	case OpTagCoalesced:
		return BaseLen + wordLen
	case OpTagRTS:
		return BaseLen + cq + 2*wordLen
	case OpColl:
		return BaseLen + 2*wordLen
	case OpWrite, OpAtomic, OpAtomicFetch, OpAtomicCompare:
		return BaseLen + cq + int(h.IovCnt)*iovLen
	case OpReadReq:
		return BaseLen + int(h.IovCnt)*iovLen
	}
	// A native OpData keeps the flags of its OpTagRTS but not the CQ data.
	return BaseLen
}

// PayloadLen is the number of payload bytes behind the header.
func (h *Header) PayloadLen() uint64 { return h.Size - uint64(h.HdrLen) }

// SetPayload sets HdrLen and Size for n bytes of payload. Op, Flags and IovCnt must be set before.
func (h *Header) SetPayload(n uint64) {
	l := h.Len()
	h.HdrLen = uint8(l)
	h.Size = uint64(l) + n
}

// Append appends the encoded header to dst and sets HdrLen. Size must include the header: see SetPayload. It
// allocates only if dst lacks room; MaxHeader bytes are always enough. An IovCnt above IOVLimit, where it is used,
// is a bug of the caller and panics.
func (h *Header) Append(dst []byte, o Order) []byte {
	n := h.Len()
	h.HdrLen = uint8(n)
	flags := uint16(h.Flags)
	if h.Op.atomic() {
		flags = flags&0xff | uint16(h.Atomic)<<8
	}
	dst = le.AppendUint64(dst, Version|uint64(h.Op)<<8|uint64(o.u16(flags))<<16|
		uint64(h.OpData)<<32|uint64(h.IovCnt)<<40|uint64(h.HdrLen)<<48|uint64(h.ID)<<56)
	dst = le.AppendUint64(dst, o.u64(h.Size))
	if n == BaseLen {
		return dst
	}
	if h.Flags&FlagCQData != 0 && h.Op != OpReadReq {
		dst = le.AppendUint64(dst, o.u64(h.CQData))
	}
	switch h.Op {
	case OpMsg:
		if h.Flags&FlagTagged != 0 {
			dst = le.AppendUint64(dst, o.u64(h.Tag))
		}
	case OpTag, OpTagCoalesced:
		dst = le.AppendUint64(dst, o.u64(h.Tag))
	case OpColl:
		dst = le.AppendUint64(dst, o.u64(h.Tag))
		dst = le.AppendUint64(dst, o.u64(h.CQData))
	case OpTagRTS:
		dst = le.AppendUint64(dst, o.u64(h.Tag))
		dst = le.AppendUint64(dst, o.u64(h.MsgSize))
	case OpReadReq, OpWrite, OpAtomic, OpAtomicFetch, OpAtomicCompare:
		for i := range h.IOV[:h.IovCnt] {
			v := &h.IOV[i]
			dst = le.AppendUint64(dst, o.u64(v.Addr))
			dst = le.AppendUint64(dst, o.u64(v.Len))
			dst = le.AppendUint64(dst, o.u64(v.Key))
		}
	}
	return dst
}
