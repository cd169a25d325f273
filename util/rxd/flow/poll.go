package flow

import "gofabric/util/rxd/wire"

// Datagram is a datagram to transmit. The caller should use the same one for every call: Poll fills it in without
// an allocation.
type Datagram struct {
	Header wire.XHeader
	Parts  [][]byte // the payload; valid until the next call of a method of the flow
	Len    int      // bytes of payload

	list [4][]byte
}

// Poll fills in the next datagram to transmit and reports whether there is one. Consecutive datagrams of bulk data
// have payloads of equal size, so that they can leave as a GSO batch.
//
// The order is: an acknowledgement that no data can carry; what a timer made due; lost segments; new data. Every
// header acknowledges, so data makes a separate acknowledgement unnecessary.
func (f *Flow) Poll(now int64, out *Datagram) bool {
	if f.dead != nil {
		return f.flags&fResetDue != 0 && f.pollReset(now, out)
	}
	// Flags that need more than new data or a retransmission.
	const special = fAckNow | fResendFirst | fTailProbe | fProbe | fFinDue | fRemainder
	// What is about to leave may depend on the delayed acknowledgement.
	if f.flags&fAckDelayed != 0 && (f.flags&special != 0 || !f.fitsWithoutAck()) {
		f.takeDelayedAck()
	}
	if f.flags&special != 0 {
		// A datagram with data acknowledges, too, but only one without data has SACK blocks.
		if f.flags&fAckNow != 0 && (f.holes() || !f.canSend(now)) {
			f.withoutPayload(now, out, wire.XAck)
			return true
		}
		if f.flags&fRemainder != 0 && f.sendRemainder(now, out) {
			return true
		}
		if f.flags&(fResendFirst|fTailProbe) != 0 && f.resendAfterTimeout(now, out) {
			return true
		}
		if f.flags&fProbe != 0 {
			f.flags &^= fProbe
			f.withoutPayload(now, out, wire.XProbe)
			return true
		}
		// The end follows all data. A probe carries it, which the peer acknowledges at once.
		if f.flags&fFinDue != 0 && !f.canSend(now) {
			f.flags = f.flags&^fFinDue | fFinSent
			f.withoutPayload(now, out, wire.XProbe)
			out.Header.Flags |= wire.FlagXFin
			return true
		}
	}
	// Lost segments before new data, oldest first.
	if f.tx != nil && f.tx.lost.head != none && f.windowAllows(now, int(f.payload)) {
		f.retransmit(now, out, f.tx.lost.head)
		return true
	}
	if f.canSend(now) {
		return f.sendNew(now, out)
	}
	if f.flags&fAckNow != 0 { // canSend counted on new data, but the source had none
		f.withoutPayload(now, out, wire.XAck)
		return true
	}
	return false
}

// Pending reports whether Poll may have a datagram. False is certain until the source has more, or until the next
// Receive, Advance, PassDone or Resume.
func (f *Flow) Pending() bool {
	const due = fAckNow | fResendFirst | fTailProbe | fProbe | fFinDue | fResetDue | fRemainder
	return f.flags&due != 0 || f.src.Ready() > 0 || f.tx != nil && f.tx.lost.head != none
}

// pollReset fills in the reset of an aborted flow.
func (f *Flow) pollReset(now int64, out *Datagram) bool {
	f.flags &^= fResetDue
	f.fillHeader(now, &out.Header, wire.XReset)
	out.Parts, out.Len = nil, 0
	return true
}

// windowAllows reports whether congestion window and pacing let n bytes leave. A datagram longer than the window
// may leave if nothing is in flight, or the flow would stop for good.
func (f *Flow) windowAllows(now int64, n int) bool {
	s := f.tx
	if s == nil {
		return true
	}
	// The window is in use, so the flow is limited by it: only then may it grow (updateWindow).
	if s.inFlight > 0 && s.inFlight+n > f.cwnd {
		f.flags |= fWindowLimited
		return false
	}
	return f.paceAt == 0 || now >= f.paceAt
}

