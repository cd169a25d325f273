package sim

import (
	"fmt"

	"gofabric/internal/atomics"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
	"gofabric/test/sim/network"
)

// rxdWorld is one run of rxd engines over datagrams. It shares World with the runs of tcp: schedule, workload, ledger.
type rxdWorld struct {
	*World
	x      rxdFeatures
	net    *network.Network
	nodes  []*rxdNode
	memory []*rxdMemory

	sends, arrived int // messages accepted, and delivered
	undelivered    int
	open           int   // operations of running nodes
	progress       int64 // when an operation completed, or a fault ended
	slowest        int64 // longest time of an operation, without receives, nanoseconds
	failures       int   // peers given up
	forgotten      int   // operations before this one are not kept
	checks         int
	adds           [][]uint64 // posted, to a node by another
	draining       bool
	restarted      []bool
}

// rxdStall is how long no operation may complete while some are open, in nanoseconds.
const rxdStall = 150e9

func newRxdWorld(seed uint64, log func(string),
	draw func(*network.Sched) (features, rxdFeatures, network.Link)) *rxdWorld {
	w := &rxdWorld{World: &World{s: network.NewSched(seed)}}
	w.s.Log, w.s.Now = log, 1e9
	w.net = network.New(w.s)
	w.net.Fragile = checked
	w.f, w.x, w.net.Link = draw(w.s)
	w.maxSize = [4]int{64, 1000, 6000, 30000}[w.s.IntN(4)]
	switch {
	case w.x.big:
		w.maxSize = 3000
	case w.f.large:
		w.maxSize = 200_000
	}
	w.l = newLedger(w.World)
	w.restarted = make([]bool, w.x.nodes)
	for i := range w.x.nodes {
		m := &rxdMemory{readable: w.l.table[i*4096 : i*4096+regionSize], writable: map[int][]byte{},
			cells: make([]byte, 16*w.x.nodes)}
		w.adds = append(w.adds, make([]uint64, w.x.nodes))
		for p := range w.x.nodes {
			m.writable[p] = make([]byte, regionSize)
		}
		w.memory = append(w.memory, m)
	}
	for i := range w.x.nodes {
		w.nodes = append(w.nodes, newRxdNode(w, i, 1))
	}
	return w
}

// RunRxd runs one seed of a small world.
func RunRxd(seed uint64, natives bool, log func(string)) Result {
	w := newRxdWorld(seed, log, func(s *network.Sched) (features, rxdFeatures, network.Link) { return randomRxd(s, natives) })
	return w.run(seed)
}

func (w *rxdWorld) run(seed uint64) Result {
	w.work()
	w.drain()
	if w.f.mayFail() {
		w.speakAgain()
	}
	w.endCheck()
	w.teardown()
	f := fmt.Sprintf("%+v\n%+v\n%+v", w.f, w.x, w.net.Link)
	return Result{Seed: seed, Features: f, Hash: w.s.Hash, Ops: w.posted, Failures: w.failures,
		Refused: w.refusals, Violations: w.errs}
}

// work lets all nodes post until enough is sent.
func (w *rxdWorld) work() {
	w.progress = w.s.Now
	for i := range w.nodes {
		var turn func()
		turn = func() {
			if w.sends >= w.x.messages || len(w.errs) > 0 {
				return
			}
			n, before := w.nodes[i], w.posted
			if n.paused <= w.s.Now {
				for range 1 + w.s.IntN(8) {
					w.turn(n)
				}
			}
			delay := w.s.Int64N(w.x.pace)
			if w.posted == before {
				delay += w.s.Int64N(5e6)
			}
			w.s.After(delay, turn)
		}
		w.s.After(0, turn)
	}
	if w.x.cuts || w.x.longCuts || w.x.restarts || w.x.pauses || w.x.sleeps {
		for range 1 + w.s.IntN(4) {
			w.s.After(w.s.Int64N(int64(w.x.messages)*w.x.pace/int64(4*w.x.nodes)+1e6), w.fault)
		}
	}
	w.until(func() bool { return w.sends >= w.x.messages })
}

// turn does something random at n.
func (w *rxdWorld) turn(n *rxdNode) {
	p := w.s.IntN(w.x.nodes)
	if p == n.id && w.s.Chance(90) || !n.known[p] {
		return
	}
	if n.rx.Unexpected() > 200 {
		w.feed(n)
		return
	}
	s := n.channel(p)
	before := len(w.l.ops)
	k := w.s.IntN(97)
	if n.asleep > w.s.Now || w.x.big && n.rx.Posted() > 300 {
		k = w.s.IntN(35)
	}
	switch {
	case w.x.big && w.s.IntN(1000) < 2:
		w.sendLarge(s)
	case w.f.atomics && w.s.Chance(4):
		w.add(s)
	default:
		w.act(&n.app, s, k)
	}
	n.transmit() // the request, for a first contact
	if last := len(w.l.ops) - 1; last >= before && w.l.ops[last].kind == opSend {
		w.sends++
		w.undelivered++
		if w.x.big {
			w.bookkeeping()
		}
	}
}

// largeTag is the tag of messages that are much longer than others, and of their receives.
const largeTag = 7

