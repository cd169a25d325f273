package flow

import "gofabric/util/rxd/wire"

// Receive takes a datagram of the peer, of which checksum and connection id were verified. payload is borrowed.
func (f *Flow) Receive(now int64, h *wire.XHeader, payload []byte) {
	f.settle()
	if f.dead != nil {
		return
	}
	f.stats.Received++
	if h.Ack > f.nxt || h.Offset+uint64(len(payload)) < h.Offset {
		f.stats.Nonsense++
		return
	}
	f.heardAt = now
	if f.canWait(h) {
		f.delayAck(now, h)
	} else {
		f.acknowledged(now, wordOf(h), h.SACK[:h.NSACK]) // of a reset, too: what the peer has taken has arrived, whatever comes now
	}
	if f.dead != nil {
		return
	}
	if h.Type == wire.XReset {
		f.die(ErrReset)
		return
	}
	if h.Type == wire.XProbe {
		f.flags |= fAckNow
	}
	if (len(payload) > 0 || h.Type == wire.XProbe) && h.Time != 0 {
		f.echo, f.echoAt = h.Time, now
	}
	if len(payload) > 0 {
		f.take(now, h, payload)
	}
	if h.Flags&wire.FlagXFin != 0 && f.dead == nil {
		f.flags |= fFinSeen
		f.finAt = h.Offset + uint64(len(payload))
	}
	f.end()
}

// take takes the payload of a datagram.
func (f *Flow) take(now int64, h *wire.XHeader, b []byte) {
	start, end := h.Offset, h.Offset+uint64(len(b))
	ahead := f.flags&fAhead != 0
	if h.Flags&wire.FlagXAckNow != 0 && !ahead {
		f.flags |= fAckNow
	}
	if end <= f.rcvNxt { // all of it was here before: our acknowledgement was lost or late
		f.stats.Duplicates++
		f.flags |= fAckNow
		return
	}
	if start < f.rcvNxt {
		b = b[f.rcvNxt-start:]
		start = f.rcvNxt
	}
	if end > f.rcvNxt+uint64(f.cfg.RecvWindow) {
		f.stats.Dropped++
		f.flags |= fAckNow
		return
	}
	if start > f.rcvNxt || f.flags&fStalled != 0 {
		f.flags |= fAckNow
		f.hold(now, start, b)
		return
	}
	f.deliver(b)
	if f.dead != nil {
		return
	}
	if f.rx != nil && len(f.rx.spans) > 0 {
		f.flags |= fAckNow // a hole closes: RFC 5681, 4.2
		if f.drain(); f.dead != nil {
			return
		}
	}
	if f.unacked >= max(2*f.payload, ackEveryBytes) && !ahead {
		f.flags |= fAckNow
	} else if f.ackAt == 0 && f.unacked > 0 {
		f.ackAt = now + ackDelayMax
	}
}

// deliver gives the sink the next bytes.
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

// hold keeps data that cannot be delivered yet.
func (f *Flow) hold(now int64, start uint64, b []byte) {
	if f.rx == nil {
		f.rx = f.cfg.Pool.receiver()
		f.borrowed(now)
	}
	switch f.rx.hold(f.cfg.Pool, f.rcvNxt, start, b) {
	case heldNothing:
		f.stats.Duplicates++
	case heldNoRoom:
		f.stats.Dropped++
	}
}

// drain delivers what follows the bytes delivered so far, and forgets what is before.
func (f *Flow) drain() {
	for f.holes() {
		r := f.rx
		if r.spans[0].Start < f.rcvNxt {
			r.forget(f.cfg.Pool, f.rcvNxt)
			continue
		}
		if r.spans[0].Start > f.rcvNxt || f.flags&fStalled != 0 {
			break
		}
		if f.deliver(r.front()); f.dead != nil {
			return // the memory is back in the pool
		}
	}
	f.end()
}

// end ends the flow if the peer closed it and all of its stream was delivered.
func (f *Flow) end() {
	if f.flags&fFinSeen != 0 && f.rcvNxt >= f.finAt && f.dead == nil {
		f.die(ErrClosed)
	}
}
