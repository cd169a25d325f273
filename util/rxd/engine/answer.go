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

// later queues an answer.
func (e *Engine) later(a answer) {
	if e.answers.Len() == answersKept {
		e.Stats.AnswersLost++
		return
	}
	e.answers.Push(a)
}

// pollAnswer hands out the oldest answer; there must be one.
func (e *Engine) pollAnswer(out *Out) {
	a := e.answers.At(0)
	out.To, out.Peer, out.Ext = a.to, nil, false
	if a.raw {
		out.Head = append(out.Head[:0], a.bytes[:]...)
	} else {
		out.Head = a.cts.Append(out.Head[:0])
		if a.has {
			out.Head = a.ext.Append(out.Head)
		}
	}
	out.Len = len(out.Head)
	e.answers.Drop()
}
