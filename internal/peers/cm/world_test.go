package cm

import (
	"fmt"

	"gofabric/internal/mono"
	"gofabric/test/sim/network"
)

const (
	ms        = int64(1e6)
	second    = int64(1e9)
	handshake = 15 * second
	keepalive = 60 * second // an end detects after this time that frames are lost

	stragglerMax = 2 * second // largest additional delay of a request
)

// features are the options of a run.
type features struct {
	nodes    int
	ops      int
	delayMax int64
	stragglers, acks, aux, self, native,
	idle, bound, disconnects, faults bool
}

// world is one run.
type world struct {
	s      *network.Sched
	f      features
	cfg    Config
	passes int64 // longest time until an end reads its frames
	nodes  []*node
	ends   []*end // of the dialing side
	ops    []*op
	lives  uint32
	faulty [][]int64 // until then, operations between two nodes may fail
	parted [][]int64 // until then, all frames between two nodes are lost
	denied []int64   // until then, operations from and to a node may fail
	quiet  bool
	errs   []string
}

func (w *world) violate(format string, args ...any) {
	if len(w.errs) < 20 {
		w.errs = append(w.errs, fmt.Sprintf("%d ms: ", w.s.Now/ms)+fmt.Sprintf(format, args...))
	}
}

// delay draws the delay of a frame.
func (w *world) delay() int64 { return 1 + w.s.Int64N(w.f.delayMax) }

// straggle draws the additional delay of some requests. It is less than Crossing.
func (w *world) straggle() int64 {
	if w.f.stragglers && !w.quiet && w.s.Chance(20) {
		return w.s.Int64N(stragglerMax)
	}
	return 0
}

func (w *world) partitioned(a, b int) bool { return w.s.Now < w.parted[a][b] }

// random draws the options of a run.
func random(s *network.Sched) features {
	f := features{
		nodes: 2 + s.IntN(15), ops: 50 + s.IntN(250), delayMax: []int64{ms / 10, 3 * ms, 40 * ms, 200 * ms}[s.IntN(4)],
		stragglers: s.Chance(40), acks: s.Chance(50), aux: s.Chance(40), self: s.Chance(30), native: s.Chance(25),
		idle: s.Chance(40), bound: s.Chance(30), disconnects: s.Chance(30), faults: s.Chance(50),
	}
	if s.Chance(40) {
		f.nodes = 2
	}
	if f.native && (f.idle || f.bound) {
		// An operation that crosses the end of our stream gets no answer. The native protocol cannot prevent that.
		f.acks = false
	}
	return f
}

func newWorld(seed uint64, log func(string)) *world {
	w := &world{s: network.NewSched(seed)}
	w.s.Log = log
	w.f = random(w.s)
	w.denied = make([]int64, w.f.nodes)
	w.passes = []int64{1, w.f.delayMax / 2, 4 * w.f.delayMax}[w.s.IntN(3)]
	w.cfg = Config{Patience: 15e9}
	if w.f.aux {
		w.cfg.Aux = 1 + w.s.IntN(2)
	}
	if w.f.idle {
		w.cfg.IdleTime = mono.Time(20*ms + w.s.Int64N(second))
	}
	if w.f.bound {
		w.cfg.MaxConns = 1 + w.s.IntN(4)
	}
	for i := range w.f.nodes {
		w.faulty = append(w.faulty, make([]int64, w.f.nodes))
		w.parted = append(w.parted, make([]int64, w.f.nodes))
		w.nodes = append(w.nodes, w.born(i))
	}
	return w
}

func (w *world) born(at int) *node {
	w.lives++
	n := &node{w: w, at: at, life: w.lives, alive: true, aux: map[int][]*link{}, last: map[int]uint64{}}
	n.words = !w.f.native || at%2 == 0
	n.m = New(w.cfg, n)
	n.m.SetLocal(addrOf(at))
	return n
}

