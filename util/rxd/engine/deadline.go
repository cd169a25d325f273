package engine

// lookAt makes sure that p is looked at no later than at; 0: never, for all it cares. A peer's place in the heap may be too early, for most deadlines move on
// before they are reached and moving the peer each time would cost more than one look at it; it is never too late.
func (e *Engine) lookAt(p *Peer, at int64) {
	if at != 0 && (!p.place.In() || at < e.due.Key(p.place)) {
		e.due.Set(at, p, &p.place)
	}
}
