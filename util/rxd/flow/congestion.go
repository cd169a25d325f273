package flow

import "math"

// congestion is the state of congestion control, which decides how many bytes may be in flight (RFC 5681 for the
// terms).
//
// It works in rounds of one round trip. After startup the window grows by an amount that depends on the rounds
// since it was last cut, not on the window itself (as in H-TCP). Flows that share a bottleneck therefore come to
// share it evenly.
//
// The window is cut for two reasons: the least round trip of a round shows a standing queue (as in Swift and
// Vegas), or there is a queue and more is lost than chance explains. Loss without a queue is the path's own, as on
// a radio link or with `fault`. It does not reduce the window. A cut never goes below what the path has delivered
// lately (delivery rate times minimum round trip, as in BBR).
type congestion struct {
	roundEnd       uint64    // the round ends when a segment arrives that was sent after this many bytes were delivered
	roundMinRTT    int64     // least round trip of this round
	roundMaxRTT    int64     // greatest round trip of this round
	lost           int       // segments lost since the counts were last reset
	arrived        int       // segments that arrived, likewise
	queueRounds    int       // rounds in a row with a standing queue
	futileCuts     int       // cuts in a row after which the queue still stood
	roundsSinceCut int64     // or since startup ended
	bw             maxFilter // greatest delivery rate of the last rounds, bytes per second
	bwLong         maxFilter // the same over a longer time
	fullBW         int64     // startup: last rate that was a quarter above the one before (full_bw of BBR)
	fullBWCount    int       // startup: rounds since (full_bw_count of BBR)
	afterCut       bool      // the window was cut in the round before
}

// Parameters of growth, cuts and pacing. TestGoodput and TestShares show what a change of one does.
const (
	initialWindowMin = 64 << 10  // bytes
	initialWindowMax = 256 << 10 // bytes
	// The window never falls below four segments, or this many bytes if four segments are longer.
	minWindowMax = 64 << 10
	// A queue shorter than this is never too long, in nanoseconds: it may be scheduling noise.
	queueMin       = 1e6
	bwPeriod       = 2         // rounds
	bwLongPeriod   = 8         // rounds
	stepBytes      = 2 << 10   // first growth of the window per round
	stepRTT        = 2e6       // round trip for each further stepBytes of growth, nanoseconds: long paths must fill in time
	linearRounds   = 8         // rounds after a cut before growth accelerates
	wideWindow     = 1 << 20   // bytes; flows with narrower windows accept longer queues
	narrowWindow   = 256 << 10 // bytes; windows up to this size are not cut for a queue
	standingRounds = 3         // rounds with a queue before it counts as standing: for one or two it may be a busy core
	futileCutsMax  = 3         // cuts before the queue is accepted as part of the path
	lossSample     = 200       // segments after which the loss counts begin again
	paceAbove      = 100e3     // nanoseconds; shorter round trips are not paced, as the window alone limits bursts
	paceQuantum    = 64 << 10  // bytes that leave at once
	paceNanos      = 1e6       // or the bytes of this time at the paced rate
)

// maxFilter keeps the greatest value of this period and of the one before. A period is a number of rounds.
type maxFilter struct {
	now, last int64
	rounds    int
}

// max returns the greatest value of both periods.
func (p *maxFilter) max() int64 { return max(p.now, p.last) }

// round counts a round, and begins a new period after the given number of them.
func (p *maxFilter) round(period int) {
	if p.rounds++; p.rounds >= period {
		p.last, p.now, p.rounds = p.now, 0, 0
	}
}

// rate estimates the delivery rate of the path: draft-cheng-iccrg-delivery-rate-estimation. Each segment carries
// the state at its transmission (segment.delivered and others). Its arrival gives the bytes delivered in the time
// between.
type rate struct {
	delivered   uint64 // bytes acknowledged so far
	deliveredAt int64  // time of the last acknowledgement
	firstSent   int64  // transmission time of the segment acknowledged last
	order       uint64 // number of the last transmission
}

// begin starts a flight after a time without data in flight, which must not count as slow delivery.
func (r *rate) begin(now int64) { r.firstSent, r.deliveredAt = now, now }

