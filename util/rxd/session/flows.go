package session

import "gofabric/util/rxd/flow"

// Flow returns the counts and path estimates of a gofabric peer's flow, and false if there is no flow.
func (p *Peer) Flow() (flow.Stats, bool) {
	// Native, or still in the handshake.
	if p.ext == nil {
		return flow.Stats{}, false
	}
	return p.ext.flow.Stats(), true
}

// Flows returns the sums of all flows, including those that have ended. SRTT is the greatest of the present ones.
func (e *Engine) Flows() flow.Stats {
	sum := flow.Stats{Counts: e.endedFlows}
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
