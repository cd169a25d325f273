package engine

import (
	"gofabric/internal/match"
	"gofabric/internal/xnet/wire"
)

// MaxIOV is the number of buffers that an operation can name (XNET_IOV_LIMIT).
const MaxIOV = 4

// RxOp is a posted receive. Fill it in after RxContext.NewOp and post it.
//
// Fields that every small message needs lie together: a window of receives should stay in the processor's first cache.
type RxOp struct {
	next   *RxOp
	Ctx    uint64
	Flags  uint64
	Silent bool
	Multi  bool // FI_MULTI_RECV
	niov   uint8

	// Of the message that the receive was matched with.
	hasData, ack bool
	discarded    bool // nobody wants the message
	buf          []byte
	msgLen       uint64

	node           match.Recv[*RxOp]
	data, tag, src uint64
	multi          *multiBuffer
	Owner          Owner // as Send.Owner
	sink           Sink
	rest           [MaxIOV - 1][]byte
	_              [56]byte // to a size that the allocator aligns to lines of the cache
}

// multiBuffer is a multi-receive buffer that several messages share: each takes a receive of its own, carved out of it.
type multiBuffer struct {
	users int  // receives that still write into it
	spent bool // too little is left for another message
	next  *multiBuffer
}

// reset forgets the operation. The matching node keeps its links, which the queue has cleared.
func (op *RxOp) reset() {
	if op.buf = nil; op.niov > 1 {
		clear(op.rest[:])
	}
	op.niov = 0
	op.multi, op.sink = nil, nil
	op.Silent, op.Multi, op.Owner = false, false, nil
	op.hasData, op.ack, op.discarded = false, false, false
}

// SetBuf makes buf the whole receive buffer.
func (op *RxOp) SetBuf(buf []byte) { op.buf, op.niov = buf, 1 }

// SetIOV makes the concatenation of iov the receive buffer; at most MaxIOV parts.
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

// part is a part of the receive buffer.
func (op *RxOp) part(i int) []byte {
	if i == 0 {
		return op.buf
	}
	return op.rest[i-1]
}

// Of a finished receive: the bytes received, the buffer (its first part), the remote data if there is any, tag and source of the message.
func (op *RxOp) Len() uint64          { return op.msgLen }
func (op *RxOp) Buf() []byte          { return op.buf }
func (op *RxOp) Data() (uint64, bool) { return op.data, op.hasData }
func (op *RxOp) Tag() uint64          { return op.tag }
func (op *RxOp) Source() uint64       { return op.src }

// Completion returns what Completed would be told.
func (op *RxOp) Completion() Completion {
	return Completion{Kind: KindRecv, HasData: op.hasData, Silent: op.Silent, Ctx: op.Ctx, Flags: op.Flags, Len: op.msgLen, Data: op.data, Tag: op.tag, Src: op.src, Buf: op.buf, Owner: op.Owner}
}

// size is the room in the receive buffer.
func (op *RxOp) size() uint64 {
	if op.niov == 1 {
		return uint64(len(op.buf))
	}
	n := 0
	for i := range int(op.niov) {
		n += len(op.part(i))
	}
	return uint64(n)
}

// message is a message that came before its receive was posted, or is still coming.
type message struct {
	node   match.Msg[*message]
	next   *message
	conn   *Conn // while payload is still to come, or for a rendezvous
	owner  *Conn // whose budget it counts against
	parts  [][]byte
	stored uint64 // bytes in parts
	cost   uint64 // bytes it counts for

	hasData, ack bool
	match        bool // the sender wants to know when it is matched
	matchID      uint32
	rts          bool  // a rendezvous: no payload until it is asked for
	stalls       bool  // its connection waits for it to go, or for room
	broken       error // claimed, and its connection has ended since
	rtsIndex     uint8
	ref          []wire.RMAIov // of a rendezvous by reference: where the sender has it
	seal         seal          // and the seal to look at after it was copied
	data         uint64
	msgLen       uint64
	sink         Sink
}

func (m *message) reset() {
	m.conn, m.owner, m.sink = nil, nil, nil
	m.ref, m.seal = m.ref[:0], seal{}
	m.parts = m.parts[:0]
	m.stored, m.cost, m.data, m.msgLen = 0, 0, 0, 0
	m.match = false
	m.hasData, m.ack, m.rts, m.stalls, m.broken = false, false, false, false, nil
	m.rtsIndex = 0
}
