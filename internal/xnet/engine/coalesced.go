package engine

import (
	"encoding/binary"

	"gofabric/internal/xnet/wire"
)

// Consecutive small messages to a gofabric peer share one header if they have equal lengths, the same tag or none,
// and no remote CQ data: a coalesced message (wire.OpCoalesced, OpTagCoalesced). The first is staged like any
// message. If another one like it is posted before the first has left, its header becomes that of a coalesced
// message. Of 64-byte messages, headers are a fifth of the bytes on the wire, and building and parsing them a third
// of the work.

// openMessage is the coalesced message that can still grow: the message staged last in the domain, on any
// connection. It is closed when anything else is staged or leaves.
type openMessage struct {
	q      *outQueue // nil: there is none
	ch     *chunk
	at     int // offset of the header in ch
	size   int // payload of each message, bytes
	count  int // messages
	tag    uint64
	tagged bool
}

// Offsets of fields in a header, in bytes.
const (
	atOp    = 1
	atCount = 4
	atSize  = 8
)

// openCoalesced notes that the message staged last, of n bytes with header h, may become a coalesced message.
func (q *outQueue) openCoalesced(p *stagePool, h *wire.Header, n int) {
	if h.Flags != 0 || n == 0 {
		return
	}
	t := q.tail
	m := &p.open
	m.q, m.ch, m.at, m.size, m.count = q, t, len(t.b)-n-int(h.HdrLen), n, 1 // in place: see segment
	if m.tagged = h.Op == wire.OpTag; m.tagged {
		m.tag = h.Tag
	}
}

// join adds a message to the open one if it fits. The header is changed in place in the chunk, which is possible
// because none of it has left.
func (q *outQueue) join(p *stagePool, buf []byte, tagged bool, tag uint64) bool {
	m := &p.open
	n := len(buf)
	if m.q != q || n != m.size || tagged != m.tagged || tagged && tag != m.tag || m.count == wire.MaxCoalesced {
		return false
	}
	t := m.ch
	from := len(t.b)
	// It was the end of a chunk.
	if t != q.tail || cap(t.b)-from < n {
		return false
	}
	h := t.b[m.at:]
	// The second message makes it a coalesced one.
	if m.count++; m.count == 2 {
		h[atOp] = byte(wire.OpCoalesced)
		if tagged {
			h[atOp] = byte(wire.OpTagCoalesced)
		}
	}
	binary.LittleEndian.PutUint16(h[atCount:], uint16(m.count))
	binary.LittleEndian.PutUint64(h[atSize:], uint64(from+n-m.at))
	t.b = append(t.b, buf...)
	t.unsent += n
	q.queued += n
	q.bytes += n
	// The segment grows with the message.
	last := &q.segs[len(q.segs)-1]
	last.b, last.end = last.b[:len(last.b)+n], len(t.b)
	return true
}
