package flow

import "gofabric/util/rxd/wire"

// Datagram is one to transmit. It should be used again and again, as it is filled in rather than made.
type Datagram struct {
	Header wire.XHeader
	Parts  [][]byte // the payload, lent until the flow's next call
	Len    int      // bytes of payload

	list [4][]byte
}

// Poll fills in the next datagram to transmit and reports whether there is one. Datagrams of bulk data in a row have payloads of the same size, so that they
// can leave as a run.
func (f *Flow) Poll(now int64, out *Datagram) bool {
	if f.dead != nil {
		return f.flags&fReset != 0 && f.last(now, out)
	}
	const special = fAckNow | fHead | fTail | fProbe | fFinDue | fRest
	if f.flags&fLate != 0 && (f.flags&special != 0 || !f.ample()) {
		f.settle()
	}
	if f.flags&special != 0 {
		if f.flags&fAckNow != 0 && (f.holes() || !f.canSend(now)) {
			f.bare(now, out, wire.XAck)
			return true
		}
		if f.flags&fRest != 0 && f.rest(now, out) {
			return true
		}
		if f.flags&(fHead|fTail) != 0 && f.again(now, out) {
			return true
		}
		if f.flags&fProbe != 0 {
			f.flags &^= fProbe
			f.bare(now, out, wire.XProbe)
			return true
		}
		if f.flags&fFinDue != 0 && !f.canSend(now) {
			f.flags = f.flags&^fFinDue | fFinSent
			f.bare(now, out, wire.XProbe)
			out.Header.Flags |= wire.FlagXFin
			return true
		}
	}
	if f.tx != nil && f.tx.lost.head != none && f.room(now, int(f.payload)) {
		f.retransmit(now, out, f.tx.lost.head)
		return true
	}
	if f.canSend(now) {
		return f.sendNew(now, out)
	}
	if f.flags&fAckNow != 0 { // canSend was true for a retransmission that did not come about
		f.bare(now, out, wire.XAck)
		return true
	}
	return false
}

// Pending reports whether Poll may have a datagram: false is certain until the source has something more, or the next call of Receive, Advance, Quiet or Resume.
func (f *Flow) Pending() bool {
	const due = fAckNow | fHead | fTail | fProbe | fFinDue | fReset | fRest
	return f.flags&due != 0 || f.src.Ready() > 0 || f.tx != nil && f.tx.lost.head != none
}

// last makes the reset of a flow that was aborted.
func (f *Flow) last(now int64, out *Datagram) bool {
	f.flags &^= fReset
	f.head(now, &out.Header, wire.XReset)
	out.Parts, out.Len = nil, 0
	return true
}

// room reports whether congestion window and pacing let n bytes out, and arms the timer of the pace.
func (f *Flow) room(now int64, n int) bool {
	s := f.tx
	if s == nil {
		return true
	}
	if s.inFlight > 0 && s.inFlight+n > f.cwnd {
		f.flags |= fLimited
		return false
	}
	return f.paceAt == 0 || now >= f.paceAt
}

// canSend reports whether new data may leave now.
func (f *Flow) canSend(now int64) bool {
	n := f.src.Ready()
	if n == 0 {
		return false
	}
	space := int64(f.edge - f.nxt)
	if space <= 0 || (space < int64(f.payload) && space < int64(n) && f.una != f.nxt) {
		f.persist(now) // the window is closed, or too small to be worth it (RFC 1122, 4.2.3.4)
		return false
	}
	if f.tx != nil && f.tx.len() >= maxSegments {
		return false
	}
	return f.room(now, min(n, int(f.payload)))
}

// head fills in what all headers have in common. It tells the peer all there is to acknowledge.
func (f *Flow) head(now int64, h *wire.XHeader, t wire.XType) {
	h.Type, h.Flags, h.NSACK = t, 0, 0
	h.ConnID, h.Offset, h.Ack, h.Window = f.ConnID, f.nxt, f.rcvNxt, f.window()
	h.Time = clock(now)
	h.Echo, h.AckDelay = 0, 0
	if f.echo != 0 {
		d := (now - f.echoAt) / delayUnit
		h.Echo, h.AckDelay = f.echo, uint16(min(max(d, 0), 0xffff))
	}
}

// clock is the time in a header: microseconds, never 0.
func clock(now int64) uint32 {
	return max(uint32(now/1000), 1)
}

// window is what we advertise.
func (f *Flow) window() uint32 {
	if f.flags&fStalled != 0 {
		return 0
	}
	return f.cfg.RecvWindow
}

// acked notes that an acknowledgement left.
func (f *Flow) acked() {
	f.flags &^= fAckNow
	f.unacked, f.ackAt, f.echo = 0, 0, 0
}

// bare makes a datagram without payload.
func (f *Flow) bare(now int64, out *Datagram, t wire.XType) {
	f.head(now, &out.Header, t)
	if f.holes() {
		f.rx.report(&out.Header)
	}
	out.Parts, out.Len = nil, 0
	f.acked()
}

