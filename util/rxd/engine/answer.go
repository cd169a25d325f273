package engine

import (
	"net/netip"

	"gofabric/util/rxd/wire"
)

// answersKept is how many CTS wait for transmission; more are dropped, for RTS is repeated.
const answersKept = 256

// answer is a CTS that waits.
type answer struct {
	to  netip.AddrPort
	cts wire.CTS
	ext wire.Ext
	has bool // ext

	raw   bool // instead of all that: the last word to a gofabric peer
	bytes [wire.XHeaderLen]byte
}

// answerQueue is a ring of answers, allocated when first used.
type answerQueue struct {
	ring    []answer
	head, n int
}

func (q *answerQueue) push(e *Engine, a answer) {
	if q.ring == nil {
		q.ring = make([]answer, answersKept)
	}
	if q.n == len(q.ring) {
		e.Stats.AnswersLost++
		return
	}
	q.ring[(q.head+q.n)%len(q.ring)] = a
	q.n++
}

func (q *answerQueue) pop(e *Engine, out *Out) {
	a := &q.ring[q.head]
	q.head = (q.head + 1) % len(q.ring)
	q.n--
	out.To, out.Peer, out.Ext = a.to, nil, false
	if a.raw {
		out.Head = append(out.Head[:0], a.bytes[:]...)
		out.Len = len(out.Head)
		return
	}
	out.Head = a.cts.Append(out.Head[:0])
	if a.has {
		out.Head = a.ext.Append(out.Head)
	}
	out.Len = len(out.Head)
}
