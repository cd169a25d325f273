package sim

import (
	"gofabric/internal/xnet/engine"
	"gofabric/test/sim/network"
)

// fault starts a random fault.
func (w *rxdWorld) fault() {
	if w.draining && w.settled() {
		return
	}
	var kinds []func()
	if w.x.cuts || w.x.longCuts {
		kinds = append(kinds, w.partition)
	}
	if w.x.restarts {
		kinds = append(kinds, w.restart)
	}
	if w.x.pauses {
		kinds = append(kinds, w.pause)
	}
	if w.x.sleeps {
		kinds = append(kinds, w.sleep)
	}
	kinds[w.s.IntN(len(kinds))]()
}

// partition cuts the paths between some nodes and the others, possibly in one direction only.
func (w *rxdWorld) partition() {
	d := w.s.Int64N(rxdShortCut)
	if w.x.longCuts && w.s.Chance(50) {
		d = w.s.Int64N(rxdLongCut)
	}
	some, oneWay := 1+w.s.IntN(1<<w.x.nodes-2), w.s.Chance(20)
	for a := range w.x.nodes {
		for b := range w.x.nodes {
			if some>>a&1 == 1 && some>>b&1 == 0 {
				w.net.Cut(a, b, d)
				if !oneWay {
					w.net.Cut(b, a, d)
				}
			}
		}
	}
	w.s.Trace(some, "cut", uint64(d), 0)
	w.s.After(d, func() { w.progress = w.s.Now })
}

// pause stops a node for a while, with its application and its driver.
func (w *rxdWorld) pause() {
	n := w.nodes[w.s.IntN(w.x.nodes)]
	n.paused = w.s.Now + w.s.Int64N(5e9)
	w.s.Trace(n.id, "pause", uint64(n.paused-w.s.Now), 0)
	w.s.After(n.paused-w.s.Now, func() { w.progress = w.s.Now })
}

// sleep keeps the application of a node from posting receives for a while, longer than peers may be silent.
func (w *rxdWorld) sleep() {
	n := w.nodes[w.s.IntN(w.x.nodes)]
	n.asleep = w.s.Now + w.s.Int64N(2*rxdPeerTimeout)
	w.s.Trace(n.id, "sleep", uint64(n.asleep-w.s.Now), 0)
	w.s.After(n.asleep-w.s.Now, func() {
		w.progress = w.s.Now
		n.hungry = true
		n.wake(0)
	})
}

// restart replaces a node by a new one at the same address. The old one is closed, or crashes.
func (w *rxdWorld) restart() {
	old := w.nodes[w.s.IntN(w.x.nodes)]
	crash := w.s.Chance(50)
	w.s.Trace(old.id, "restart", uint64(index(crash)), 0)
	w.restarted[old.id] = true
	if crash {
		w.crash(old)
	} else {
		w.close(old)
	}
	old.dead = true
	if w.x.natives != 0 && w.s.Chance(20) {
		w.x.natives ^= 1 << old.id // the new node is of the other kind
	}
	w.nodes[old.id] = newRxdNode(w, old.id, old.life+1)
	w.feed(w.nodes[old.id])
	w.progress = w.s.Now
}

// crash forgets the pending operations of a node. They will have no completions.
func (w *rxdWorld) crash(n *rxdNode) {
	w.l.injects -= n.injects
	for _, o := range w.l.ops[n.first:] {
		if o.node == n.id && !o.completed {
			o.completed = true
			if s, ok := o.side.(*rxdSide); ok {
				s.opDone()
			}
		}
	}
}

// close closes a node in order. Everything completes, and nothing is left over.
func (w *rxdWorld) close(n *rxdNode) {
	for _, o := range n.posted {
		o.cancelWanted = true
	}
	n.blocked = 0
	n.rx.Flush(engine.ErrCanceled)
	for i := range w.x.nodes {
		if p := n.eng.Lookup(network.Addr(i)); p != nil {
			n.eng.Remove(p, engine.ErrClosed)
			n.ended(p.User.(*rxdSide))
		}
	}
	n.transmit()
	if len(w.errs) > 0 {
		return
	}
	for _, o := range w.l.ops[n.first:] {
		if o != nil && o.node == n.id && !o.completed {
			w.l.violate("operation %d (kind %d) of node %d never completed", o.id, o.kind, n.id)
			return
		}
	}
	if n.injects != 0 {
		w.l.violate("node %d: %d injects without completion", n.id, n.injects)
	}
	w.checkLeft(n)
}
