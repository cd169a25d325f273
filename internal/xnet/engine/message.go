package engine

import (
	"gofabric/internal/match"
	"gofabric/internal/xnet/wire"
)

type (
	queue    = match.Queue[*RxOp, *message]
	recvNode = match.Recv[*RxOp]
)

// Unexpected messages. Their payload is in pooled buffers within a budget (budget.go), or still with the peer
// (heldBack).
//
// messageOverhead is how many bytes a stored message counts for besides its payload.
const messageOverhead = 256

// source is a peer as the receive side knows it: its source address, its share of the budget, and its sink.
type source struct {
	// Src is the source of messages in completions.
	Src         uint64
	unexpBytes  uint64         // bytes that its unexpected messages count for
	completions CompletionSink // of its connection
	unexpCount  int32          // its unexpected messages
	stalled     bool           // its bytes are not taken until there is room
}

// UnexpectedBytes is how many bytes the peer's unexpected messages count for.
func (s *source) UnexpectedBytes() uint64 { return s.unexpBytes }

// feeder is the connection of a source, for a message that meets its receive late.
type feeder interface {
	// redirect directs the rest of m, which is still coming, to op, and frees m.
	redirect(m *message, op *RxOp)
	// fetchHeld gets the payload of a message that is still with the peer.
	fetchHeld(op *RxOp, at *heldBack)
	// sendMatched reports to the peer that its message with this number has met its receive.
	sendMatched(id uint32)
	// forget discards the rest of m.
	forget(m *message)
	// resume continues with the peer's bytes after a stall.
	resume()
}

// heldBack says where the payload of an announced message is.
type heldBack struct {
	index  uint8         // of the announcement
	ranges []wire.RMAIov // in the sender's memory, if it can be copied from there
	seal   seal          // to be checked after the copy
}

// SealLen is the length of a challenge and of a seal, bytes.
const SealLen = wire.SealLen

// seal is the address of a message's seal in the peer's memory, and its number (seal.go).
type seal struct{ at, number uint64 }

// message is a message that came before its receive was posted, or that is still coming.
type message struct {
	node    match.Msg[*message]
	next    *message
	owner   *source // the source whose budget it counts for
	feed    feeder  // its connection
	pending bool    // payload is still to come, or must be asked for
	parts   [][]byte
	stored  uint64 // bytes in parts
	cost    uint64 // bytes it counts for

	hasData, ack bool
	match        bool // the sender wants to know when it is matched
	matchID      uint32
	held         bool  // its payload is where at says
	stalls       bool  // its connection waits until it is matched, or until there is room
	broken       error // why its connection ended after it was claimed
	at           heldBack
	data         uint64
	msgLen       uint64
	sink         CompletionSink
}

// reset clears m for the pool.
func (m *message) reset() {
	m.owner, m.feed, m.sink, m.pending = nil, nil, nil, false
	m.at = heldBack{ranges: m.at.ranges[:0]}
	m.parts = m.parts[:0]
	m.stored, m.cost, m.data, m.msgLen = 0, 0, 0, 0
	m.match = false
	m.hasData, m.ack, m.held, m.stalls, m.broken = false, false, false, false, nil
}

// copyTo copies the stored part of m into op's buffers, as far as it fits.
func (m *message) copyTo(op *RxOp) {
	i, off := 0, 0
	for _, p := range m.parts {
		// Bytes beyond the receive are lost (FI_ETRUNC).
		for len(p) > 0 && i < int(op.niov) {
			n := copy(op.buffer(i)[off:], p)
			p, off = p[n:], off+n
			if off == len(op.buffer(i)) {
				i, off = i+1, 0
			}
		}
	}
}

// rxPool has the free receives and unexpected messages of a domain.
type rxPool struct {
	bufferPool
	rx     *RxOp
	multis *multiBuffer
	unexp  *message
	nunexp int
	// OutRx and OutUnexp count receives and messages in use. Tests use them to find leaks.
	OutRx, OutUnexp int
}

// unexpKept is how many free messages are kept: as many as a sender that does not wait has under way.
const unexpKept = 8192

// getRx returns an empty receive.
func (p *rxPool) getRx() *RxOp {
	p.OutRx++
	op := p.rx
	if op == nil {
		op = &RxOp{}
		op.node.Value = op
		return op
	}
	p.rx, op.next = op.next, nil
	return op
}

// putRx takes a receive back.
func (p *rxPool) putRx(op *RxOp) {
	p.OutRx--
	op.reset()
	op.next = p.rx
	p.rx = op
}

// getMulti returns an unused multiBuffer, and putMulti takes one back.
func (p *rxPool) getMulti() *multiBuffer {
	mb := p.multis
	if mb == nil {
		return &multiBuffer{}
	}
	p.multis = mb.next
	*mb = multiBuffer{}
	return mb
}

func (p *rxPool) putMulti(mb *multiBuffer) { mb.next, p.multis = p.multis, mb }

// getMessage returns an empty message.
func (p *rxPool) getMessage() *message {
	p.OutUnexp++
	m := p.unexp
	if m == nil {
		m = &message{}
		m.node.Value = m
		return m
	}
	p.unexp, m.next = m.next, nil
	p.nunexp--
	return m
}

// putMessage takes a message back, with its buffers.
func (p *rxPool) putMessage(m *message) {
	p.OutUnexp--
	// The buffers go back in any case; the message only if few are kept.
	for i, b := range m.parts {
		p.putBuffer(b)
		m.parts[i] = nil
	}
	if p.nunexp >= unexpKept {
		return
	}
	m.reset()
	m.next = p.unexp
	p.unexp = m
	p.nunexp++
}
