package engine

import "gofabric/internal/match"

// RxOp is a posted receive. The driver gets it from RxContext.NewOp, fills it in and posts it.
//
// The fields that every small message needs are together, so that a window of receives stays in the first-level
// cache.
type RxOp struct {
	next   *RxOp
	Ctx    uint64
	Flags  uint64
	Silent bool
	Multi  bool // FI_MULTI_RECV
	niov   uint8

	// Of the message that the receive was matched with.
	hasData, ack bool
	discarded    bool // the message is dropped, and the end not reported
	buf          []byte
	msgLen       uint64

	node           match.Recv[*RxOp]
	data, tag, src uint64
	multi          *multiBuffer
	Owner          Owner // as in Send
	sink           CompletionSink
	rest           [MaxIOV - 1][]byte
	_              [56]byte // to a size that the allocator aligns to lines of the cache
}

// multiBuffer is a multi-receive buffer (FI_MULTI_RECV) that several messages share. Each gets a receive of its own
// that is a part of it.
type multiBuffer struct {
	users int  // receives that still write into it
	spent bool // too little is left for another message
	next  *multiBuffer
}

// reset clears the operation. The matching node keeps its links, which the queue has cleared.
func (op *RxOp) reset() {
	if op.buf = nil; op.niov > 1 {
		clear(op.rest[:])
	}
	op.niov = 0
	op.multi, op.sink = nil, nil
	op.Silent, op.Multi, op.Owner = false, false, nil
	op.hasData, op.ack, op.discarded = false, false, false
}

// SetBuf sets the receive buffer.
func (op *RxOp) SetBuf(buf []byte) { op.buf, op.niov = buf, 1 }

// SetIOV sets the concatenation of iov as the receive buffer: at most MaxIOV parts.
func (op *RxOp) SetIOV(iov [][]byte) error {
	if len(iov) > MaxIOV {
		return ErrTooLong
	}
	if op.niov = uint8(len(iov)); op.niov > 0 {
		op.buf = iov[0]
		copy(op.rest[:], iov[1:])
	}
	return nil
}

// buffer returns the i-th part of the receive buffer.
func (op *RxOp) buffer(i int) []byte {
	if i == 0 {
		return op.buf
	}
	return op.rest[i-1]
}

// first lists in dst the buffers that the first n bytes of a message fill.
func (op *RxOp) first(n uint64, dst *[MaxIOV][]byte) [][]byte {
	list := dst[:0]
	for i := range int(op.niov) {
		b := op.buffer(i)
		if k := min(uint64(len(b)), n); k > 0 {
			list = append(list, b[:k])
			n -= k
		}
	}
	return list
}

// dropBuffers leaves op without room: its message is discarded.
func (op *RxOp) dropBuffers() {
	op.buf = nil
	clear(op.rest[:])
	op.niov, op.discarded = 0, true
}

// Len, Buf, Data, Tag and Source describe a finished receive: the bytes received, the buffer (its first part), the
// remote CQ data if there is any, and tag and source of the message.
func (op *RxOp) Len() uint64          { return op.msgLen }
func (op *RxOp) Buf() []byte          { return op.buf }
func (op *RxOp) Data() (uint64, bool) { return op.data, op.hasData }
func (op *RxOp) Tag() uint64          { return op.tag }
func (op *RxOp) Source() uint64       { return op.src }

// Completion returns the Completion of a finished receive.
func (op *RxOp) Completion() Completion {
	return Completion{
		Kind: KindRecv, HasData: op.hasData, Silent: op.Silent, Ctx: op.Ctx, Flags: op.Flags, Len: op.msgLen, Data: op.data,
		Tag: op.tag, Src: op.src, Buf: op.buf, Owner: op.Owner,
	}
}

// size is the length of the receive buffer.
func (op *RxOp) size() uint64 {
	if op.niov == 1 {
		return uint64(len(op.buf))
	}
	n := 0
	for i := range int(op.niov) {
		n += len(op.buffer(i))
	}
	return uint64(n)
}