// stamp stores the present state in a segment that is about to be sent.
func (r *rate) stamp(g *segment) {
	r.order++
	g.order, g.firstSent, g.deliveredAt, g.delivered = r.order, r.firstSent, r.deliveredAt, r.delivered
}

// initialWindow is the window before the first round, in bytes (the idea of RFC 6928, with more segments).
func (f *Flow) initialWindow() int {
	return min(max(4*int(f.payload), initialWindowMin), max(initialWindowMax, int(f.payload)))
}

// minWindow is the least window, in bytes. With four segments in flight a loss shows by what arrives after it,
// without a time-out (as in BBR). Very long segments are fewer.
func (f *Flow) minWindow() int {
	return max(int(f.payload), min(4*int(f.payload), minWindowMax))
}

// maxWindow is the greatest useful window, in bytes: the peer's.
func (f *Flow) maxWindow() int {
	return max(int(min(f.sndEdge-f.sndUna, 1<<30)), f.initialWindow())
}

// cutAfterTimeouts runs after a retransmission time-out. One may be chance. At the second in a row the path no
// longer carries what it did (persistent congestion, RFC 9002, 7.6): the window is halved, and startup begins again.
func (f *Flow) cutAfterTimeouts() {
	if f.backoff < 2 {
		return
	}
	f.cwnd = max(f.cwnd/2, f.minWindow())
	f.tx.cc.fullBW, f.tx.cc.fullBWCount = 0, 0
	f.flags &^= fAvoidance
	f.stats.Cuts++
}

// updateWindow runs after an acknowledgement of new data. During startup the window grows by the bytes
// acknowledged, which doubles it in a round (slow start, RFC 5681, 3.1). At the end of a round endRound decides.
func (f *Flow) updateWindow(s *sender, a *newlyAcked) {
	c := &s.cc
	c.arrived += a.segments
	limited := f.flags&fWindowLimited != 0
	if f.flags&fAvoidance == 0 && limited {
		f.cwnd = min(f.cwnd+a.bytes, f.maxWindow()) // doubles in a round
	}
	if a.order == 0 {
		return
	}
	// A sample over less than the minimum round trip is an artefact of acknowledgements that arrive together
	// (section 3.3 of the draft).
	if t := max(a.sendElapsed, a.now-a.priorAt); t > 0 && t >= f.path.minRTT {
		bw := int64(s.rate.delivered-a.prior) * 1e9 / t
		c.bw.now, c.bwLong.now = max(c.bw.now, bw), max(c.bwLong.now, bw)
	}
	// The round is not over yet.
	if a.prior < c.roundEnd {
		return
	}
	c.roundEnd = s.rate.delivered
	f.flags &^= fWindowLimited
	f.endRound(s, limited)
}

// endRound ends a round: it cuts the window, or lets it grow.
func (f *Flow) endRound(s *sender, limited bool) {
	c := &s.cc
	s.rack.round()
	rtt, most := c.roundMinRTT, c.roundMaxRTT
	c.roundMinRTT, c.roundMaxRTT = 0, 0
	c.bw.round(bwPeriod)
	c.bwLong.round(bwLongPeriod)
	// The samples of this round are still about the window before the cut.
	if c.afterCut {
		c.afterCut, c.lost, c.arrived = false, 0, 0
		return
	}
	// queueTarget is queueMin at least, so the first comparison saves the second where there is no queue.
	queue := rtt - f.path.minRTT
	standing := queue > queueMin && queue > f.queueTarget()
	losing := c.lossExcessive(most-f.path.minRTT > f.path.minRTT/16+20e3)
	if standing {
		c.queueRounds++
	} else {
		c.queueRounds, c.futileCuts = 0, 0
	}
	switch {
	case losing, f.cwnd > narrowWindow && (c.queueRounds >= standingRounds || standing && f.flags&fAvoidance == 0):
		f.cut(c, rtt, !losing)
		return
	// Startup doubles the window in updateWindow.
	case f.flags&fAvoidance == 0:
		f.startup(c, limited)
	// Congestion avoidance. A flow that did not use its window learns nothing about a larger one (RFC 7661), so
	// only a limited one grows. The growth accelerates after linearRounds, up to a sixteenth of the window per
	// round.
	case limited:
		c.roundsSinceCut++
		over := max(c.roundsSinceCut-linearRounds, 0)
		step := min(stepBytes+stepBytes*min(f.path.minRTT/stepRTT, 4), int64(f.cwnd)/32)
		step = min(step+step*over*over/16, int64(f.cwnd)/16)
		f.cwnd = min(f.cwnd+int(step), f.maxWindow())
	}
	// Old losses must not explain new ones.
	if c.lost+c.arrived >= lossSample {
		c.lost, c.arrived = 0, 0
	}
}

