package sim

import (
	"encoding/binary"
	"fmt"
)

// check checks, after a node has transmitted, whether it will make progress without help. At times it also checks what
// the node holds.
func (w *rxdWorld) check(n *rxdNode, deadline int64) {
	if n.blocked > w.s.Now {
		return
	}
	if n.passAt != w.s.Now {
		n.passAt, n.rounds = w.s.Now, 0
	}
	if n.rounds++; n.rounds > 10_000 {
		w.violate(fmt.Sprintf("node %d makes passes without end: deadline %d", n.id, deadline))
		return
	}
	if w.checks++; w.x.big && w.checks&63 != 0 {
		return
	}
	for i, s := range n.sides {
		if s == nil || s.over {
			continue
		}
		c := s.conn()
		if deadline == 0 && (c.HasPending() || !s.p.Up()) {
			w.violate(fmt.Sprintf("node %d has no deadline, although operations to %d are pending\n%s", n.id, i,
				n.state()))
			return
		}
		if most := n.conn.StageLimit + 512<<10; c.Staged() > most {
			w.violate(fmt.Sprintf("node %d has staged %d bytes for %d", n.id, c.Staged(), i))
		}
	}
	if w.checks&15 != 0 && !w.x.big {
		return
	}
	if b, most := n.rx.UnexpectedBytes(), n.rx.Limit+uint64(w.x.nodes*(2*min(w.maxSize, 256<<10)+4096)); b > most {
		w.violate(fmt.Sprintf("node %d keeps %d bytes of unexpected messages, %d allowed", n.id, b, most))
	}
	u := n.eng.Usage()
	pages := w.x.nodes * (w.x.recvWindow/(16<<10) + 2)
	if u.Peers > w.x.nodes || u.Passive > u.Peers || u.HalfOpen > w.x.nodes || u.Memos > w.x.nodes ||
		u.Senders > u.Peers || u.Receivers > u.Peers || u.Due > u.Peers ||
		u.Pages > pages || u.Answers > 256 {
		w.violate(fmt.Sprintf("node %d holds too much: %+v", n.id, u))
	}
}

// checkLeft finds what a node that has ended did not release.
func (w *rxdWorld) checkLeft(n *rxdNode) {
	n.rx.Release()
	p, u := &n.pool, n.eng.Usage()
	u.HalfOpen, u.Memos, u.Answers = 0, 0, 0
	if s := fmt.Sprint(p.OutChunks, p.OutTx, p.OutRx, p.OutUnexp, p.OutAtomic, n.rx.UnexpectedBytes()); s != "0 0 0 0 0 0" || fmt.Sprintf("%+v", u) != rxdNothing {
		w.violate(fmt.Sprintf("node %d lost chunks, sends, receives, messages, atomics, bytes: %s, or of %+v", n.id,
			s, u))
	}
}

const rxdNothing = "{Peers:0 Passive:0 HalfOpen:0 Memos:0 Answers:0 Senders:0 Receivers:0 Pages:0 Due:0}"

// endCheck runs at the end: everything has completed, and what could arrive has arrived, in order.
func (w *rxdWorld) endCheck() {
	if len(w.errs) > 0 {
		return
	}
	for _, n := range w.nodes {
		for _, o := range n.posted {
			o.cancelWanted = true
		}
	}
	for _, o := range w.l.ops[1:] {
		switch {
		case o == nil || o.kind == opRecv && o.cancelWanted:
		case !o.completed && !(o.kind == opSend && o.inject):
			w.l.violate("operation %d (kind %d) of node %d never completed", o.id, o.kind, o.node)
			return
		case o.kind == opSend && !o.delivered && !o.cancelled &&
			(!w.f.mayFail() || o.succeeded && o.ack && !w.restarted[o.peer]):
			w.l.violate("message %d from %d to %d was not delivered (acknowledged: %v)", o.id,
				o.node, o.peer, o.succeeded && o.ack)
			return
		case o.kind == opWrite && !o.delivered && o.succeeded && !w.f.mayFail():
			w.l.violate("write %d did not arrive", o.id)
			return
		}
	}
	if w.l.injects != 0 {
		w.l.violate("%d injects without completion", w.l.injects)
	}
	for i, list := range w.adds {
		for from, posted := range list {
			v := binary.NativeEndian.Uint64(w.memory[i].cells[8*(w.x.nodes+from):])
			if v > posted || v < posted && !w.f.mayFail() {
				w.l.violate("node %d has added %d times to a number of %d, whose value is %d", from, posted, i, v)
			}
		}
	}
	if w.calm() && w.slowest > rxdSlowest {
		w.l.violate("an operation took %.3f s", float64(w.slowest)/1e9)
	}
	w.l.checkOrder()
}

// rxdSlowest is how long an operation may take if only the network delays it, in nanoseconds.
const rxdSlowest = 15e9

// calm reports that no peer has to wait for an application.
func (w *rxdWorld) calm() bool {
	x, f := &w.x, &w.f
	return !x.cuts && !x.longCuts && !x.restarts && !x.pauses && !x.sleeps && !f.late &&
		!f.budgets && !f.rendezvous && !f.fences
}

// teardown closes all nodes.
func (w *rxdWorld) teardown() {
	if len(w.errs) > 0 {
		return
	}
	for _, n := range w.nodes {
		w.close(n)
	}
}

// bookkeepingEvery is the number of messages after which a long run forgets what it has checked.
const bookkeepingEvery = 20_000

// bookkeeping forgets operations that have ended.
func (w *rxdWorld) bookkeeping() {
	if w.sends%bookkeepingEvery != 0 {
		return
	}
	for _, n := range w.nodes {
		w.prune(&n.app)
	}
	all := w.l.ops
	for i := max(w.forgotten, 1); i < len(all)-bookkeepingEvery; i++ {
		o := all[i]
		if o == nil || !o.completed || o.kind == opSend && !o.delivered && !o.cancelled || o.kind == opWrite &&
			!o.delivered || o.kind == opPeek {
			continue
		}
		all[i] = nil
	}
	for w.forgotten < len(all)-bookkeepingEvery && (w.forgotten == 0 || all[w.forgotten] == nil) {
		w.forgotten++
	}
	w.l.checkOrder()
	m := w.l.matches
	w.l.matches = append(m[:0], m[len(m)-len(m)/8:]...)
	clear(m[len(w.l.matches):])
}