// work posts operations and injects faults at random times.
func (w *world) work() {
	span := int64(w.f.ops) * []int64{ms / 10, 5 * ms, 100 * ms}[w.s.IntN(3)]
	for range w.f.ops {
		w.s.After(w.s.Int64N(span), func() { w.post(w.s.IntN(w.f.nodes), w.s.IntN(w.f.nodes)) })
	}
	if w.s.Chance(50) { // both ends at once
		for range w.f.ops / 4 {
			at, a, b := w.s.Int64N(span), w.s.IntN(w.f.nodes), w.s.IntN(w.f.nodes)
			w.s.After(at, func() { w.post(a, b) })
			w.s.After(at+w.s.Int64N(w.f.delayMax), func() { w.post(b, a) })
		}
	}
	if w.f.disconnects {
		for range w.f.ops / 10 {
			w.s.After(w.s.Int64N(span), func() {
				if n, to := w.nodes[w.s.IntN(w.f.nodes)], w.s.IntN(w.f.nodes); n.alive && n.at != to {
					n.disconnect(to)
					w.post(n.at, to)
				}
			})
		}
	}
	if w.f.faults {
		for range 1 + w.s.IntN(12) {
			w.s.After(w.s.Int64N(span+second), func() { w.fault() })
		}
	}
	if w.cfg.IdleTime > 0 {
		for range 1 + w.s.IntN(6) {
			w.reuseWhileLeft(w.s.IntN(w.f.nodes), w.s.IntN(w.f.nodes), 40)
		}
	}
	w.runFor(span + 100*second)
	w.quiet = true
	w.s.After(1, w.roundTrip)
	w.runFor(60 * second)
}

// reuseWhileLeft makes two nodes communicate again at about the time when their connection is left.
func (w *world) reuseWhileLeft(a, b, times int) {
	if times == 0 {
		return
	}
	idle := int64(w.cfg.IdleTime)
	if w.s.Chance(20) {
		idle += 3 * second
	}
	w.s.After(idle*9/10+w.s.Int64N(idle/2+w.f.delayMax), func() {
		w.post(a, b)
		if w.s.Chance(30) {
			w.post(b, a)
		}
		if w.s.Chance(50) {
			a, b = b, a
		}
		w.reuseWhileLeft(a, b, times-1)
	})
}

// roundTrip makes all pairs communicate once more.
func (w *world) roundTrip() {
	for a := range w.nodes {
		for b := range w.nodes {
			if a != b {
				w.post(a, b)
			}
		}
	}
}

func (w *world) runFor(d int64) {
	done := false
	w.s.After(d, func() { done = true })
	for !done && w.s.Step() {
	}
}

func (w *world) post(from, to int) {
	a, b := w.nodes[from], w.nodes[to]
	if !a.alive || !b.alive || from == to && !w.f.self {
		return
	}
	o := &op{num: uint64(len(w.ops) + 1), from: a, to: b, posted: w.s.Now, acked: w.f.acks && w.s.Chance(40)}
	o.aux = w.cfg.Aux > 0 && w.s.Chance(50)
	w.ops = append(w.ops, o)
	w.s.Trace(from, "post", o.num, uint64(to))
	a.post(o)
}

func (w *world) delivered(n *node, o *op) {
	w.s.Trace(n.at, "delivered", o.num, uint64(o.from.at))
	switch {
	case o.delivered:
		w.violate("operation %d is delivered twice", o.num)
	case n != o.to:
		w.excuse(o, "delivered to another life")
	case !o.aux && n.last[int(o.from.life)] > o.num && !w.f.native:
		w.excuse(o, "overtaken")
	}
	o.delivered = true
	if !o.aux {
		n.last[int(o.from.life)] = o.num
	}
}

// excuse is called when o has failed or is out of order. Only a fault is a valid reason.
func (w *world) excuse(o *op, what string) {
	if a, b := o.from.at, o.to.at; o.from.alive && o.posted > max(w.faulty[a][b], w.denied[a], w.denied[b]) {
		w.violate("operation %d from %d to %d %s", o.num, o.from.at, o.to.at, what)
	}
}

// spoil allows operations from a to b to fail if they are posted within d.
func (w *world) spoil(a, b int, d int64) { w.faulty[a][b] = max(w.faulty[a][b], w.s.Now+d) }

// An end that does not detect a fault may lose operations until its keep-alive. One that does is refused for
// Crossing at most.
const (
	unnoticed = keepalive + handshake
	noticed   = 6 * second
)

