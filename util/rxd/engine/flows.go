package engine

import "gofabric/util/rxd/flow"

// Flow is what the flow to a gofabric peer did; false if the peer is none, or not up.
func (p *Peer) Flow() (flow.Stats, bool) {
	if p.ext == nil {
		return flow.Stats{}, false
	}
	return p.ext.flow.Stats(), true
}

// Flows adds up all flows, those that have ended included; of round-trip times it has the longest of now.
func (e *Engine) Flows() flow.Stats {
	sum := flow.Stats{Counts: e.ended}
	for p := range e.Each {
		if s, ok := p.Flow(); ok {
			sum.Counts.Add(&s.Counts)
			sum.SRTT = max(sum.SRTT, s.SRTT)
			sum.Window += s.Window
			sum.InFlight += s.InFlight
		}
	}
	return sum
}
