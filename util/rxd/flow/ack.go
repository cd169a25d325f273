package flow

import "gofabric/util/rxd/wire"

// Processing of acknowledgements: the round trip (RFC 7323, 4), the peer's window (RFC 9293, 3.10.7.4), the
// cumulative and the selective acknowledgement (RFC 2018). Segments that arrived are handed to loss detection
// (loss.go) and congestion control (congestion.go).
//
// ackFields are the fields of a header that acknowledge what we sent, without the selective acknowledgements. They
// are kept apart from the header because delayedack.go stores them.
type ackFields struct {
	ack    uint64
	window uint32
	time   uint32
	echo   uint32
	delay  uint16
}

// ackFieldsOf returns the fields of h.
func ackFieldsOf(h *wire.XHeader) ackFields {
	return ackFields{h.Ack, h.Window, h.Time, h.Echo, h.AckDelay}
}

// processAck takes the acknowledgement in a header: round trip, window, cumulative and selective acknowledgement.
func (f *Flow) processAck(now int64, w ackFields, sacks []wire.Range) {
	if w.echo != 0 {
		f.measureRTT(now, &w)
	}
	// A header that was overtaken on its way must not move the window back. Time orders headers with the same
	// acknowledgement, as SND.WL1 and SND.WL2 do in RFC 9293.
	if w.ack > f.sndUna || w.ack == f.sndUna && int32(w.time-f.edgeTime) >= 0 {
		f.moveEdge(&w)
	}
	s := f.tx
	if s == nil || w.ack <= f.sndUna && len(sacks) == 0 {
		return
	}
	a := newlyAcked{now: now}
	released := f.cumulative(s, &a, w.ack)
	for _, r := range sacks {
		f.selective(s, &a, r)
	}
	if a.bytes > 0 {
		f.onProgress(s, &a)
	}
	// Nothing is in flight: no loss can be detected, and the back-off ends.
	if s.head == s.tail {
		f.lossAt, f.rackAt, f.backoff, f.probes = 0, 0, 0, 0
	}
	if released > 0 {
		// The first segment arrived: there is no black hole for datagrams of this size.
		if s.search.lostInRow != 0 {
			s.search.clearSuspicion()
		}
		f.src.Acked(int(released))
		f.finish()
	}
}

// moveEdge sets the right edge of the peer's window. It may move left if the peer has stalled: our peer advertises
// 0 then.
func (f *Flow) moveEdge(w *ackFields) {
	edge := w.ack + uint64(w.window)
	f.edgeTime = w.time
	if edge > f.sndEdge && f.sndUna == f.sndNxt {
		f.lossAt, f.backoff = 0, 0 // no more window probes: new data may leave
	}
	f.sndEdge = edge
}

// measureRTT takes a round trip from the echo of our time. The peer echoes the time of a datagram with data or of a
// probe, and each only once. The sample is therefore the path's round trip plus the delay that the peer reports,
// which is subtracted. An echo older than a minute, or a delay of 65,535 units, is of no use.
func (f *Flow) measureRTT(now int64, w *ackFields) {
	// Times are modulo 2^32 microseconds; differences are right as long as they are short.
	us := int32(headerTime(now) - w.echo)
	if us < 0 || us > 60e6 || w.delay == 0xffff {
		return
	}
	rtt := max(int64(us)*1000-int64(w.delay)*delayUnit, 500)
	f.path.addRTT(now, rtt)
	f.path.addAckDelay(int64(w.delay) * delayUnit)
	if s := f.tx; s != nil {
		c := &s.cc
		if c.roundMinRTT == 0 || rtt < c.roundMinRTT {
			c.roundMinRTT = rtt
		}
		c.roundMaxRTT = max(c.roundMaxRTT, rtt)
	}
}

// newlyAcked collects what one acknowledgement says.
type newlyAcked struct {
	now      int64
	bytes    int // newly acknowledged
	segments int // newly acknowledged
	// The delivery rate sample: fields of the segment, among those newly acknowledged, that was transmitted last.
	prior       uint64 // bytes delivered when it was sent
	priorAt     int64  // time of the acknowledgement before
	sendElapsed int64  // between the transmissions of the segments
	order       uint64 // number of its transmission; 0: no sample
}

