package session

import (
	"net/netip"

	"gofabric/util/rxd/wire"
)

// answersKept is how many answers wait for transmission. More are dropped, because RTS are repeated.
const answersKept = 256

// answer is a CTS or a reset that waits for Poll. It needs no peer: a peer without a cookie has none.
type answer struct {
	to  netip.AddrPort
	cts wire.CTS
	ext wire.Ext
	has bool // with the extension block ext

	raw   bool                  // a reset to a gofabric peer, instead of cts and ext
	bytes [wire.XHeaderLen]byte // the reset
}

// queueAnswer queues an answer, or drops it if too many wait.
func (e *Engine) queueAnswer(a answer) {
	if e.answers.Len() == answersKept {
		e.Stats.AnswersLost++
		return
	}
	e.answers.Push(a)
}

// pollAnswer fills in the oldest answer. There must be one.
func (e *Engine) pollAnswer(out *Out) {
	a := e.answers.At(0)
	out.To, out.Peer, out.Ext = a.to, nil, false
	// A reset, complete with its checksum.
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
