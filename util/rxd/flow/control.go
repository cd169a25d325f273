package flow

import "math"

// control is congestion control: how many bytes may be in flight.
//
// A round is a round trip. The window grows by an amount that does not depend on the window, but on the rounds since it was last cut (as in H-TCP), which is
// why flows that share a bottleneck come to share it evenly. It is cut when the least round trip of a round shows a standing queue, or when more is lost than
// chance explains while there is a queue. Loss without a queue is the path's, not ours: it does not slow us down. Cuts end at what the path has delivered
// lately.
type control struct {
	next    uint64 // the round ends when something sent after so many bytes were delivered arrives
	rtt     int64  // the least of the round
	rttMost int64  // the most of the round
	lost    int    // segments, since the last verdict
	arrived int    // segments, likewise
	stood   int    // rounds in a row with a standing queue
	vain    int    // cuts in a row that left the queue standing
	grown   int64  // rounds since the last cut
	bw      peak   // the most bytes per second lately
	top     peak   // and over a longer time
	full    int64  // startup: the best rate that was a quarter better than the one before
	stuck   int    // startup: rounds since
	resting bool   // the window was cut in the round before
}

// Shape of the window's growth and of cuts.
const (
	firstWindowMin = 64 << 10  // bytes
	firstWindowMax = 256 << 10 // bytes
	leastWindowMax = 64 << 10  // bytes
	queueMin       = 1e6       // nanoseconds of queue that are never too much: less is the noise of schedulers
	bwPeriod       = 2         // rounds
	topPeriod      = 8         // rounds
	stepBytes      = 2 << 10   // that the window grows in a round, at first
	stepLong       = 2e6       // nanoseconds of round trip for which it grows by so much more
	evenRounds     = 8         // rounds after which it grows faster and faster
	wideWindow     = 1 << 20   // bytes: narrower ones endure longer queues
	narrowWindow   = 256 << 10 // bytes: narrower ones are not cut for a queue
	standsFor      = 3         // rounds after which a queue stands, rather than that a core was busy
	vainMax        = 3         // cuts
	verdict        = 200       // segments after which counts of loss begin anew
	paceAbove      = 100e3     // round trips below so many nanoseconds are not paced: the window is enough
	paceQuantum    = 64 << 10  // bytes that leave at once
	paceNanos      = 1e6       // or what leaves in such a time
)

// peak is the most of a number of rounds, and of as many before them.
type peak struct {
	now, last int64
	rounds    int
}

func (p *peak) most() int64 { return max(p.now, p.last) }

// round begins a round; the peak goes over to the next period after so many.
func (p *peak) round(period int) {
	if p.rounds++; p.rounds >= period {
		p.last, p.now, p.rounds = p.now, 0, 0
	}
}

// rate measures how fast the path delivers, as in draft-cheng-iccrg-delivery-rate-estimation.
type rate struct {
	delivered   uint64
	deliveredAt int64
	firstSent   int64
	order       uint64 // transmissions so far
}

// begin starts a flight.
func (r *rate) begin(now int64) { r.firstSent, r.deliveredAt = now, now }

// stamp notes in a segment what is known when it leaves.
func (r *rate) stamp(g *segment) {
	r.order++
	g.order, g.firstSent, g.deliveredAt, g.delivered = r.order, r.firstSent, r.deliveredAt, r.delivered
}

// firstWindow is the window before anything is known, bytes.
func (f *Flow) firstWindow() int {
	return min(max(4*int(f.payload), firstWindowMin), max(firstWindowMax, int(f.payload)))
}

// leastWindow is below what the window never falls, bytes: four segments, that a loss shows by what arrives after it, and not by a time-out (as in BBR); of
// very long ones fewer.
func (f *Flow) leastWindow() int {
	return max(int(f.payload), min(4*int(f.payload), leastWindowMax))
}

// mostWindow is above what the window is of no use, bytes.
func (f *Flow) mostWindow() int {
	return max(int(min(f.edge-f.una, 1<<30)), f.firstWindow())
}

// collapse follows a retransmission time-out: at the second in a row the path does not carry what we thought.
func (f *Flow) collapse() {
	if f.backoff < 2 {
		return
	}
	f.cwnd = max(f.cwnd/2, f.leastWindow())
	f.tx.ctl.full, f.tx.ctl.stuck = 0, 0
	f.flags &^= fSteady
	f.stats.Cuts++
}

// control follows an acknowledgement.
func (f *Flow) control(s *sender, a *arrival) {
	c := &s.ctl
	c.arrived += a.segments
	limited := f.flags&fLimited != 0
	if f.flags&fSteady == 0 && limited {
		f.cwnd = min(f.cwnd+a.bytes, f.mostWindow()) // doubles in a round
	}
	if a.order == 0 {
		return
	}
	if t := max(a.sendElapsed, a.now-a.priorAt); t > 0 && t >= f.path.base {
		bw := int64(s.rate.delivered-a.prior) * 1e9 / t
		c.bw.now, c.top.now = max(c.bw.now, bw), max(c.top.now, bw)
	}
	if a.prior < c.next {
		return
	}
	c.next = s.rate.delivered
	f.flags &^= fLimited
	f.round(s, limited)
}