// sendNew makes a datagram of new data.
func (f *Flow) sendNew(now int64, out *Datagram) bool {
	s := f.sending(now)
	if s.len() == len(s.segs) {
		s.grow()
	}
	i := s.tail
	g := s.at(i)
	most := f.payload
	if most != uint32(f.full) {
		most = f.longer(now, s)
	}
	parts, n := f.src.Next(g.parts[:0], int(min(uint64(most), f.edge-f.nxt)))
	if n <= 0 {
		return false
	}
	s.tail++
	g.off, g.n, g.nparts, g.retries = f.nxt, uint32(n), uint8(len(parts)), 0
	f.head(now, &out.Header, wire.XData)
	if s.inFlight == 0 && s.lost.head == none {
		s.rate.begin(now)
		if f.una == f.nxt {
			f.sinceAt = now
		}
	}
	f.nxt += uint64(n)
	f.launch(now, s, i)
	if n > int(f.payload) {
		s.search.probe = g.order
	}
	ready := f.src.Ready()
	g.starved = ready == 0
	g.asked = ready == 0 && (f.flags&fClosing != 0 || f.src.Lent()) || f.fills(s, max(n, min(ready, int(f.payload))))
	if g.asked {
		out.Header.Flags |= wire.FlagXAckNow
	}
	out.Parts, out.Len = append(out.list[:0], parts...), n
	f.stats.Sent++
	if !f.holes() {
		f.acked()
	}
	return true
}

// fills reports that a window has no room for n bytes more: only an acknowledgement will make it. Bytes that nobody has posted yet count as no more than the
// segment before them: a window of one full segment, as that of loopback may be after losses, would else be full with every small message, and each be
// answered by a datagram of its own.
func (f *Flow) fills(s *sender, n int) bool {
	return f.nxt+uint64(n) > f.edge || s.inFlight+n > f.cwnd
}

// launch puts a segment in flight.
func (f *Flow) launch(now int64, s *sender, i uint32) {
	g := s.at(i)
	g.state, g.sentAt = segInFlight, now
	s.rate.stamp(g)
	s.push(&s.flight, i)
	s.inFlight += int(g.n)
	f.arm(now)
	f.pace(now, int(g.n))
}

// retransmit sends segment i again. The path may have become narrower than it is long: it goes in pieces then, one after the other, or the first one alone if
// its size is to be tried.
func (f *Flow) retransmit(now int64, out *Datagram, i uint32) {
	s := f.tx
	g := s.at(i)
	most := f.payload
	if i == s.head {
		most = f.judge(now, s, g)
	}
	if g.n > f.payload && g.order == s.search.probe {
		f.snapped(now, s)
	}
	s.depart(i)
	if g.retries < 255 {
		g.retries++
	}
	f.launch(now, s, i)
	n := min(g.n, most)
	f.piece(now, out, g, 0, n)
	if f.flags &^= fRest; n < g.n && n == f.payload {
		s.rest = rest{i, n, g.order}
		f.flags |= fRest
	}
}

// rest follows with the next piece of a segment that is longer than a datagram, if it is still wanted.
func (f *Flow) rest(now int64, out *Datagram) bool {
	s := f.tx
	if s == nil || s.rest.i-s.head >= uint32(s.len()) {
		f.flags &^= fRest
		return false
	}
	r := &s.rest
	g := s.at(r.i)
	if g.state != segInFlight || g.order != r.order {
		f.flags &^= fRest
		return false
	}
	n := min(g.n-r.at, f.payload)
	f.piece(now, out, g, r.at, n)
	if r.at += n; r.at == g.n {
		f.flags &^= fRest
	}
	return true
}

// piece makes a datagram of n bytes of a segment that was sent before.
func (f *Flow) piece(now int64, out *Datagram, g *segment, at, n uint32) {
	f.head(now, &out.Header, wire.XData)
	out.Header.Offset = g.off + uint64(at)
	out.Header.Flags |= wire.FlagXAckNow
	out.Parts, out.Len = g.cut(out.list[:0], int(at), int(n)), int(n)
	f.stats.Retransmitted++
	if !f.holes() {
		f.acked()
	}
}

// again answers a time-out: the first segment once more, or for a tail loss probe something new, or else the last segment.
func (f *Flow) again(now int64, out *Datagram) bool {
	tail := f.flags&fTail != 0
	f.flags &^= fHead | fTail
	s := f.tx
	if s == nil || s.head == s.tail {
		return false
	}
	if tail && f.src.Ready() > 0 && int64(f.edge-f.nxt) > 0 && s.len() < maxSegments && f.sendNew(now, out) {
		out.Header.Flags |= wire.FlagXAckNow
		return true
	}
	i := s.head
	if tail {
		i = s.tail - 1
	}
	if s.at(i).state == segSacked {
		if i = s.flight.tail; i == none {
			f.flags |= fProbe
			return false
		}
	}
	f.retransmit(now, out, i)
	return true
}
