package sim

import (
	"fmt"

	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
	"gofabric/test/sim/network"
)

// World is one run.
type World struct {
	s        *network.Sched
	f        features
	l        *ledger
	nodes    []*node
	sides    []*side
	maxSize  int
	working  bool
	posted   int
	again    int // posts that failed with ErrAgain
	refusals int // refused accesses
	errs     []string
}

// Result is the result of a run.
type Result struct {
	Seed, Hash uint64
	Ops        int // accepted operations
	Failures   int // peers given up
	Refused    int // refused accesses
	Features   string
	Violations []string
}

// maxViolations is the number of violations that ends a run.
const maxViolations = 5

func (w *World) violate(text string) {
	if len(w.errs) < maxViolations {
		w.errs = append(w.errs, fmt.Sprintf("at %d: %s", w.s.Now, text))
	}
}

// mayFail reports whether connections can end before the teardown.
func (f *features) mayFail() bool {
	return f.resets || f.closes || f.refusals || f.badKeys && !f.verdicts
}

func (w *World) config() engine.Config {
	c := engine.Config{
		StageMax: w.s.IntN(4096), StageLimit: 1000 + w.s.IntN(100_000),
		TxDepth: 1 + w.s.IntN(256), RendezvousOver: 1 << 62,
		HandshakeNanos: 3_000_000, InternalMax: 256,
	}
	if w.f.atomics || w.f.verdicts {
		c.Features = wire.FeatureExtended
	}
	if w.f.verdicts {
		c.Features |= wire.FeatureVerdicts
	}
	if w.f.fewReplies {
		c.InternalMax = w.s.IntN(5)
	}
	if w.f.rendezvous {
		c.RendezvousOver = uint64(w.s.IntN(3000))
	}
	return c
}

// Run runs one seed. If log is not nil, it gets the trace.
func Run(seed uint64, log func(string)) Result {
	w := &World{s: network.NewSched(seed)}
	w.s.Log = log
	w.f = randomFeatures(w.s)
	w.maxSize = [4]int{64, 1000, 6000, 30000}[w.s.IntN(4)]
	if w.f.large {
		w.maxSize = 200_000
		w.f.ops /= 4
	}
	w.l = newLedger(w)
	r := Result{Seed: seed, Features: fmt.Sprintf("%+v", w.f)}
	for i := range w.f.nodes {
		w.nodes = append(w.nodes, newNode(w, i))
	}
	w.work()
	w.drain()
	w.teardown()
	r.Hash, r.Ops, r.Refused, r.Violations = w.s.Hash, w.posted, w.refusals, w.errs
	return r
}

// work connects all nodes and posts until enough is posted.
func (w *World) work() {
	w.working = true
	for i, a := range w.nodes {
		for _, b := range w.nodes[:i] {
			w.connect(a, b)
		}
	}
	steps := 0
	for _, n := range w.nodes {
		var step func()
		step = func() {
			for range 1 + w.s.IntN(8) {
				n.act()
			}
			if steps++; w.posted < w.f.ops && steps < 4*w.f.ops {
				w.s.After(w.s.Int64N(20_000), step)
			}
		}
		w.s.After(0, step)
	}
	w.untilQuiet()
	w.working = false
	if len(w.errs) == 0 {
		w.l.checkPairs()
	}
}

// untilQuiet runs events until there are no more.
func (w *World) untilQuiet() {
	limit := 2000 * (w.f.ops + 1000)
	for n := 0; len(w.errs) < maxViolations && w.s.Step(); n++ {
		if n > limit {
			w.violate("the events do not end")
			return
		}
		for _, x := range w.nodes {
			for _, s := range x.sides {
				if s == nil {
					continue
				}
				if open := s.conn.State() < engine.Connected; open != (s.conn.Deadline() != 0) {
					w.violate(fmt.Sprintf("%v connection of %d has deadline %d",
						s.conn.State(), x.id, s.conn.Deadline()))
				}
			}
		}
	}
}

// undelivered counts messages that n has still to receive, by kind.
func (w *World) undelivered(n *node) (untagged, tagged int) {
	w.prune(&n.app)
	for _, m := range n.incoming {
		if m.taken || !m.side.up() {
			continue
		}
		if m.tagged {
			tagged++
		} else {
			untagged++
		}
	}
	return untagged, tagged
}

// drain posts receives for all messages that wait, until all have arrived.
func (w *World) drain() {
	for last := -1; len(w.errs) == 0; {
		w.untilQuiet()
		done := w.l.completions
		left := 0
		for _, n := range w.nodes {
			for len(n.claims) > 0 {
				w.unclaim(&n.app)
			}
			u, t := w.undelivered(n)
			left += u + t + n.rx.Unexpected()
			for range u + n.rx.Unexpected() {
				w.post(&n.app, &op{kind: opRecv, node: n.id, src: anyNode}, w.maxSize)
			}
			for range t + n.rx.Unexpected() {
				w.post(&n.app, &op{kind: opRecv, node: n.id, src: anyNode, tagged: true, ignore: ^uint64(0)}, w.maxSize)
			}
		}
		if left == 0 {
			break
		}
		if done == last && done == w.l.completions {
			w.violate(fmt.Sprintf("%d messages do not arrive although receives wait for them", left))
		}
		last = w.l.completions
	}
	w.untilQuiet()
	for _, n := range w.nodes {
		if n.stalled() && len(w.errs) == 0 {
			w.violate(fmt.Sprintf("node %d is stalled, although it has nothing pending", n.id))
		}
		for _, o := range n.posted {
			o.cancelWanted = true
		}
		n.rx.Flush(engine.ErrCanceled)
	}
	if len(w.errs) == 0 {
		w.l.checkEnd()
	}
}

// teardown closes everything and counts what was not released.
func (w *World) teardown() {
	for _, s := range w.sides {
		s.conn.Drop(engine.ErrClosed)
	}
	for _, n := range w.nodes {
		n.rx.Release()
		p := &n.pool
		if p.OutChunks != 0 || p.OutTx != 0 || p.OutRx != 0 || p.OutUnexp != 0 || n.rx.UnexpectedBytes() != 0 {
			w.violate(fmt.Sprintf("node %d lost %d chunks, %d sends, %d receives, %d messages, %d bytes", n.id,
				p.OutChunks, p.OutTx, p.OutRx, p.OutUnexp, n.rx.UnexpectedBytes()))
		}
	}
}