// cumulative takes the cumulative acknowledgement and returns how many bytes it released.
func (f *Flow) cumulative(s *sender, a *newlyAcked, ack uint64) uint64 {
	if ack <= f.sndUna {
		return 0
	}
	for s.head != s.tail {
		g := s.at(s.head)
		end := g.off + uint64(g.n)
		// The acknowledgement ends within this segment: only a part of it has arrived.
		if end > ack {
			if ack > g.off {
				f.partial(s, a, uint32(ack-g.off))
			}
			break
		}
		// A segment that SACK has reported before was counted then.
		if g.state != segSacked {
			f.segmentAcked(s, a, s.head)
		}
		clear(g.parts[:g.nparts])
		s.head++
	}
	released := ack - f.sndUna
	f.sndUna = ack
	return released
}

// partial takes an acknowledgement of the first n bytes of the first segment. It was sent again in a smaller
// datagram, of which the rest is not acknowledged. The rest counts as lost and is sent at once.
func (f *Flow) partial(s *sender, a *newlyAcked, n uint32) {
	i := s.head
	g := s.at(i)
	if g.state == segSacked { // a peer that follows the rules has acknowledged all of it then
		g.trim(n)
		return
	}
	if s.search.trying != 0 && n < min(g.n, f.payload) {
		f.becomeShorter(a.now, n) // a short datagram arrived, and the longer ones did not
	}
	s.unlinkState(i)
	g.trim(n)
	a.bytes += int(n)
	s.rate.delivered += uint64(n)
	s.rate.deliveredAt = a.now
	g.state = segLost
	s.unshift(&s.lost, i)
	s.lostBytes += int(g.n)
}

// selective takes a SACK block. The receiver never withdraws a block (docs/wire/rxd.md), unlike RFC 2018, 8 allows.
// The scan skips runs of segments that are known to have arrived, so that a long block repeated in every header
// does not cost its length each time.
func (f *Flow) selective(s *sender, a *newlyAcked, r wire.Range) {
	// It is empty, or names bytes that were not sent.
	if r.End > f.sndNxt || r.Start >= r.End {
		f.stats.Nonsense++
		return
	}
	if r.End <= f.sndUna {
		return
	}
	// The first segment that lies within the block.
	first := s.find(max(r.Start, f.sndUna))
	i := first
	for i != s.tail {
		g := s.at(i)
		// The block ends within this segment, which therefore has not arrived as a whole.
		if g.off+uint64(g.n) > r.End {
			break
		}
		if g.state == segSacked {
			i += g.run
			continue
		}
		f.segmentAcked(s, a, i)
		g.state, g.run = segSacked, 1
		i++
	}
	if i != first {
		s.at(first).run = i - first
	}
}

// segmentAcked takes the first acknowledgement of segment i.
func (f *Flow) segmentAcked(s *sender, a *newlyAcked, i uint32) {
	s.unlinkState(i)
	g := s.at(i)
	// It shows that datagrams of its length arrive.
	if g.n > s.search.largest {
		f.longestAcked(a.now, s, g)
	}
	a.bytes += int(g.n)
	a.segments++
	s.rate.delivered += uint64(g.n)
	s.rate.deliveredAt = a.now
	// An acknowledgement sooner than the minimum round trip cannot answer the last transmission (RFC 8985, 6.2,
	// step 2). It is no sample for loss detection and rate.
	if g.retries > 0 && a.now-g.sentAt < f.path.minRTT-f.path.minRTT/4 {
		f.stats.Spurious++ // it answers an earlier transmission
		s.rack.spurious()
		return
	}
	// Of several segments the one sent last gives the sample (RFC 8985, 6.2; delivery rate estimation, 3.3).
	if g.order > a.order {
		a.order, a.prior, a.priorAt, a.sendElapsed = g.order, g.delivered, g.deliveredAt, g.sentAt-g.firstSent
		s.rate.firstSent = g.sentAt
	}
	s.rack.update(g, a.now)
}

// onProgress runs when an acknowledgement covered something new: the back-off ends, losses show, the window
// follows, and the loss timer begins again.
func (f *Flow) onProgress(s *sender, a *newlyAcked) {
	f.backoff, f.probes, f.awaitingSince = 0, 0, a.now
	f.detectLosses(a.now)
	f.updateWindow(s, a)
	f.lossAt = 0
	if s.head != s.tail {
		f.armLossTimer(a.now)
	}
}
