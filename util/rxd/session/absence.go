package session

// A process that was stopped, or whose virtual machine was, finds all deadlines passed when it continues, although
// the peers could not answer meanwhile. That time must not count as the peers' silence. Otherwise two processes
// that a debugger or a hypervisor stops together would give each other up when they continue.

// absenceFraction is how late a deadline must be served, as a fraction of PeerTimeout, to count as absence. A busy
// process is less late.
const absenceFraction = 8

// excludeAbsence takes late nanoseconds of our absence off p's silence. A dead peer is still given up, however late
// its deadlines are served: the time up to each due time counts, and the intervals between them grow.
func (p *Peer) excludeAbsence(now, late int64) {
	if h := p.hs; h != nil {
		h.deadline += late
	}
	switch p.state {
	case native:
		g := p.nat
		g.receivedAt, g.progressAt = min(g.receivedAt+late, now), min(g.progressAt+late, now)
		if g.refusedAt != 0 {
			g.refusedAt = min(g.refusedAt+late, now)
		}
	case extended:
		p.ext.flow.ExcludeAbsence(now, late)
	}
}
