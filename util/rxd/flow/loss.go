package flow

// rack is what loss detection by time (RFC 8985) remembers.
type rack struct {
	order  uint64 // transmission of the segment sent last of those that arrived
	rtt    int64  // how long it took
	widths int64  // widths of the reordering window that the path has shown to need, less one
	quiet  int    // rounds since
}

// rackFloor is the least reordering window, nanoseconds: several queues and cores between the ends reorder by about so much.
const rackFloor = 10e3

// newest takes a segment that arrived.
func (r *rack) newest(g *segment, now int64) {
	if g.order > r.order {
		r.order, r.rtt = g.order, now-g.sentAt
	}
}

// spurious widens the reordering window: something was sent again in vain (RFC 8985, section 6.2, step 4, which learns it from DSACK).
func (r *rack) spurious() {
	r.widths = min(r.widths+1, 15)
	r.quiet = 0
}

// round narrows the window again when nothing was sent in vain for sixteen rounds.
func (r *rack) round() {
	if r.quiet++; r.quiet > 16 {
		r.widths, r.quiet = 0, 0
	}
}

// detect marks what was sent before something that has arrived, and has had time enough since, as lost.
func (f *Flow) detect(now int64) {
	f.rackAt = 0
	s := f.tx
	if s == nil {
		return
	}
	r := &s.rack
	wait := r.rtt + max(min(f.path.base/4*(r.widths+1), f.path.srtt), rackFloor)
	for i := s.flight.head; i != none; i = s.flight.head {
		g := s.at(i)
		if g.order >= r.order {
			return
		}
		if at := g.sentAt + wait; at > now {
			f.rackAt = at
			return
		}
		f.lose(i)
	}
}

// lose marks a segment as lost.
func (f *Flow) lose(i uint32) {
	s := f.tx
	g := s.at(i)
	s.depart(i)
	g.state = segLost
	s.push(&s.lost, i)
	s.lostBytes += int(g.n)
	s.ctl.lost++
	f.stats.Lost++
}

// arm starts the timer of tail loss probe and retransmission, if it is not running: when it fires it looks at what was sent meanwhile.
func (f *Flow) arm(now int64) {
	if f.lossAt == 0 {
		f.lossAt = f.mortal(now + f.wait())
	}
}

// wait is how long to wait for an acknowledgement now.
func (f *Flow) wait() int64 {
	if f.probes == 0 && f.tx != nil && f.tx.head != f.tx.tail {
		return f.path.pto(f.tx.at(f.tx.tail - 1).asked)
	}
	return f.repeat()
}

// repeat is how long to wait for an answer before the question is repeated.
func (f *Flow) repeat() int64 {
	rto := f.path.rto()
	return max(rto, min(rto<<f.backoff, Seldom(f.cfg.PeerTimeout)))
}

// mortal limits a deadline to the moment when the peer is given up.
func (f *Flow) mortal(at int64) int64 {
	if t := f.cfg.PeerTimeout; t > 0 {
		return min(at, max(f.heardAt, f.sinceAt)+t)
	}
	return at
}

// persist asks a peer whose window is closed from time to time whether it has opened: RFC 9293, 3.8.6.1.
func (f *Flow) persist(now int64) {
	if f.lossAt == 0 {
		if f.una == f.nxt {
			f.sinceAt = now
		}
		f.lossAt = f.mortal(now + f.repeat())
	}
}

// timeout is called when nothing was acknowledged for a while.
func (f *Flow) timeout(now int64) {
	f.lossAt = 0
	if t := f.cfg.PeerTimeout; t > 0 && now >= max(f.heardAt, f.sinceAt)+t {
		f.die(ErrTimeout)
		return
	}
	s := f.tx
	switch {
	case f.una == f.nxt && f.src.Ready() == 0:
		return
	case s == nil || s.head == s.tail || s.flight.head == none && s.lost.head == none: // everything has arrived, but the peer does not take it
		f.flags |= fProbe
		f.backoff = min(f.backoff+1, backoffMax)
	case s.flight.head == none:
		// What was lost waits for the pace.
	case f.probes == 0:
		due := min(s.at(s.flight.tail).sentAt+f.wait(), f.sinceAt+f.path.rto())
		if now < due {
			f.lossAt = f.mortal(due)
			return
		}
		f.probes = 1
		f.flags |= fTail
		f.stats.TailProbes++
	default:
		// Only the first segment goes out again: what else is lost shows when the answer to it has come (as in RFC 5682).
		if f.futile(now) {
			f.die(ErrTimeout)
			return
		}
		f.flags |= fHead
		if f.backoff > 1 {
			f.flags |= fProbe // if that is answered, the path is not down, but does not carry what is so long
		}
		if f.backoff = min(f.backoff+1, backoffMax); s.search.going() && f.heardAt > s.at(s.head).sentAt {
			f.backoff = min(f.backoff-1, backoffSearch) // the path is not down, and the search ends soon
		}
		f.stats.Timeouts++
		f.collapse()
	}
	f.lossAt = f.mortal(now + f.repeat())
}
