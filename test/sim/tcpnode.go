package sim

import "gofabric/provider/tcp/engine"

// node is an RDM-like endpoint: one receive context, and a connection to each other node.
type node struct {
	w        *World
	id       int
	cfg      engine.Config
	pool     engine.Pool
	rx       *engine.RxContext
	readable []byte         // region 1: everybody may read it
	writable map[int][]byte // region 100+peer
	sides    []*side        // by peer, the newest
	dirty    []*side
	scratch  []byte

	posted   []*op // receives
	incoming []*op // messages sent here
	claims   []*op
}

const regionSize = 64 << 10

func newNode(w *World, id int) *node {
	n := &node{w: w, id: id, sides: make([]*side, w.f.nodes), scratch: make([]byte, 64<<10), writable: map[int][]byte{}}
	n.cfg = w.config()
	n.rx = engine.NewRxContext(&n.pool, (*nobody)(n))
	n.rx.MinMulti = w.s.IntN(200)
	if w.f.budgets {
		n.rx.PeerLimit = uint64(1 + w.s.IntN(20000))
		n.rx.Limit = n.rx.PeerLimit * 3 / 2
		n.rx.PeerMessages = w.s.IntN(10)
	}
	n.readable = w.l.table[id*4096 : id*4096+regionSize]
	for p := range w.f.nodes {
		n.writable[p] = make([]byte, regionSize)
	}
	return n
}

// Verify implements engine.Memory.
func (n *node) Verify(key, addr, length uint64, write bool) ([]byte, engine.Region, bool) {
	var mem []byte
	if key == 1 && !write {
		mem = n.readable
	} else if key >= 100 && write {
		mem = n.writable[int(key-100)]
	}
	if addr > uint64(len(mem)) || length > uint64(len(mem))-addr {
		return nil, nil, false
	}
	return mem[addr : addr+length : addr+length], nil, mem != nil
}

// completed tells the ledger.
func (n *node) completed(c *engine.Completion) {
	d := done{
		kind:   [...]opKind{engine.KindSend: opSend, engine.KindRecv: opRecv, engine.KindRead: opRead, engine.KindWrite: opWrite}[c.Kind],
		inject: c.Inject, hasData: c.HasData, release: c.Release, ctx: c.Ctx, n: c.Len, over: c.OLen, data: c.Data, tag: c.Tag, src: c.Src, buf: c.Buf, err: c.Err,
	}
	switch c.Err {
	case nil:
	case engine.ErrTruncated:
		d.how = truncated
	case engine.ErrCanceled:
		d.how = canceled
	case engine.ErrNoMessage:
		d.how = noMessage
	default:
		d.how = failed
	}
	n.w.l.completed(n.id, &d)
}

// nobody is the sink of completions that concern no connection.
type nobody node

func (n *nobody) Completed(c *engine.Completion)     { (*node)(n).completed(c) }
func (n *nobody) Sent(*engine.Send)                  { panic("no connection") }
func (n *nobody) Received(*engine.RxOp)              { panic("no connection") }
func (n *nobody) Requested(*engine.Conn, []byte)     { panic("no connection") }
func (n *nobody) Connected(*engine.Conn, []byte)     { panic("no connection") }
func (n *nobody) Failed(*engine.Conn, error, []byte) { panic("no connection") }
func (n *nobody) Replied(*engine.Conn)               { panic("no connection") }
func (n *nobody) Resumed(*engine.Conn)               { panic("no connection") }

// after transmits what the engine has queued since; call it after each change.
func (n *node) after() {
	for len(n.dirty) > 0 {
		s := n.dirty[len(n.dirty)-1]
		n.dirty = n.dirty[:len(n.dirty)-1]
		s.flushSoon()
	}
}

// stalled reports whether a connection takes no bytes for now.
func (n *node) stalled() bool {
	for _, s := range n.sides {
		if s != nil && s.conn.Stalled() {
			return true
		}
	}
	return false
}
