package flow

import "gofabric/util/rxd/wire"

// A received acknowledgement may be processed later. That costs a sixth of the work for a small message, and
// nothing depends on it in a ping-pong: the application should get the message first, and its answer should leave.
// The flow processes the acknowledgement at PassDone, or before anything that depends on it.
//
// deferredAck is a received acknowledgement that is not processed yet.
type deferredAck struct {
	fields ackFields
	at     int64 // time of arrival
}

// canDeferAck reports whether nothing depends on when the acknowledgement in h is processed: it covers all that we
// sent, nothing is about to be sent again, the source has no more to send, and no operation waits for what it
// releases.
func (f *Flow) canDeferAck(h *wire.XHeader) bool {
	const busy = fClosing | fWindowLimited | fExpecting
	return h.Type == wire.XData && h.Flags&wire.FlagXFin == 0 && h.Ack == f.sndNxt && h.Ack > f.sndUna &&
		f.flags&busy == 0 && f.tx.lost.head == none && f.payload == uint32(f.maxPayload) && f.src.Ready() == 0 && !f.src.Awaited()
}

// deferAck stores the acknowledgement in h. At most one is stored: Receive processes the one before first.
func (f *Flow) deferAck(now int64, h *wire.XHeader) {
	f.flags |= fAckDeferred
	f.tx.deferred = deferredAck{ackFieldsOf(h), now}
}

// takeDeferredAck processes the deferred acknowledgement, if there is one.
func (f *Flow) takeDeferredAck() {
	if f.flags&fAckDeferred != 0 {
		f.flags &^= fAckDeferred
		f.processAck(f.tx.deferred.at, f.tx.deferred.fields, nil)
	}
}

// fitsWithoutAck reports whether what the source has may leave as one datagram, with room for a second one like it,
// without regard to the deferred acknowledgement. Then it need not be processed before.
func (f *Flow) fitsWithoutAck() bool {
	n := f.src.Ready()
	return n <= int(f.payload) && f.sndNxt+2*uint64(n) <= f.sndEdge && f.tx.inFlight+2*n <= f.cwnd
}
