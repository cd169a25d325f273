package sim

import (
	"fmt"

	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
	"gofabric/test/sim/network"
	"gofabric/test/sim/rma"
	rxm "gofabric/util/rxm/gateway"
)

// rxmWorld is one run of pairs of rxm gateways, each with a Conn of its own. It shares World with the runs of tcp:
// schedule, workload, ledger.
type rxmWorld struct {
	*World
	nodes []*rxmNode
	all   []*rxmSide
	cfg   rxm.Config
	room  int
	delay int64
	lazy  bool
}

// rxmNode is an endpoint: one receive context, and a connection to each other node.
type rxmNode struct {
	app
	w        *rxmWorld
	cfg      engine.Config
	pool     engine.Pool
	readable []byte         // region 1
	writable map[int][]byte // region 100+peer
	cells    []byte         // region 2: a number for each peer
	sides    []*rxmSide     // by peer, the latest
	dirty    []*rxmSide
}

// Verify implements engine.Memory.
func (n *rxmNode) Verify(key, addr, length uint64, write bool) ([]byte, engine.Region, engine.Refusal) {
	var mem []byte
	switch {
	case key == 1 && !write:
		mem = n.readable
	case key == 2:
		mem = n.cells
	case key >= 100 && key < 1000 && write:
		mem = n.writable[int(key-100)]
	}
	if mem == nil {
		return nil, nil, wire.RefusedKey
	}
	if addr > uint64(len(mem)) || length > uint64(len(mem))-addr {
		return nil, nil, wire.RefusedRange
	}
	return mem[addr : addr+length : addr+length], nil, 0
}

func (n *rxmNode) completed(c *engine.Completion) {
	d := describe(c)
	n.w.l.completed(n.id, &d)
}

// after lets gateways with pending output transmit.
func (n *rxmNode) after() {
	for len(n.dirty) > 0 {
		s := n.dirty[len(n.dirty)-1]
		n.dirty = n.dirty[:len(n.dirty)-1]
		s.Pump()
	}
}

// randomRxm draws the features of a run.
func randomRxm(s *network.Sched) features {
	f := randomFeatures(s)
	f.rendezvous, f.refusals, f.badKeys, f.lateNames, f.adopts, f.fewReplies, f.tinyReads, f.tinyRooms,
		f.verdicts = false, false, false, false, false, false, false, false, false
	f.ops /= 4
	if f.acks && f.mayFail() {
		f.budgets = false // a message is acknowledged when the connection below has all of it
	}
	return f
}

// RunRxm runs one seed.
func RunRxm(seed uint64, log func(string)) Result {
	w := &rxmWorld{World: &World{s: network.NewSched(seed)}}
	w.s.Log = log
	w.f = randomRxm(w.s)
	w.maxSize = [4]int{64, 1000, 6000, 30000}[w.s.IntN(4)]
	if w.f.large {
		w.maxSize = 200_000
		w.f.ops /= 4
	}
	w.l = newLedger(w.World)
	w.cfg = rxm.Config{BufferSize: 128 + w.s.IntN(5000), RndvWrite: w.s.Chance(40),
		FlowControl: w.s.Chance(40), RxSize: 1 + w.s.IntN(64)}
	w.cfg.SARLimit = max(4096, w.cfg.BufferSize*w.s.IntN(9))
	w.room, w.lazy = 1+w.s.IntN(60), w.s.Chance(50)
	if w.f.slow {
		w.delay = 1 + w.s.Int64N(200_000)
	}
	for i := range w.f.nodes {
		n := &rxmNode{w: w, sides: make([]*rxmSide, w.f.nodes), writable: map[int][]byte{},
			cells: make([]byte, 8*w.f.nodes)}
		n.cfg = w.config()
		n.cfg.AtomicMax = w.cfg.AtomicMax()
		n.app = w.newApp(i, &n.pool, discard(n.completed))
		n.flush = n.after
		n.readable = w.l.table[i*4096 : i*4096+regionSize]
		for p := range w.f.nodes {
			n.writable[p] = make([]byte, regionSize)
		}
		w.nodes = append(w.nodes, n)
	}
	w.work()
	w.drain()
	w.teardown()
	return Result{Seed: seed, Hash: w.s.Hash, Ops: w.posted, Violations: w.errs,
		Features: fmt.Sprintf("%+v\n%+v room %d delay %d lazy %v", w.f, w.cfg, w.room, w.delay, w.lazy)}
}

