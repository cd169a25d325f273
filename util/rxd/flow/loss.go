package flow

// Loss detection: RFC 8985 (RACK-TLP). A segment is lost if another that was sent later has arrived, and the
// reordering window is over since. If nothing arrives, a tail loss probe asks for an acknowledgement; after it the
// retransmission time-out of RFC 6298 follows, with back-off.
//
// rack is the state of detection by time. Names of RFC 8985 are in the comments.
type rack struct {
	// RACK.xmit_ts: transmission of the segment sent last among those that arrived, as a number.
	order               uint64
	rtt                 int64 // RACK.rtt: its round trip
	reoWndMult          int64 // RACK.reo_wnd_mult less 1: quarters of the minimum round trip in the reordering window
	roundsSinceSpurious int   // RACK.reo_wnd_persist, counted upwards
}

// reoWndMin is the least reordering window, in nanoseconds. Several queues and cores between the ends reorder
// datagrams by about this much.
const reoWndMin = 10e3

// update takes a segment that arrived (RACK_update, RFC 8985, 6.2, step 2).
func (r *rack) update(g *segment, now int64) {
	if g.order > r.order {
		r.order, r.rtt = g.order, now-g.sentAt
	}
}

// spurious widens the reordering window after a retransmission that was not needed. RFC 8985, 6.2, step 4 learns of
// it from DSACK; here the time of the acknowledgement shows it.
func (r *rack) spurious() {
	r.reoWndMult = min(r.reoWndMult+1, 15)
	r.roundsSinceSpurious = 0
}

// round narrows the reordering window again after sixteen rounds without a spurious retransmission, as the RFC does
// after sixteen recoveries.
func (r *rack) round() {
	if r.roundsSinceSpurious++; r.roundsSinceSpurious > 16 {
		r.reoWndMult, r.roundsSinceSpurious = 0, 0
	}
}

// detectLosses marks the segments as lost that were sent before one that has arrived, and have had the reordering
// window since (RACK_detect_loss, RFC 8985, 6.2, step 5). The list flight is in the order of transmission, so the
// scan stops at the first segment that may still arrive, and sets the timer for it.
func (f *Flow) detectLosses(now int64) {
	f.rackAt = 0
	s := f.tx
	if s == nil {
		return
	}
	r := &s.rack
	wait := r.rtt + max(min(f.path.minRTT/4*(r.reoWndMult+1), f.path.srtt), reoWndMin)
	for i := s.flight.head; i != none; i = s.flight.head {
		g := s.at(i)
		if g.order >= r.order {
			return
		}
		if at := g.sentAt + wait; at > now {
			f.rackAt = at
			return
		}
		f.markLost(i)
	}
}

// markLost marks segment i as lost. It waits in the list lost to be sent again.
func (f *Flow) markLost(i uint32) {
	s := f.tx
	g := s.at(i)
	s.unlinkState(i)
	g.state = segLost
	s.push(&s.lost, i)
	s.lostBytes += int(g.n)
	s.cc.lost++
	f.stats.Lost++
}

// armLossTimer starts the timer of tail loss probe and retransmission if it does not run. A transmission does not
// move a running timer: when it fires, onLossTimer looks at what was sent since. That saves work per datagram.
func (f *Flow) armLossTimer(now int64) {
	if f.lossAt == 0 {
		f.lossAt = f.limitToPeerTimeout(now + f.lossTimeout())
	}
}

// lossTimeout is the time to wait for an acknowledgement: first the probe time-out, then the retransmission
// time-out.
func (f *Flow) lossTimeout() int64 {
	if f.probes == 0 && f.tx != nil && f.tx.head != f.tx.tail {
		return f.path.pto(f.tx.at(f.tx.tail - 1).ackNow)
	}
	return f.backedOffRTO()
}

// backedOffRTO is the retransmission time-out, doubled for each one before (RFC 6298, 5.5), but not beyond
// MaxProbeInterval: enough probes must fit into PeerTimeout.
func (f *Flow) backedOffRTO() int64 {
	rto := f.path.rto()
	return max(rto, min(rto<<f.backoff, MaxProbeInterval(f.cfg.PeerTimeout)))
}

// limitToPeerTimeout returns at, or the time at which the peer is given up if that is earlier.
func (f *Flow) limitToPeerTimeout(at int64) int64 {
	if t := f.cfg.PeerTimeout; t > 0 {
		return min(at, max(f.receivedAt, f.awaitingSince)+t)
	}
	return at
}

// armPersist starts the timer of window probes. A peer with a closed window is asked from time to time whether it
// has opened, because the datagram that opens it may be lost: RFC 9293, 3.8.6.1.
func (f *Flow) armPersist(now int64) {
	if f.lossAt == 0 {
		if f.sndUna == f.sndNxt {
			f.awaitingSince = now
		}
		f.lossAt = f.limitToPeerTimeout(now + f.backedOffRTO())
	}
}

// onLossTimer runs at lossAt. It gives up a silent peer, or decides what to send: a window probe, a tail loss
// probe, or the first segment again.
func (f *Flow) onLossTimer(now int64) {
	f.lossAt = 0
	if t := f.cfg.PeerTimeout; t > 0 && now >= max(f.receivedAt, f.awaitingSince)+t {
		f.end(ErrTimeout)
		return
	}
	s := f.tx
	switch {
	case f.sndUna == f.sndNxt && f.src.Ready() == 0: // nothing waits for the peer
		return
	// Everything has arrived, but the window is closed.
	case s == nil || s.head == s.tail || s.flight.head == none && s.lost.head == none:
		f.flags |= fProbe
		f.backoff = min(f.backoff+1, backoffMax)
	// Lost segments wait for pacing. They leave then.
	case s.flight.head == none:
	// Tail loss probe: RFC 8985, 7.3. Segments sent since the timer was armed put the probe off, but not beyond one
	// retransmission time-out after the flow began to wait.
	case f.probes == 0:
		due := min(s.at(s.flight.tail).sentAt+f.lossTimeout(), f.awaitingSince+f.path.rto())
		if now < due {
			f.lossAt = f.limitToPeerTimeout(due)
			return
		}
		f.probes = 1
		f.flags |= fTailProbe
		f.stats.TailProbes++
	// Retransmission time-out. Only the first segment is sent again. Its acknowledgement shows what else is lost
	// (F-RTO, RFC 5682).
	default:
		// Only the first segment goes out again: what else is lost shows when the answer to it has come (as in RFC
		// 5682).
		if f.pathUnusable(now) {
			f.end(ErrTimeout)
			return
		}
		f.flags |= fResendFirst
		if f.backoff > 1 {
			f.flags |= fProbe // an answer shows that the path is up, but does not carry datagrams of this length
		}
		if f.backoff = min(f.backoff+1, backoffMax); s.search.underWay() && f.receivedAt > s.at(s.head).sentAt {
			f.backoff = min(f.backoff-1, backoffSearch) // the path is up, and the search for a size ends soon
		}
		f.stats.Timeouts++
		f.cutAfterTimeouts()
	}
	f.lossAt = f.limitToPeerTimeout(now + f.backedOffRTO())
}
