package flow

import "gofabric/util/rxd/wire"

// Receive takes a datagram of the peer. The caller has verified its checksum and connection id. payload is borrowed
// for the call. Data in order goes to the sink without a copy.
//
// Acknowledgements follow RFC 5681, 4.2: at once for data out of order and for data that fills a hole, otherwise
// after ackEveryBytes or ackDelayMax, so that an answer of the application can carry them.
func (f *Flow) Receive(now int64, h *wire.XHeader, payload []byte) {
	// An earlier delayed acknowledgement must be processed first: acknowledgements are processed in order.
	f.takeDelayedAck()
	if f.dead != nil {
		return
	}
	f.stats.Received++
	// It acknowledges what was not sent, or its offset overflows: no peer that follows the rules sends this (RFC
	// 9293, 3.10.7.4).
	if h.Ack > f.sndNxt || h.Offset+uint64(len(payload)) < h.Offset {
		f.stats.Nonsense++
		return
	}
	f.receivedAt = now
	if f.canDelayAck(h) {
		f.delayAck(now, h)
	} else {
		// Of a reset, too: an operation that the peer has taken must not fail.
		f.processAck(now, ackFieldsOf(h), h.SACK[:h.NSACK])
	}
	if f.dead != nil {
		return
	}
	if h.Type == wire.XReset {
		f.end(ErrReset)
		return
	}
	// A probe is always acknowledged at once.
	if h.Type == wire.XProbe {
		f.flags |= fAckNow
	}
	// Only these are echoed, see measureRTT.
	if (len(payload) > 0 || h.Type == wire.XProbe) && h.Time != 0 {
		f.echo, f.echoAt = h.Time, now
	}
	if len(payload) > 0 {
		f.receivePayload(now, h, payload)
	}
	// The peer's stream ends behind this payload.
	if h.Flags&wire.FlagXFin != 0 && f.dead == nil {
		f.flags |= fFinReceived
		f.rcvFin = h.Offset + uint64(len(payload))
	}
	f.endIfComplete()
}

// receivePayload takes the payload of a datagram.
func (f *Flow) receivePayload(now int64, h *wire.XHeader, b []byte) {
	start, end := h.Offset, h.Offset+uint64(len(b))
	ahead := f.flags&fDelayAcks != 0
	// The peer needs the acknowledgement to go on. If it is ahead of others, it waits all the same (DelayAcks).
	if h.Flags&wire.FlagXAckNow != 0 && !ahead {
		f.flags |= fAckNow
	}
	if end <= f.rcvNxt { // all of it was delivered: our acknowledgement was lost or late
		f.stats.Duplicates++
		f.flags |= fAckNow
		return
	}
	// Its beginning was delivered before: a retransmission may be cut differently.
	if start < f.rcvNxt {
		b = b[f.rcvNxt-start:]
		start = f.rcvNxt
	}
	// Beyond our window. The acknowledgement tells the peer where it ends.
	if end > f.rcvNxt+uint64(f.cfg.RecvWindow) {
		f.stats.Dropped++
		f.flags |= fAckNow
		return
	}
	// Behind a hole, or the sink is stalled: keep it, and say so at once (RFC 5681, 4.2).
	if start > f.rcvNxt || f.flags&fStalled != 0 {
		f.flags |= fAckNow
		f.holdPayload(now, start, b)
		return
	}
	// In order: no copy.
	f.deliver(b)
	if f.dead != nil {
		return
	}
	if f.rx != nil && len(f.rx.spans) > 0 {
		f.flags |= fAckNow // it fills a hole: RFC 5681, 4.2
		if f.deliverHeld(); f.dead != nil {
			return
		}
	}
	// Enough data for an acknowledgement; otherwise the delay begins.
	if f.unacked >= max(2*f.payload, ackEveryBytes) && !ahead {
		f.flags |= fAckNow
	} else if f.ackAt == 0 && f.unacked > 0 {
		f.ackAt = now + ackDelayMax
	}
}

// deliver gives the next bytes to the sink.
func (f *Flow) deliver(b []byte) {
	f.rcvNxt += uint64(len(b))
	f.unacked += uint32(len(b))
	f.sink.Deliver(b)
	if f.dead == nil && f.sink.Stalled() {
		f.flags |= fStalled | fAckNow
	}
}

// holes reports that data is held behind a hole.
func (f *Flow) holes() bool { return f.rx != nil && len(f.rx.spans) > 0 }

// holdPayload keeps data that cannot be delivered yet. Data without room is dropped; the peer sends it again.
func (f *Flow) holdPayload(now int64, start uint64, b []byte) {
	if f.rx == nil {
		f.rx = f.cfg.Pool.receiver()
		f.armLinger(now)
	}
	switch f.rx.hold(f.cfg.Pool, f.rcvNxt, start, b) {
	case heldNothing:
		f.stats.Duplicates++
	case heldNoRoom:
		f.stats.Dropped++
	}
}

// deliverHeld delivers the held data that follows what was delivered so far, page by page.
func (f *Flow) deliverHeld() {
	for f.holes() {
		r := f.rx
		// Its beginning was delivered: drop that, and look again.
		if r.spans[0].Start < f.rcvNxt {
			r.releaseBefore(f.cfg.Pool, f.rcvNxt)
			continue
		}
		if r.spans[0].Start > f.rcvNxt || f.flags&fStalled != 0 {
			break
		}
		// The sink may close the flow; its memory is back in the pool then.
		if f.deliver(r.firstBytes()); f.dead != nil {
			return
		}
	}
	f.endIfComplete()
}

// endIfComplete ends the flow if the peer closed it and all of its stream was delivered.
func (f *Flow) endIfComplete() {
	if f.flags&fFinReceived != 0 && f.rcvNxt >= f.rcvFin && f.dead == nil {
		f.end(ErrClosed)
	}
}