// connect makes a new connection between a and b. It drops an earlier one.
func (w *rxmWorld) connect(a, b *rxmNode) {
	x := &rxmSide{w: w, node: a, peer: b, active: true}
	y := &rxmSide{w: w, node: b, peer: a, other: x}
	x.other = y
	x.out = &rxmLink{w: w, from: x, to: y, room: w.room, delay: w.delay}
	y.out = &rxmLink{w: w, from: y, to: x, room: w.room, delay: w.delay}
	x.in, y.in = y.out, x.out
	x.End, y.End = rma.New(x), rma.New(y)
	x.End.Peer, y.End.Peer = y.End, x.End
	for _, s := range []*rxmSide{x, y} {
		s.Lazy, s.Full, s.Queued = w.lazy, s.out.full, s.out.queued
		n := s.node
		s.conn = engine.NewWaiting(&n.pool, &n.cfg, n.rx, n, s)
		s.conn.Src, s.conn.Extended = uint64(s.peer.id), true
		cfg := w.cfg
		cfg.RemoteConn = uint64(n.id)
		s.g = rxm.New(&cfg, s.conn, n, s)
		if old := n.sides[s.peer.id]; old != nil && !old.gone {
			old.drop()
		}
		n.sides[s.peer.id] = s
		w.all = append(w.all, s)
	}
	w.s.After(w.s.Int64N(1+w.delay), func() {
		for _, s := range []*rxmSide{y, x} {
			if s.conn.State() == engine.Opening && !s.Broken {
				_ = s.conn.Ready()
				s.Pump()
				s.node.after()
			}
		}
	})
}

// work connects all nodes and posts until enough is posted.
func (w *rxmWorld) work() {
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
				w.turn(n)
			}
			if steps++; w.posted < w.f.ops && steps < 4*w.f.ops {
				w.s.After(w.s.Int64N(20_000), step)
			}
		}
		w.s.After(0, step)
	}
	w.untilQuiet()
	w.working = false
}

// turn does something random at n.
func (w *rxmWorld) turn(n *rxmNode) {
	p := w.s.IntN(w.f.nodes)
	if p == n.id {
		return
	}
	s, k := n.sides[p], w.s.IntN(100)
	switch {
	case k < 97:
		w.act(&n.app, s, k)
	case k < 98 && w.f.resets && w.s.Chance(5):
		w.s.Trace(n.id, "cut", uint64(p), 0)
		s.cut()
	case k == 98 && w.f.closes && w.s.Chance(5):
		w.s.Trace(n.id, "close", uint64(p), 0)
		s.drop()
	}
}

// untilQuiet runs events until there are no more.
func (w *rxmWorld) untilQuiet() {
	limit := 4000 * (w.f.ops + 1000)
	for i := 0; len(w.errs) < maxViolations && w.s.Step(); i++ {
		if i > limit {
			w.violate("the events do not end")
			return
		}
	}
}

// waiting counts messages that n has still to receive, by kind.
func (w *rxmWorld) waiting(n *rxmNode) (untagged, tagged int) {
	w.prune(&n.app)
	for _, m := range n.incoming {
		switch {
		case m.taken || !m.side.up():
		case m.tagged:
			tagged++
		default:
			untagged++
		}
	}
	return untagged, tagged
}

// drain posts receives for all messages that wait, until all have arrived.
func (w *rxmWorld) drain() {
	for last := -1; len(w.errs) == 0; {
		w.untilQuiet()
		done, left := w.l.completions, 0
		for _, n := range w.nodes {
			for len(n.claims) > 0 {
				w.unclaim(&n.app)
			}
			u, t := w.waiting(n)
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
			w.violate(fmt.Sprintf("%d messages do not arrive although receives wait for them\n%s", left, w.state()))
		}
		last = w.l.completions
	}
	w.untilQuiet()
	for _, n := range w.nodes {
		for _, s := range n.sides {
			if s != nil && s.up() && len(w.errs) == 0 &&
				(s.conn.Stalled() || !s.g.Idle() || !s.conn.Idle() || s.Exposed() > 0 || s.Pending() > 0) {
				w.violate(fmt.Sprintf("node %d still has pending work for %d\n%s", n.id, s.peer.id, w.state()))
			}
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

// state describes the connections.
func (w *rxmWorld) state() (text string) {
	for _, n := range w.nodes {
		for _, s := range n.sides {
			if s != nil {
				text += fmt.Sprintf("%d to %d: %v, %d open, stalled %v, gateway idle %v, unsent %d, link %d frames, %d arrived, held %v, blocked %v, broken %v\n", n.id, s.peer.id, s.conn.State(),
					s.open, s.conn.Stalled(), s.g.Idle(), s.conn.Unsent(), len(s.Out), s.out.arrived,
					s.out.held, s.out.blocked, s.Broken)
			}
		}
	}
	return text
}

// teardown closes everything and counts what was not released.
func (w *rxmWorld) teardown() {
	for _, s := range w.all {
		s.g.Close()
		s.conn.Drop(engine.ErrClosed)
		if s.Exposed() != 0 {
			w.violate("memory is still exposed")
		}
	}
	for _, n := range w.nodes {
		n.rx.Release()
		p := &n.pool
		if s := fmt.Sprint(p.OutChunks, p.OutTx, p.OutRx, p.OutUnexp, p.OutAtomic,
			n.rx.UnexpectedBytes()); s != "0 0 0 0 0 0" {
			w.violate(fmt.Sprintf("node %d lost chunks, sends, receives, messages, atomics, bytes: %s", n.id, s))
		}
	}
}
