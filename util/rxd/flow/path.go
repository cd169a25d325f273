package flow

// path is what is known of the way to the peer and back, nanoseconds. It outlives the memory of a busy flow.
type path struct {
	srtt, rttvar int64
	base         int64 // the least seen lately: the round trip without queues
	baseNext     int64 // the least of the period that goes on
	baseAt       int64 // when that began
	delay        int64 // how long the peer keeps acknowledgements back: the most lately
}

// basePeriod is for how long a least round trip counts, nanoseconds: twice this at most.
const basePeriod = 5e9

// sample takes a round trip: RFC 6298, section 2.
func (p *path) sample(now, rtt int64) {
	if rtt < 1 {
		rtt = 1
	}
	if p.srtt == 0 {
		p.srtt, p.rttvar = rtt, rtt/2
		p.base, p.baseNext, p.baseAt = rtt, rtt, now
		return
	}
	d := p.srtt - rtt
	if d < 0 {
		d = -d
	}
	p.rttvar += (d - p.rttvar) / 4
	p.srtt += (rtt - p.srtt) / 8
	p.base, p.baseNext = min(p.base, rtt), min(p.baseNext, rtt)
	if now-p.baseAt > basePeriod {
		p.base, p.baseNext, p.baseAt = p.baseNext, rtt, now
	}
}

// rto is the retransmission time-out, before back-off.
func (p *path) rto() int64 {
	if p.srtt == 0 {
		return rtoFirst
	}
	return min(max(p.srtt+max(4*p.rttvar, p.srtt), rtoMin)+ackDelayMax, rtoMax)
}

// kept takes how long the peer says it kept an acknowledgement back.
func (p *path) kept(d int64) {
	p.delay = max(min(d, ackDelayMax), p.delay-p.delay/8)
}

// pto is the time-out after which the tail is probed: RFC 8985, section 7.2, with what the peer's delay was seen to be rather than what it may be. A
// probe too many costs little.
func (p *path) pto(prompt bool) int64 {
	if p.srtt == 0 {
		return rtoFirst
	}
	t := 2*p.srtt + 4*p.rttvar + ptoSlack
	if !prompt {
		t += 2 * p.delay
	}
	return min(t, p.rto())
}
