package flow

import "gofabric/util/rxd/wire"

// postponed is what an answer said about what we sent, and when it came. Taking it costs a sixth of what the way of a small message does; the application had better
// have the message before, and its own answer leave.
type postponed struct {
	word word
	at   int64
}

// canWait reports whether nothing depends on when the acknowledgement in a datagram is taken: all that we sent has arrived, nothing of it is about to be sent
// again, there is no more to send, and nobody waits for what it releases.
func (f *Flow) canWait(h *wire.XHeader) bool {
	const busy = fClosing | fLimited | fOwed
	return h.Type == wire.XData && h.Flags&wire.FlagXFin == 0 && h.Ack == f.nxt && h.Ack > f.una && f.flags&busy == 0 &&
		f.tx.lost.head == none && f.payload == uint32(f.full) && f.src.Ready() == 0 && !f.src.Awaited()
}

// postpone puts off an acknowledgement until the application has had its chance to answer (Quiet), or until something has to know.
func (f *Flow) delayAck(now int64, h *wire.XHeader) {
	f.flags |= fLate
	f.tx.late = postponed{wordOf(h), now}
}

// settle takes the acknowledgement that was put off, if there is one.
func (f *Flow) settle() {
	if f.flags&fLate != 0 {
		f.flags &^= fLate
		f.acknowledged(f.tx.late.at, f.tx.late.word, nil)
	}
}

// ample reports that what there is to send may leave as one datagram, and a second one like it, whatever an acknowledgement that was put off says.
func (f *Flow) ample() bool {
	n := f.src.Ready()
	return n <= int(f.payload) && f.nxt+2*uint64(n) <= f.edge && f.tx.inFlight+2*n <= f.cwnd
}
