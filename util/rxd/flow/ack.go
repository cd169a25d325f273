package flow

import "gofabric/util/rxd/wire"

// word is what a header says about what we sent, but for selective acknowledgements.
type word struct {
	ack    uint64
	window uint32
	time   uint32
	echo   uint32
	delay  uint16
}

func wordOf(h *wire.XHeader) word { return word{h.Ack, h.Window, h.Time, h.Echo, h.AckDelay} }

// acknowledged takes what a header says about what we sent: window, round trip, cumulative and selective acknowledgement.
func (f *Flow) acknowledged(now int64, w word, sacks []wire.Range) {
	if w.echo != 0 {
		f.measure(now, &w)
	}
	if w.ack > f.una || w.ack == f.una && int32(w.time-f.winTime) >= 0 {
		f.reopen(&w)
	}
	s := f.tx
	if s == nil || w.ack <= f.una && len(sacks) == 0 {
		return
	}
	a := arrival{now: now}
	released := f.cumulative(s, &a, w.ack)
	for _, r := range sacks {
		f.selective(s, &a, r)
	}
	if a.bytes > 0 {
		f.progress(s, &a)
	}
	if s.head == s.tail {
		f.lossAt, f.rackAt, f.backoff, f.probes = 0, 0, 0, 0
	}
	if released > 0 {
		if s.search.futile != 0 {
			s.search.becomeTrusting()
		}
		f.src.Acked(int(released))
		f.finish()
	}
}

// reopen moves the edge of the peer's window.
func (f *Flow) reopen(w *word) {
	edge := w.ack + uint64(w.window)
	f.winTime = w.time
	if edge > f.edge && f.una == f.nxt {
		f.lossAt, f.backoff = 0, 0 // what waited for the window may go
	}
	f.edge = edge
}

// measure takes a round trip from the echo of our time. Echoes come of datagrams that wanted an answer, and only once, so that the time between is the
// path's and what the peer says it kept the answer back.
func (f *Flow) measure(now int64, w *word) {
	us := int32(clock(now) - w.echo)
	if us < 0 || us > 60e6 || w.delay == 0xffff {
		return
	}
	rtt := max(int64(us)*1000-int64(w.delay)*delayUnit, 500)
	f.path.sample(now, rtt)
	f.path.kept(int64(w.delay) * delayUnit)
	if s := f.tx; s != nil {
		c := &s.ctl
		if c.rtt == 0 || rtt < c.rtt {
			c.rtt = rtt
		}
		c.rttMost = max(c.rttMost, rtt)
	}
}

// arrival is what one acknowledgement tells.
type arrival struct {
	now      int64
	bytes    int
	segments int
	// Of the segment transmitted last of those that arrived: for the rate.
	prior       uint64
	priorAt     int64
	sendElapsed int64
	order       uint64
	starved     bool
}

// cumulative takes the cumulative acknowledgement and returns how many bytes the source gets back.
func (f *Flow) cumulative(s *sender, a *arrival, ack uint64) uint64 {
	if ack <= f.una {
		return 0
	}
	for s.head != s.tail {
		g := s.at(s.head)
		end := g.off + uint64(g.n)
		if end > ack {
			if ack > g.off {
				f.partial(s, a, uint32(ack-g.off))
			}
			break
		}
		if g.state != segSacked {
			f.arrived(s, a, s.head)
		}
		clear(g.parts[:g.nparts])
		s.head++
	}
	released := ack - f.una
	f.una = ack
	return released
}

// partial takes the acknowledgement of the front of a segment, which was sent again in a smaller datagram: the rest follows at once.
func (f *Flow) partial(s *sender, a *arrival, n uint32) {
	i := s.head
	g := s.at(i)
	if g.state == segSacked { // no honest peer says so
		g.trim(n)
		return
	}
	if s.search.tried != 0 && n < min(g.n, f.payload) {
		f.becomeNarrow(a.now, n) // a piece arrived, and what was longer did not
	}
	s.depart(i)
	g.trim(n)
	a.bytes += int(n)
	s.rate.delivered += uint64(n)
	s.rate.deliveredAt = a.now
	g.state = segLost
	s.unshift(&s.lost, i)
	s.lostBytes += int(g.n)
}

// selective takes a SACK block. A receiver that follows the rules never takes back what it has told.
func (f *Flow) selective(s *sender, a *arrival, r wire.Range) {
	if r.End > f.nxt || r.Start >= r.End {
		f.stats.Nonsense++
		return
	}
	if r.End <= f.una {
		return
	}
	first := s.find(max(r.Start, f.una))
	i := first
	for i != s.tail {
		g := s.at(i)
		if g.off+uint64(g.n) > r.End {
			break
		}
		if g.state == segSacked {
			i += g.run
			continue
		}
		f.arrived(s, a, i)
		g.state, g.run = segSacked, 1
		i++
	}
	if i != first {
		s.at(first).run = i - first
	}
}

// arrived notes that a segment is known to have arrived.
func (f *Flow) arrived(s *sender, a *arrival, i uint32) {
	s.depart(i)
	g := s.at(i)
	if g.n > s.search.largest {
		f.stretched(a.now, s, g)
	}
	a.bytes += int(g.n)
	a.segments++
	s.rate.delivered += uint64(g.n)
	s.rate.deliveredAt = a.now
	if g.retries > 0 && a.now-g.sentAt < f.path.base-f.path.base/4 {
		f.stats.Spurious++ // this is the answer to an earlier transmission
		s.rack.spurious()
		return
	}
	if g.order > a.order {
		a.order, a.prior, a.priorAt, a.sendElapsed, a.starved = g.order, g.delivered, g.deliveredAt, g.sentAt-g.firstSent, g.starved
		s.rate.firstSent = g.sentAt
	}
	s.rack.newest(g, a.now)
}

// progress follows an acknowledgement of something new.
func (f *Flow) progress(s *sender, a *arrival) {
	f.backoff, f.probes, f.sinceAt = 0, 0, a.now
	f.detect(a.now)
	f.control(s, a)
	f.lossAt = 0
	if s.head != s.tail {
		f.arm(a.now)
	}
}