// round ends a round.
func (f *Flow) round(s *sender, limited bool) {
	c := &s.ctl
	s.rack.round()
	rtt, most := c.rtt, c.rttMost
	c.rtt, c.rttMost = 0, 0
	c.bw.round(bwPeriod)
	c.top.round(topPeriod)
	if c.resting {
		c.resting, c.lost, c.arrived = false, 0, 0 // what was seen is the old window's
		return
	}
	queue := rtt - f.path.base
	standing := queue > queueMin && queue > f.patience() // which is never less
	losing := c.losing(most-f.path.base > f.path.base/16+20e3)
	if standing {
		c.stood++
	} else {
		c.stood, c.vain = 0, 0
	}
	switch {
	case losing, f.cwnd > narrowWindow && (c.stood >= standsFor || standing && f.flags&fSteady == 0):
		f.cut(c, rtt, !losing)
		return
	case f.flags&fSteady == 0:
		f.startup(c, limited)
	case limited:
		c.grown++
		over := max(c.grown-evenRounds, 0)
		step := min(stepBytes+stepBytes*min(f.path.base/stepLong, 4), int64(f.cwnd)/32)
		step = min(step+step*over*over/16, int64(f.cwnd)/16)
		f.cwnd = min(f.cwnd+int(step), f.mostWindow())
	}
	if c.lost+c.arrived >= verdict {
		c.lost, c.arrived = 0, 0
	}
}

// losing reports that more is lost than chance explains: 1 % and a deviation if there is a queue, 8 % and two
// deviations in any case, for what seems to be no queue may be one that was there when we came.
func (c *control) losing(queue bool) bool {
	if c.lost < 2 {
		return false
	}
	all := c.lost + c.arrived
	share, deviations := 100, 1
	if !queue {
		share, deviations = 12, 2
	}
	over := c.lost - all/share - 1
	return over > 0 && over*over > deviations*deviations*all/share
}

// patience is how long a queue a flow endures, nanoseconds: the longer, the narrower its window (as in Swift), for else one that takes the round trip
// without a queue for shorter than others do would always give way.
func (f *Flow) patience() int64 {
	t := max(queueMin, f.path.base/4)
	if f.cwnd >= wideWindow {
		return t
	}
	return int64(float64(t) * min(math.Sqrt(wideWindow/float64(f.cwnd)), 4))
}

// model is what the path holds without a queue at a rate, bytes.
func (f *Flow) model(bw int64) int {
	return int(float64(bw) * float64(f.path.base) / 1e9)
}

// cut makes the window smaller: by a quarter if a queue stands, by a fifth if something is lost, but not to less than the path has delivered lately.
func (f *Flow) cut(c *control, rtt int64, standing bool) {
	w := f.cwnd * 4 / 5
	if standing {
		w = f.cwnd * 3 / 4
		if c.vain++; c.vain > vainMax { // the queue is not ours, or the path became longer: whoever gave way for ever would starve
			f.path.base, f.path.baseNext = rtt, rtt
			c.vain = 0
		}
	}
	least := f.model(c.bw.most())
	if !standing {
		least = f.model(c.top.most()) * 4 / 5
	}
	if standing {
		least = max(least, narrowWindow)
	}
	f.cwnd = max(min(f.cwnd, max(w, least)), f.leastWindow())
	f.flags |= fSteady
	c.resting, c.grown = true, 0
	c.lost, c.arrived = 0, 0
	f.stats.Cuts++
}

// startup ends when three rounds have not made the path deliver a quarter more.
func (f *Flow) startup(c *control, limited bool) {
	bw := c.bw.most()
	if !limited {
		return
	}
	if bw >= c.full+c.full/4 {
		c.full, c.stuck = bw, 0
		return
	}
	if c.stuck++; c.stuck >= 3 {
		f.flags |= fSteady
		c.grown = 0
	}
}

// pace spreads what leaves over the round trip, in pieces that are worth a timer.
func (f *Flow) pace(now int64, n int) {
	if f.path.base < paceAbove {
		return
	}
	w := int64(f.cwnd) * 5 / 4
	if f.flags&fSteady == 0 {
		w = int64(f.cwnd) * 2
	}
	quantum := max(paceNanos, paceQuantum*f.path.srtt/w)
	f.paceTo = max(f.paceTo, now) + int64(n)*f.path.srtt/w
	if f.paceTo > now+quantum {
		f.paceAt = f.paceTo - quantum/2
	}
}