// sendLarge sends a message of many datagrams, after posting a receive for it.
func (w *rxdWorld) sendLarge(s *rxdSide) {
	o := &op{kind: opSend, n: 20_000 + w.s.IntN(180_000), tagged: true, tag: largeTag, ack: w.s.Chance(50)}
	w.post(s.to(), &op{kind: opRecv, node: s.peer, src: anyNode, tagged: true, tag: largeTag, ignore: ^uint64(0xff)},
		o.n)
	w.submit(s, o, &engine.Send{Kind: engine.KindSend})
}

// add adds one to a number at the peer that only this node changes.
func (w *rxdWorld) add(s *rxdSide) {
	o := &op{kind: opAdd, n: 8, ack: w.f.acks && w.s.Chance(50)}
	e := &engine.Send{Kind: engine.KindAtomic, NRMA: 1, Atomic: &engine.Atomic{Type: atomics.Uint64, Op: atomics.Sum}}
	e.RMA[0] = wire.RMAIov{Addr: uint64(8 * (w.x.nodes + s.node.id)), Len: 8, Key: 2}
	if w.submit(s, o, e) {
		w.adds[s.peer][s.node.id]++
	}
}

// until runs events until done returns true. Meanwhile operations must complete.
func (w *rxdWorld) until(done func() bool) {
	for i := 0; len(w.errs) == 0; i++ {
		// A prime: peers that only exchange keep-alives do so in rounds whose number of steps is a power of two.
		if i%31 == 0 && done() {
			return
		}
		if !w.s.Step() {
			if !done() {
				w.violate("no event is scheduled, although operations are pending\n" + w.state())
			}
			return
		}
		if w.s.Now-w.progress > rxdStall {
			w.violate("no operation completes any more\n" + w.state())
		}
	}
}

func (w *rxdWorld) state() string {
	s := fmt.Sprintf("%d operations open, %d messages of %d undelivered, %d injects; %d datagrams, %d lost, %d found a full queue\n",
		w.open, w.undelivered, w.sends, w.l.injects, w.net.Link.Sent, w.net.Link.Lost, w.net.Link.Full)
	for _, n := range w.nodes {
		s += n.state()
	}
	shown := 0
	for _, o := range w.l.ops {
		if o != nil && o.kind == opSend && !o.delivered && !o.cancelled && shown < 5 {
			s += fmt.Sprintf("message %d from %d to %d, tagged %v, %d bytes, posted at %d, succeeded %v, inject %v, taken %v\n", o.id, o.node, o.peer, o.tagged, o.n, o.at, o.succeeded, o.inject, o.taken)
			shown++
		}
	}
	return s
}

// drain posts receives for everything until nothing is pending.
func (w *rxdWorld) drain() {
	w.draining = true
	w.progress = w.s.Now
	for _, n := range w.nodes {
		w.feed(n)
	}
	w.until(w.settled)
}

// settled reports that nothing is pending.
func (w *rxdWorld) settled() bool {
	quiet := w.open == 0 && (w.undelivered == 0 || w.f.mayFail())
	for _, n := range w.nodes {
		if n.rx.Unexpected() > 0 || len(n.claims) > 0 {
			w.feed(n)
			quiet = false
		}
		quiet = quiet && len(n.inbox) == 0 && n.eng.Flushed(true)
	}
	return quiet
}

// feed posts receives for all messages that may arrive, so that nothing waits for the application. During work it does
// so only when many have accumulated.
func (w *rxdWorld) feed(n *rxdNode) {
	if n.dead || n.asleep > w.s.Now || !w.draining && n.rx.Unexpected() <= 200 {
		return
	}
	if w.draining {
		for len(n.claims) > 0 {
			w.unclaim(&n.app)
		}
	}
	w.prune(&n.app)
	var have [2]int
	for _, o := range n.posted {
		if o.src == anyNode && o.ignore == ^uint64(0) || !o.tagged && o.src == anyNode {
			have[index(o.tagged)]++
		}
	}
	for _, tagged := range []bool{false, true} {
		k := have[index(tagged)]
		for range max(16-k, n.rx.Unexpected()) { // the posted ones may all wait for a rendezvous
			o := &op{kind: opRecv, node: n.id, src: anyNode, tagged: tagged}
			if tagged {
				o.ignore = ^uint64(0)
			}
			w.post(&n.app, o, w.maxSize)
		}
	}
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// speakAgain sends a message between every two nodes after all faults are over. A few attempts may fail, because a
// node may learn only then that a peer has given it up.
func (w *rxdWorld) speakAgain() {
	for attempt := 0; len(w.errs) == 0; attempt++ {
		var list []*op
		for _, n := range w.nodes {
			for p := range w.nodes {
				if p == n.id {
					continue
				}
				n.known[p] = true
				o := &op{kind: opSend, n: 20, ack: true, data: w.f.data}
				if !w.submit(n.channel(p), o, &engine.Send{Kind: engine.KindSend}) {
					w.violate("a new message was refused")
				}
				n.transmit()
				w.undelivered++
				list = append(list, o)
			}
		}
		w.progress = w.s.Now
		w.until(w.settled)
		left := 0
		for _, o := range list {
			left += index(!o.delivered)
		}
		if left == 0 {
			return
		}
		if attempt == 4 && len(w.errs) == 0 {
			w.violate(fmt.Sprintf("%d pairs cannot exchange messages again\n%s", left, w.state()))
		}
	}
}
