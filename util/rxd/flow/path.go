package flow

// path estimates the round trip to the peer, in nanoseconds. It is part of Flow rather than of sender, so that an
// idle flow keeps the estimate. It follows RFC 6298 for the smoothed round trip and its variation, and keeps the
// minimum of recent samples as the round trip without queues (as BBR and RFC 8985, 6.2 do).
type path struct {
	srtt, rttvar int64 // SRTT and RTTVAR of RFC 6298; 0: no sample yet
	minRTT       int64 // least sample of this period and the one before
	minRTTNext   int64 // least sample of this period
	minRTTNextAt int64 // begin of this period
	ackDelay     int64 // greatest recent delay of the peer's acknowledgements
}

// minRTTPeriod is the length of a period of the minimum filter, in nanoseconds. A minimum counts for two periods at
// most, so that a longer route shows after 10 s.
const minRTTPeriod = 5e9

// addRTT takes a sample: RFC 6298, section 2.
func (p *path) addRTT(now, rtt int64) {
	if rtt < 1 {
		rtt = 1
	}
	if p.srtt == 0 {
		p.srtt, p.rttvar = rtt, rtt/2
		p.minRTT, p.minRTTNext, p.minRTTNextAt = rtt, rtt, now
		return
	}
	d := p.srtt - rtt
	if d < 0 {
		d = -d
	}
	p.rttvar += (d - p.rttvar) / 4
	p.srtt += (rtt - p.srtt) / 8
	p.minRTT, p.minRTTNext = min(p.minRTT, rtt), min(p.minRTTNext, rtt)
	if now-p.minRTTNextAt > minRTTPeriod {
		p.minRTT, p.minRTTNext, p.minRTTNextAt = p.minRTTNext, rtt, now
	}
}

// rto is the retransmission time-out without back-off. The variation counts as one round trip at least: on a path
// of microseconds the scheduler is the variation. The peer may delay its acknowledgement by ackDelayMax.
func (p *path) rto() int64 {
	if p.srtt == 0 {
		return rtoFirst
	}
	return min(max(p.srtt+max(4*p.rttvar, p.srtt), rtoMin)+ackDelayMax, rtoMax)
}

// addAckDelay takes the delay that the peer reports for an acknowledgement. The estimate falls by an eighth per
// sample.
func (p *path) addAckDelay(d int64) {
	p.ackDelay = max(min(d, ackDelayMax), p.ackDelay-p.ackDelay/8)
}

// pto is the probe time-out of RFC 8985, 7.2. It adds the delay that the peer's acknowledgements were seen to have,
// not the greatest one allowed. That sends a probe too many now and then, which costs little. prompt says that the
// last segment asked for an acknowledgement at once.
func (p *path) pto(prompt bool) int64 {
	if p.srtt == 0 {
		return rtoFirst
	}
	t := 2*p.srtt + 4*p.rttvar + ptoSlack
	if !prompt {
		t += 2 * p.ackDelay
	}
	return min(t, p.rto())
}