// fault injects one fault.
func (w *world) fault() {
	switch at := w.s.IntN(w.f.nodes); w.s.IntN(5) {
	case 0:
		w.crash(at, w.s.Chance(50), w.s.Chance(70))
	case 1: // a connection is reset
		if e := w.anyEnd(); e != nil {
			w.spoil(e.n.at, e.peer.n.at, noticed)
			w.spoil(e.peer.n.at, e.n.at, noticed)
			w.s.Trace(e.n.at, "reset", uint64(e.peer.n.at), 0)
			for _, x := range []*end{e, e.peer} {
				x.injected = true
				w.s.After(w.s.Int64N(2*second), x.reset)
			}
		}
	case 2: // frames of one connection are lost; an end that sends detects it soon, the other one late
		if e := w.anyEnd(); e != nil {
			w.spoil(e.n.at, e.peer.n.at, noticed)
			w.spoil(e.peer.n.at, e.n.at, unnoticed)
			w.s.Trace(e.n.at, "silence", uint64(e.peer.n.at), 0)
			w.silence(e, second)
			w.silence(e.peer, keepalive)
		}
	case 3: // a partition: existing connections lose their frames, and none can be opened for a while
		other := w.s.IntN(w.f.nodes)
		d := w.s.Int64N(5 * second)
		w.spoil(at, other, d+unnoticed)
		w.spoil(other, at, d+unnoticed)
		w.parted[at][other], w.parted[other][at] = w.s.Now+d, w.s.Now+d
		for _, e := range w.ends {
			if e.n == w.nodes[at] && e.peer.n == w.nodes[other] || e.n == w.nodes[other] && e.peer.n == w.nodes[at] {
				w.silence(e, keepalive)
				w.silence(e.peer, keepalive)
			}
		}
	case 4: // a node refuses all requests, as with another authorization key
		d := w.s.Int64N(40 * second)
		n := w.nodes[at]
		w.s.Trace(at, "denies", uint64(d/ms), 0)
		n.denies = max(n.denies, w.s.Now+d)
		// The next attempt may be the last one, with a late request that has crossed another one.
		w.denied[at] = max(w.denied[at], w.s.Now+d+stragglerMax+8*w.f.delayMax+4*w.passes)
	}
}

func (w *world) anyEnd() *end {
	if len(w.ends) == 0 {
		return nil
	}
	return w.ends[w.s.IntN(len(w.ends))]
}

// silence makes all frames to and from e get lost. e detects it within d.
func (w *world) silence(e *end, d int64) {
	if e.silent {
		return
	}
	e.silent, e.injected = true, true
	w.s.After(w.s.Int64N(d), func() {
		if l := e.l; l != nil && !e.closed && l.n.alive {
			l.failed("silence", false)
		}
	})
}

// crash ends a node, alone or with its host. It may start a new incarnation.
func (w *world) crash(at int, host, restart bool) {
	n := w.nodes[at]
	if !n.alive {
		return
	}
	w.s.Trace(at, "crash", uint64(n.life), 0)
	n.alive = false
	for b := range w.nodes {
		w.spoil(b, at, unnoticed)
		w.faulty[at][b] = 0
	}
	for _, e := range w.ends {
		for _, x := range []*end{e, e.peer} {
			if x.n != n {
				continue
			}
			x.injected = true
			if host {
				w.silence(x, keepalive)
				w.silence(x.peer, keepalive)
			}
			x.l = nil
			x.close()
		}
	}
	if restart {
		w.s.After(w.s.Int64N(3*second), func() {
			w.nodes[at] = w.born(at)
			for b := range w.nodes {
				// A request of the old incarnation may still be on its way. It replaces a connection of the new one,
				// because incarnations have no order.
				w.spoil(at, b, stragglerMax+4*w.f.delayMax+w.passes)
			}
		})
	}
}

// checkDeadlines checks that each state that waits has a deadline.
func (w *world) checkDeadlines(n *node) {
	for c := range n.m.Conns {
		switch c.state {
		case Waiting:
			if l := c.peer.leaving; !c.timer.In() && (l == nil || !l.timer.In()) {
				w.violate("node %d waits for ever for %v", n.at, c.Addr())
			}
		case Leaving, Draining:
			if !c.timer.In() {
				w.violate("node %d leaves %v for ever", n.at, c.Addr())
			}
		case Deciding:
			w.violate("node %d has not decided on a request of %v", n.at, c.Addr())
		}
	}
}