// lossExcessive reports that more is lost than chance explains. With a queue the limit is 1 % and one standard
// deviation. Without one it is 8 % and two deviations: a queue that was there when the flow began is part of minRTT
// and does not show.
func (c *congestion) lossExcessive(queue bool) bool {
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

// queueTarget is the longest queue that the flow accepts, in nanoseconds. The narrower its window, the longer (as
// in Swift). Otherwise a flow that knows a shorter minimum round trip than others would always be the one that
// gives way.
func (f *Flow) queueTarget() int64 {
	t := max(queueMin, f.path.minRTT/4)
	if f.cwnd >= wideWindow {
		return t
	}
	return int64(float64(t) * min(math.Sqrt(wideWindow/float64(f.cwnd)), 4))
}

// bdp is what the path holds without a queue at rate bw (bandwidth-delay product), in bytes.
func (f *Flow) bdp(bw int64) int {
	return int(float64(bw) * float64(f.path.minRTT) / 1e9)
}

// cut reduces the window: by a quarter if a queue stands, by a fifth if data is lost, but not below what the path
// has delivered lately.
func (f *Flow) cut(c *congestion, rtt int64, standing bool) {
	w := f.cwnd * 4 / 5
	if standing {
		w = f.cwnd * 3 / 4
		// The queue belongs to other flows, or the route became longer. A flow that went on giving way would
		// starve, so the present round trip becomes the minimum.
		if c.futileCuts++; c.futileCuts > futileCutsMax {
			f.path.minRTT, f.path.minRTTNext = rtt, rtt
			c.futileCuts = 0
		}
	}
	least := f.bdp(c.bw.max())
	if !standing {
		least = f.bdp(c.bwLong.max()) * 4 / 5
	}
	if standing {
		least = max(least, narrowWindow)
	}
	f.cwnd = max(min(f.cwnd, max(w, least)), f.minWindow())
	f.flags |= fAvoidance
	c.afterCut, c.roundsSinceCut = true, 0
	c.lost, c.arrived = 0, 0
	f.stats.Cuts++
}

// startup ends the startup phase when three rounds in a row have not raised the delivery rate by a quarter (as in
// BBR): the path is full.
func (f *Flow) startup(c *congestion, limited bool) {
	bw := c.bw.max()
	if !limited {
		return
	}
	if bw >= c.fullBW+c.fullBW/4 {
		c.fullBW, c.fullBWCount = bw, 0
		return
	}
	if c.fullBWCount++; c.fullBWCount >= 3 {
		f.flags |= fAvoidance
		c.roundsSinceCut = 0
	}
}

// pace spreads the data that leaves over the round trip. It delays in quanta that are worth a timer, since a timer
// per datagram would cost more than the datagram. During startup the paced rate is twice the window per round trip,
// afterwards 5/4 of it.
func (f *Flow) pace(now int64, n int) {
	if f.path.minRTT < paceAbove {
		return
	}
	w := int64(f.cwnd) * 5 / 4
	if f.flags&fAvoidance == 0 {
		w = int64(f.cwnd) * 2
	}
	quantum := max(paceNanos, paceQuantum*f.path.srtt/w)
	f.pacedUntil = max(f.pacedUntil, now) + int64(n)*f.path.srtt/w
	if f.pacedUntil > now+quantum {
		f.paceAt = f.pacedUntil - quantum/2
	}
}