// canSend reports whether new data may leave now. If the peer's window prevents it, window probes begin.
func (f *Flow) canSend(now int64) bool {
	n := f.src.Ready()
	if n == 0 {
		return false
	}
	space := int64(f.sndEdge - f.sndNxt)
	if space <= 0 || (space < int64(f.payload) && space < int64(n) && f.sndUna != f.sndNxt) {
		f.armPersist(now) // closed, or too small to be worth a datagram: silly window avoidance, RFC 1122, 4.2.3.4
		return false
	}
	// The ring of segments must stay small.
	if f.tx != nil && f.tx.len() >= maxSegments {
		return false
	}
	return f.windowAllows(now, min(n, int(f.payload)))
}

// fillHeader fills in the fields that all headers have. Each acknowledges everything delivered, and echoes the time
// of the last datagram that wants an echo.
func (f *Flow) fillHeader(now int64, h *wire.XHeader, t wire.XType) {
	h.Type, h.Flags, h.NSACK = t, 0, 0
	h.ConnID, h.Offset, h.Ack, h.Window = f.ConnID, f.sndNxt, f.rcvNxt, f.window()
	h.Time = headerTime(now)
	// The delay tells the peer which part of its round trip sample was our waiting.
	h.Echo, h.AckDelay = 0, 0
	if f.echo != 0 {
		d := (now - f.echoAt) / delayUnit
		h.Echo, h.AckDelay = f.echo, uint16(min(max(d, 0), 0xffff))
	}
}

// headerTime is the clock of headers: microseconds modulo 2^32. 0 means none, so 1 replaces it.
func headerTime(now int64) uint32 {
	return max(uint32(now/1000), 1)
}

// window is the window that we advertise.
func (f *Flow) window() uint32 {
	if f.flags&fStalled != 0 {
		return 0
	}
	return f.cfg.RecvWindow
}

// ackSent notes that a header with our acknowledgement left. It resets the delay of acknowledgements and the echo:
// each time is echoed only once (measureRTT).
func (f *Flow) ackSent() {
	f.flags &^= fAckNow
	f.unacked, f.ackAt, f.echo = 0, 0, 0
}

// withoutPayload fills in a datagram without payload. Only these carry SACK blocks; a datagram with data has no
// room for them.
func (f *Flow) withoutPayload(now int64, out *Datagram, t wire.XType) {
	f.fillHeader(now, &out.Header, t)
	if f.holes() {
		f.rx.fillSACK(&out.Header)
	}
	out.Parts, out.Len = nil, 0
	f.ackSent()
}

// sendNew fills in a datagram with new data.
func (f *Flow) sendNew(now int64, out *Datagram) bool {
	s := f.senderState(now)
	if s.len() == len(s.segs) {
		s.grow()
	}
	i := s.tail
	g := s.at(i)
	most := f.payload
	// Datagrams are shorter than allowed: perhaps it is time to try a longer one.
	if most != uint32(f.maxPayload) {
		most = f.newDataSize(now, s)
	}
	parts, n := f.src.Next(g.parts[:0], int(min(uint64(most), f.sndEdge-f.sndNxt)))
	if n <= 0 {
		return false
	}
	s.tail++
	g.off, g.n, g.nparts, g.retries = f.sndNxt, uint32(n), uint8(len(parts)), 0
	f.fillHeader(now, &out.Header, wire.XData)
	// A new flight begins: the time before it is not the path's.
	if s.inFlight == 0 && s.lost.head == none {
		s.rate.begin(now)
		if f.sndUna == f.sndNxt {
			f.awaitingSince = now
		}
	}
	f.sndNxt += uint64(n)
	f.transmitted(now, s, i)
	// It is the probe for a longer datagram.
	if n > int(f.payload) {
		s.search.probeOrder = g.order
	}
	ready := f.src.Ready()
	// The datagram asks for an acknowledgement at once if none would come for another reason: it is the last one
	// and the flow closes, an operation waits for it (Source.Lent), or the window is full.
	g.ackNow = ready == 0 && (f.flags&fClosing != 0 || f.src.Lent()) ||
		f.fillsWindow(s, max(n, min(ready, int(f.payload))))
	if g.ackNow {
		out.Header.Flags |= wire.FlagXAckNow
	}
	out.Parts, out.Len = append(out.list[:0], parts...), n
	f.stats.Sent++
	// With data behind holes an acknowledgement needs SACK blocks, which this datagram does not carry.
	if !f.holes() {
		f.ackSent()
	}
	return true
}

