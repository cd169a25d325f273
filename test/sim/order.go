package sim

import "slices"

// match is a message, and the receive or peek that took it.
type match struct{ m, r *op }

// checkOrder finds receives that were passed over. Let a node send m1 before m2, and let r2 take m2. If r2 also
// accepts m1, a receive that was posted before r2 must have taken m1, or r2 itself. Otherwise r2, which could match
// from its posting on, would have got m1.
func (l *ledger) checkOrder() {
	if l.w.f.lateNames { // a directed receive then accepts different messages over time
		kept := l.matches[:0]
		for _, x := range l.matches {
			if x.r.src == anyNode {
				kept = append(kept, x)
			}
		}
		l.matches = kept
	}
	type flow struct {
		from, to int
		tagged   bool
	}
	flows := map[flow][]match{}
	for _, x := range l.matches {
		k := flow{x.m.node, x.m.peer, x.m.tagged}
		flows[k] = append(flows[k], x)
	}
	for _, list := range flows {
		byID := make([]*op, 0, len(list)) // receives by the number of their message
		sortMatches(list)
		for _, x := range list {
			byID = append(byID, x.r)
		}
		for i, x := range list {
			for j := max(0, i-window); j < i; j++ {
				if byID[j].order > x.r.order && x.r.accepts(list[j].m) {
					l.violate("message %d went to receive %d, although %d was posted before and accepts it; that took %d", list[j].m.id, byID[j].id, x.r.id, x.m.id)
					return
				}
			}
		}
	}
}

// window is how far back messages are compared.
const window = 300

func sortMatches(list []match) {
	slices.SortFunc(list, func(a, b match) int {
		switch {
		case a.m.id < b.m.id:
			return -1
		case a.m.id > b.m.id:
			return 1
		}
		return 0
	})
}

// checkPairs finds a receive and a message that both wait although they match, no connection is stalled and nothing
// moves.
func (l *ledger) checkPairs() {
	rendezvousBlocked := false // senders do not process the clear to send until their applications receive
	for _, n := range l.w.nodes {
		rendezvousBlocked = rendezvousBlocked || l.w.f.rendezvous && n.stalled()
	}
	for _, n := range l.w.nodes {
		if n.stalled() {
			continue
		}
		var waiting []*op
		for _, o := range n.posted {
			if !o.completed && !o.cancelled {
				waiting = append(waiting, o)
			}
		}
		if len(waiting) == 0 {
			continue
		}
		for _, m := range n.incoming {
			if m.delivered || m.taken || m.cancelled || !m.side.up() {
				continue
			}
			if m.tagged && rendezvousBlocked {
				continue
			}
			if s, ok := m.side.(*side); ok && s.conn.Waiting() {
				continue // a fence may hold it until another message has its receive
			}
			for _, r := range waiting {
				if r.accepts(m) {
					l.violate("nothing moves, but receive %d and message %d wait for each other", r.id, m.id)
					return
				}
			}
		}
	}
}

// checkEnd runs at the end of the drain, when everything must have completed.
func (l *ledger) checkEnd() {
	for _, o := range l.ops[1:] {
		if !o.completed && !(o.kind == opSend && o.inject) {
			l.violate("operation %d (kind %d) of node %d never completed", o.id, o.kind, o.node)
			return
		}
		if o.kind == opSend && !o.delivered && !o.cancelled && (o.succeeded && o.ack || o.side.up()) && !o.taken {
			l.violate("message %d from %d to %d was not delivered (acknowledged: %v)", o.id,
				o.node, o.peer, o.succeeded && o.ack)
			return
		}
	}
	if l.injects != 0 {
		l.violate("%d injects without completion", l.injects)
	}
	l.checkOrder()
}
