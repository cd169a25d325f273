package engine

// A process that was stopped, or whose machine was, finds that all deadlines have passed, though nobody has had the time to answer. That time does not count as
// silence of the peers: else two processes that a debugger, or the host of a virtual machine, stops together would give each other up as they go on.

// absentPart is what part of PeerTimeout a deadline is served late when nobody was there to serve it, rather than busy.
const absentPart = 8

// excuse takes back from p's silence what we were absent. It ends with us: however rarely deadlines are served, the time until each of them counts, and
// they come less and less often.
func (p *Peer) excuse(now, late int64) {
	if h := p.hs; h != nil {
		h.end += late
	}
	switch p.state {
	case native:
		g := p.nat
		g.came, g.heard = min(g.came+late, now), min(g.heard+late, now)
		if g.refusedAt != 0 {
			g.refusedAt = min(g.refusedAt+late, now)
		}
	case extended:
		p.ext.flow.Excuse(now, late)
	}
}