// fillsWindow reports that a window has no room for n bytes more, so that only an acknowledgement lets data leave.
// The caller counts bytes not posted yet as no more than the segment before them. Otherwise every small message
// would fill a window of one full segment, such as loopback's after losses, and each would cost an acknowledgement
// in a datagram of its own.
func (f *Flow) fillsWindow(s *sender, n int) bool {
	return f.sndNxt+uint64(n) > f.sndEdge || s.inFlight+n > f.cwnd
}

// transmitted puts segment i in flight.
func (f *Flow) transmitted(now int64, s *sender, i uint32) {
	g := s.at(i)
	g.state, g.sentAt = segInFlight, now
	s.rate.stamp(g)
	s.push(&s.flight, i)
	s.inFlight += int(g.n)
	f.armLossTimer(now)
	f.pace(now, int(g.n))
}

// retransmit sends segment i again. The path may have become narrower since. Then the segment leaves in pieces one
// after the other, or only in one piece if a size is being tried.
func (f *Flow) retransmit(now int64, out *Datagram, i uint32) {
	s := f.tx
	g := s.at(i)
	// The first segment may be resent in a shorter datagram, to look for a black hole.
	most := f.payload
	if i == s.head {
		most = f.resendSize(now, s, g)
	}
	// The probe for a longer datagram was lost.
	if g.n > f.payload && g.order == s.search.probeOrder {
		f.probeLost(now, s)
	}
	s.unlinkState(i)
	if g.retries < 255 {
		g.retries++
	}
	f.transmitted(now, s, i)
	n := min(g.n, most)
	f.sendPiece(now, out, g, 0, n)
	// The rest follows in further datagrams, except while a size is being tried.
	if f.flags &^= fRemainder; n < g.n && n == f.payload {
		s.remainder = remainder{i, n, g.order}
		f.flags |= fRemainder
	}
}

// sendRemainder fills in the next piece of a segment that is longer than a datagram. It stops if the segment was
// acknowledged, lost or sent again in the meantime.
func (f *Flow) sendRemainder(now int64, out *Datagram) bool {
	s := f.tx
	if s == nil || s.remainder.segment-s.head >= uint32(s.len()) {
		f.flags &^= fRemainder
		return false
	}
	r := &s.remainder
	g := s.at(r.segment)
	// It was acknowledged, lost or sent again since.
	if g.state != segInFlight || g.order != r.order {
		f.flags &^= fRemainder
		return false
	}
	n := min(g.n-r.sent, f.payload)
	f.sendPiece(now, out, g, r.sent, n)
	if r.sent += n; r.sent == g.n {
		f.flags &^= fRemainder
	}
	return true
}

// sendPiece fills in a datagram with n bytes of a segment that was sent before. Retransmissions always ask for an
// acknowledgement: the flow cannot go on without one.
func (f *Flow) sendPiece(now int64, out *Datagram, g *segment, at, n uint32) {
	f.fillHeader(now, &out.Header, wire.XData)
	out.Header.Offset = g.off + uint64(at)
	out.Header.Flags |= wire.FlagXAckNow
	out.Parts, out.Len = g.cut(out.list[:0], int(at), int(n)), int(n)
	f.stats.Retransmitted++
	if !f.holes() {
		f.ackSent()
	}
}

// resendAfterTimeout sends what the loss timer made due: the first segment again, or, as a tail loss probe, new
// data if there is any and the last segment otherwise (RFC 8985, 7.3).
func (f *Flow) resendAfterTimeout(now int64, out *Datagram) bool {
	tail := f.flags&fTailProbe != 0
	f.flags &^= fResendFirst | fTailProbe
	s := f.tx
	if s == nil || s.head == s.tail {
		return false
	}
	// New data serves as the probe (RFC 8985, 7.3).
	if tail && f.src.Ready() > 0 && int64(f.sndEdge-f.sndNxt) > 0 && s.len() < maxSegments && f.sendNew(now, out) {
		out.Header.Flags |= wire.FlagXAckNow
		return true
	}
	i := s.head
	if tail {
		i = s.tail - 1
	}
	if s.at(i).state == segSacked {
		// The last segment has arrived. Another one that is in flight serves as well; without one a probe without
		// data does.
		if i = s.flight.tail; i == none {
			f.flags |= fProbe
			return false
		}
	}
	f.retransmit(now, out, i)
	return true
}
