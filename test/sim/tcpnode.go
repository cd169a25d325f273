package sim

import (
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// node is an RDM-like endpoint: one receive context, and a connection to each other node.
type node struct {
	app
	w        *World
	cfg      engine.Config
	pool     engine.Pool
	readable []byte         // region 1: every peer may read it
	writable map[int][]byte // region 100+peer
	cells    []byte         // region 2: a number for each peer
	sides    []*side        // by peer, the latest
	dirty    []*side
	scratch  []byte
}

const regionSize = 64 << 10

func newNode(w *World, id int) *node {
	n := &node{w: w, sides: make([]*side, w.f.nodes), scratch: make([]byte, 64<<10), writable: map[int][]byte{}}
	n.cfg = w.config()
	n.app = w.newApp(id, &n.pool, discard(n.completed))
	n.flush = n.after
	n.readable = w.l.table[id*4096 : id*4096+regionSize]
	n.cells = make([]byte, 8*w.f.nodes)
	for p := range w.f.nodes {
		n.writable[p] = make([]byte, regionSize)
	}
	return n
}

// Verify implements engine.Memory.
func (n *node) Verify(key, addr, length uint64, write bool) ([]byte, engine.Region, engine.Refusal) {
	var mem []byte
	if key == 1 && !write {
		mem = n.readable
	} else if key == 2 {
		mem = n.cells
	} else if key >= 100 && write {
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

// act does a random operation.
func (n *node) act() {
	w := n.w
	p := w.s.IntN(w.f.nodes)
	if p == n.id {
		return
	}
	s, k := n.sides[p], w.s.IntN(100)
	switch {
	case k < 97:
		w.act(&n.app, s, k)
	case k < 98 && w.f.resets && w.s.Chance(5):
		w.s.Trace(n.id, "reset", uint64(p), 0)
		reset(w.s, s.out, s.in)
	case k == 98 && w.f.closes && w.s.Chance(5):
		w.s.Trace(n.id, "close", uint64(p), 0)
		s.drop()
	}
}

// completed records a completion in the ledger.
func (n *node) completed(c *engine.Completion) {
	d := describe(c)
	n.w.l.completed(n.id, &d)
}

// after transmits what the engine has queued. It is called after each change.
func (n *node) after() {
	for len(n.dirty) > 0 {
		s := n.dirty[len(n.dirty)-1]
		n.dirty = n.dirty[:len(n.dirty)-1]
		s.flushSoon()
	}
}

// stalled reports whether a connection accepts no bytes for now.
func (n *node) stalled() bool {
	for _, s := range n.sides {
		if s != nil && s.conn.Stalled() {
			return true
		}
	}
	return false
}
