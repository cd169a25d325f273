package session

// armDeadline makes sure that p is served no later than at; 0: no deadline. A peer's place in the heap may be too
// early but is never too late. Most deadlines move on before they are reached. To move the peer each time would
// cost more than to look at it once too often.
func (e *Engine) armDeadline(p *Peer, at int64) {
	if at != 0 && (!p.place.In() || at < e.due.Key(p.place)) {
		e.due.Set(at, p, &p.place)
	}
}
