package engine

import (
	"gofabric/internal/match"
	"gofabric/internal/xnet/wire"
)

type (
	queue    = match.Queue[*RxOp, *message]
	recvNode = match.Recv[*RxOp]
)

// messageOverhead is how many bytes a stored message counts for besides its payload.
const messageOverhead = 256

// source is a peer as the receive side knows it: its name, its share of the budget, and where completions go.
type source struct {
	// Src is the source of messages in completions.
	Src         uint64
	unexpBytes  uint64         // bytes that its unexpected messages count for
	completions CompletionSink // of its connection
	unexpCount  int32          // its unexpected messages
	stalled     bool           // its bytes are not taken until there is room
}

// UnexpectedBytes is the memory that the peer's unexpected messages count for.
func (s *source) UnexpectedBytes() uint64 { return s.unexpBytes }

// feeder is the connection of a source, for a message that meets its receive late.
type feeder interface {
	// redirect lets the rest of m, which is still coming, go to op, and frees m.
	redirect(m *message, op *RxOp)
	// fetchHeld gets the payload of a message that the peer holds back.
	fetchHeld(op *RxOp, at *heldBack)
	// tellMatched tells the peer that its message with this number has found a receive.
	tellMatched(id uint32)
	// forget drops the rest of m.
	forget(m *message)
	// resume goes on with the peer's bytes after a stall.
	resume()
}

// heldBack says where the payload of a message is that the peer has only announced.
type heldBack struct {
	index  uint8         // of the announcement
	ranges []wire.RMAIov // where the sender has it, if it can be copied from there
	seal   seal          // to be checked after the copy
}

// SealLen is the length of a challenge and of a seal, bytes.
const SealLen = wire.SealLen

// seal is where the peer has the seal of a message, and its number (seal.go).
type seal struct{ at, number uint64 }

// message is a message that came before its receive was posted, or is still coming.
type message struct {
	node    match.Msg[*message]
	next    *message
	owner   *source // whose budget it counts against
	feed    feeder  // its connection
	pending bool    // payload is still to come, or has to be asked for
	parts   [][]byte
	stored  uint64 // bytes in parts
	cost    uint64 // bytes it counts for

	hasData, ack bool
	match        bool // the sender wants to know when it is matched
	matchID      uint32
	held         bool  // there is no payload until it is asked for (at)
	stalls       bool  // its connection waits until it is matched, or until there is room
	broken       error // why its connection ended after it was claimed
	at           heldBack
	data         uint64
	msgLen       uint64
	sink         CompletionSink
}

func (m *message) reset() {
	m.owner, m.feed, m.sink, m.pending = nil, nil, nil, false
	m.at = heldBack{ranges: m.at.ranges[:0]}
	m.parts = m.parts[:0]
	m.stored, m.cost, m.data, m.msgLen = 0, 0, 0, 0
	m.match = false
	m.hasData, m.ack, m.held, m.stalls, m.broken = false, false, false, false, nil
}

// copyTo copies the stored part of m into op's buffers, as far as there is room.
func (m *message) copyTo(op *RxOp) {
	i, off := 0, 0
	for _, p := range m.parts {
		for len(p) > 0 && i < int(op.niov) {
			n := copy(op.buffer(i)[off:], p)
			p, off = p[n:], off+n
			if off == len(op.buffer(i)) {
				i, off = i+1, 0
			}
		}
	}
}

// rxPool holds the free receives and unexpected messages of a domain.
type rxPool struct {
	bufferPool
	rx     *RxOp
	multis *multiBuffer
	unexp  *message
	nunexp int
	// OutRx and OutUnexp count receives and messages that are in use, for leak checks.
	OutRx, OutUnexp int
}

// unexpKept is how many free messages are kept: as many as a sender that does not wait has under way.
const unexpKept = 8192

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

func (p *rxPool) putRx(op *RxOp) {
	p.OutRx--
	op.reset()
	op.next = p.rx
	p.rx = op
}

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

func (p *rxPool) putMessage(m *message) {
	p.OutUnexp--
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
