package flow

import "gofabric/util/rxd/wire"

// A received acknowledgement may be processed later. That costs a sixth of the work for a small message, and
// nothing depends on it in a ping-pong: the application should get the message first, and its answer should leave.
// The flow processes the acknowledgement at PassDone, or before anything that depends on it.
//
// delayedAck is a received acknowledgement that is not processed yet.
type delayedAck struct {
	fields ackFields
	at     int64 // time of arrival
}

// canDelayAck reports whether nothing depends on when the acknowledgement in h is processed: it covers all that we
// sent, nothing is about to be sent again, the source has no more to send, and no operation waits for what it
// releases.
func (f *Flow) canDelayAck(h *wire.XHeader) bool {
	const busy = fClosing | fWindowLimited | fExpecting
	return h.Type == wire.XData && h.Flags&wire.FlagXFin == 0 && h.Ack == f.sndNxt && h.Ack > f.sndUna &&
		f.flags&busy == 0 && f.tx.lost.head == none && f.payload == uint32(f.maxPayload) && f.src.Ready() == 0 && !f.src.Awaited()
}

// delayAck stores the acknowledgement in h. At most one is stored: Receive processes the one before first.
func (f *Flow) delayAck(now int64, h *wire.XHeader) {
	f.flags |= fAckDelayed
	f.tx.delayed = delayedAck{ackFieldsOf(h), now}
}

// takeDelayedAck processes the delayed acknowledgement, if there is one.
func (f *Flow) takeDelayedAck() {
	if f.flags&fAckDelayed != 0 {
		f.flags &^= fAckDelayed
		f.processAck(f.tx.delayed.at, f.tx.delayed.fields, nil)
	}
}

// fitsWithoutAck reports whether what the source has may leave as one datagram, with room for a second one like it,
// without regard to the delayed acknowledgement. Then it need not be processed before.
func (f *Flow) fitsWithoutAck() bool {
	n := f.src.Ready()
	return n <= int(f.payload) && f.sndNxt+2*uint64(n) <= f.sndEdge && f.tx.inFlight+2*n <= f.cwnd
}
