package sim

import (
	"encoding/binary"

	"gofabric/internal/atomics"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// size returns the length of a message.
func (w *World) size() int {
	switch w.s.IntN(8) {
	case 0:
		return w.s.IntN(w.maxSize + 1)
	case 1:
		return w.s.IntN(min(w.maxSize, 3000) + 1)
	}
	return w.s.IntN(min(w.maxSize, 100) + 1)
}

// act does a random operation at a, to or with the node at the other end of s. k, below 97, selects the operation.
func (w *World) act(a *app, s channel, k int) {
	f := &w.f
	if f.atomics && (!f.fewReplies || a.id == 0) && w.s.Chance(8) {
		w.fetch(s)
		return
	}
	p := s.to().id
	switch {
	case k < 35:
		w.send(s)
	case k < 72:
		if f.late && a.rx.Unexpected() == 0 && w.s.Chance(90) {
			return
		}
		w.recv(a, p)
	case k < 80 && f.reads && (!f.fewReplies || a.id == 0):
		w.read(s)
	case k < 88 && f.writes:
		w.write(s)
	case k < 92 && f.cancels:
		w.cancel(a)
	case k < 97 && f.peeks:
		w.peek(a, p)
	}
}

// submit posts o on s.
func (w *World) submit(s channel, o *op, e *engine.Send) bool {
	to := s.to()
	o.side, o.node, o.peer, o.at = s, s.from(), to.id, w.s.Now
	w.l.add(o)
	e.Ctx = o.id
	if o.data {
		e.HasData, e.Data = true, o.id
	}
	e.Ack, e.Inject = o.ack, o.inject
	e.Fence = w.f.fences && w.s.Chance(5)
	if o.kind == opSend && o.tagged {
		o.tag |= o.id << 8
		e.Tagged, e.Tag = true, o.tag
	}
	switch o.kind {
	case opRead:
		o.buf = make([]byte, o.n)
	case opFetch, opAdd:
		o.buf = binary.NativeEndian.AppendUint64(nil, 1)
	default:
		o.buf = w.payload(o)
	}
	w.cut(e.IOV[:], &e.NIOV, o.buf, o.kind == opSend && !o.inject && !w.f.scribble && o.n > 8)
	if o.inject {
		o.completed = true
		w.l.injects++
	} else {
		s.opNew()
	}
	if err := s.submit(e); err != nil {
		if o.inject {
			w.l.injects--
		} else {
			s.opDone()
		}
		w.l.undo(o)
		w.again++
		return false
	}
	w.s.Trace(o.node, "submit", o.id<<8|uint64(o.kind), uint64(o.n))
	w.posted++
	if o.kind == opSend {
		to.incoming = append(to.incoming, o)
	}
	if o.inject {
		clear(o.buf)
	}
	s.posted()
	return true
}

// payload returns what o sends: a copy that may be overwritten, or only the id, which the body follows.
func (w *World) payload(o *op) []byte {
	if w.f.scribble || o.inject || o.n <= 8 || o.kind == opWrite {
		return w.l.content(o.id, o.n)
	}
	return binary.LittleEndian.AppendUint64(nil, o.id)
}

// cut makes a random iov of b. With table, b is the id and the content follows from the table.
func (w *World) cut(iov [][]byte, n *int, b []byte, table bool) {
	*n = 0
	if table {
		o := w.l.ops[len(w.l.ops)-1]
		iov[0], iov[1], *n = b, w.l.body(o.id, o.n-8), 2
		return
	}
	for *n < 3 && w.s.Chance(30) {
		k := w.s.IntN(len(b) + 1)
		iov[*n], b = b[:k], b[k:]
		*n++
	}
	iov[*n] = b
	*n++
}

func (w *World) send(s channel) {
	f := &w.f
	o := &op{kind: opSend, n: w.size(), ack: f.acks && w.s.Chance(40), data: f.data, inject: f.inject && w.s.Chance(20)}
	o.tagged = f.tagged && (!f.untagged || w.s.Chance(50))
	if o.tagged {
		o.tag = uint64(w.s.IntN(5))
		o.data = o.data && w.s.Chance(50)
	} else if !o.data {
		o.n = max(o.n, 8)
	}
	if o.inject {
		o.n = min(o.n, 1000)
	}
	w.submit(s, o, &engine.Send{Kind: engine.KindSend, Silent: w.s.Chance(20)})
}

// segments selects n bytes of remote memory in mem.
func (w *World) segments(o *op, e *engine.Send, mem []byte, key uint64) {
	left := o.n
	for i := range 1 + w.s.IntN(3) {
		k := left
		if left > 0 && w.s.Chance(70) {
			k = w.s.IntN(left + 1)
		}
		// Each segment has its own part of the region, so that they do not overlap.
		addr := i*20000 + w.s.IntN(20000-k)
		e.RMA[e.NRMA] = wire.RMAIov{Addr: uint64(addr), Len: uint64(k), Key: key}
		o.segs = append(o.segs, mem[addr:addr+k])
		e.NRMA++
		left -= k
	}
	o.n -= left
	chance := 1
	if w.f.verdicts {
		chance = 5
	}
	if w.f.badKeys && w.s.Chance(chance) {
		e.RMA[w.s.IntN(e.NRMA)].Key = 99
		o.doomed = true
	}
}

func (w *World) read(s channel) {
	o := &op{kind: opRead, n: min(w.size(), 19000)}
	e := &engine.Send{Kind: engine.KindRead}
	w.segments(o, e, s.forReads(), 1)
	w.submit(s, o, e)
}

// fetch adds one to a cell at the peer that only this node changes.
func (w *World) fetch(s channel) {
	o := &op{kind: opFetch, n: 8, result: make([]byte, 8)}
	e := &engine.Send{Kind: engine.KindFetch, NRMA: 1, Atomic: &engine.Atomic{Type: atomics.Uint64, Op: atomics.Sum}}
	e.RMA[0] = wire.RMAIov{Addr: uint64(8 * s.from()), Len: 8, Key: 2}
	if w.f.badKeys && w.f.verdicts && w.s.Chance(5) {
		e.RMA[0].Key, o.doomed = 99, true
	}
	w.cut(e.Atomic.Result[:], &e.Atomic.NResult, o.result, false)
	w.submit(s, o, e)
}

func (w *World) write(s channel) {
	o := &op{kind: opWrite, n: min(w.size(), 19000), ack: w.f.acks && w.s.Chance(50), data: w.s.Chance(30)}
	e := &engine.Send{Kind: engine.KindWrite}
	w.segments(o, e, s.forWrites(), 100+uint64(s.from()))
	s.writing(o, 1)
	if !w.submit(s, o, e) {
		s.writing(o, -1)
	}
}

// filter sets what a receive or peek accepts.
func (w *World) filter(o *op, n *app, peer int) {
	f := &w.f
	o.node, o.src = n.id, anyNode
	if f.directed && w.s.Chance(50) {
		o.src = uint64(peer)
	}
	o.tagged = f.tagged && (!f.untagged || w.s.Chance(50))
	if o.tagged {
		o.tag = uint64(w.s.IntN(5))
		o.ignore = ^uint64(0xff)
		if w.s.Chance(30) {
			o.ignore |= [3]uint64{1, 3, 0xff}[w.s.IntN(3)]
		}
	}
}

func (w *World) recv(n *app, peer int) {
	if len(n.posted) > 200 && w.s.Chance(90) {
		w.prune(n)
		if len(n.posted) > 200 {
			return
		}
	}
	o := &op{kind: opRecv}
	w.filter(o, n, peer)
	room := w.maxSize
	if w.f.truncate && w.s.Chance(30) {
		room = w.s.IntN(200)
	}
	o.multi = w.f.multi && !o.tagged && w.s.Chance(30)
	w.post(n, o, room)
}

func (w *World) post(n *app, o *op, room int) {
	e := n.rx.NewOp()
	if e == nil {
		return
	}
	w.l.add(o)
	w.posted++
	o.buf = make([]byte, room+1)
	copy(o.buf[room:], guard)
	o.buf = o.buf[:room]
	e.Ctx, e.Silent, e.Multi = o.id, w.s.Chance(20), o.multi
	if o.multi {
		e.SetBuf(o.buf)
	} else {
		var iov [engine.MaxIOV][]byte
		k := 0
		w.cut(iov[:], &k, o.buf, false)
		_ = e.SetIOV(iov[:k])
	}
	n.posted = append(n.posted, o)
	w.s.Trace(n.id, "post", o.id, o.src)
	if o.tagged {
		n.rx.PostTagged(e, o.src, o.tag, o.ignore)
	} else {
		n.rx.PostMsg(e, o.src)
	}
	n.flush()
}

// prune forgets operations that have completed.
func (w *World) prune(n *app) {
	kept := n.posted[:0]
	for _, o := range n.posted {
		if !o.completed && !o.cancelled {
			kept = append(kept, o)
		}
	}
	n.posted = kept
	in := n.incoming[:0]
	for _, m := range n.incoming {
		if !m.delivered && !m.cancelled {
			in = append(in, m)
		}
	}
	n.incoming = in
}

// cancel tries to cancel one of the latest operations.
func (w *World) cancel(n *app) {
	o := w.l.ops[len(w.l.ops)-1-w.s.IntN(min(len(w.l.ops), 40))]
	if o == nil || o.node != n.id || o.kind == opPeek || o.completed && !o.inject || o.cancelled {
		return
	}
	o.cancelWanted = true
	done := false
	if o.kind == opRecv {
		done = n.rx.Cancel(o.id)
	} else {
		done = o.side.cancel(o.id)
	}
	w.s.Trace(n.id, "cancel", o.id, 0)
	if done != o.cancelled {
		w.l.violate("cancel of %d returned %v, but cancelled is %v", o.id, done, o.cancelled)
	}
}

// peek peeks, claims or discards, and at times uses a claim.
func (w *World) peek(n *app, peer int) {
	if len(n.claims) > 0 && w.s.Chance(40) {
		w.unclaim(n)
		return
	}
	o := &op{kind: opPeek}
	w.filter(o, n, peer)
	w.l.add(o)
	w.posted++
	switch w.s.IntN(3) {
	case 0:
		o.claim = true
	case 1:
		o.discard = true
	}
	w.s.Trace(n.id, "peek", o.id, o.src)
	if err := n.rx.Peek(o.tagged, o.src, o.tag, o.ignore, o.id, 0, o.claim, o.discard); err != nil {
		w.l.violate("peek %d: %v", o.id, err)
	}
	if o.found && o.claim {
		n.claims = append(n.claims, o)
	}
	n.flush()
}

// unclaim receives or discards a claimed message.
func (w *World) unclaim(n *app) {
	k := w.s.IntN(len(n.claims))
	o := n.claims[k]
	n.claims = append(n.claims[:k], n.claims[k+1:]...)
	o.completed, o.kind = false, opRecv
	w.posted++
	w.s.Trace(n.id, "claim", o.id, 0)
	if w.s.Chance(30) {
		o.discard = true
		if err := n.rx.Discard(o.id, 0); err != nil || !o.completed {
			w.l.violate("discard of %d: %v", o.id, err)
		}
	} else {
		e := n.rx.NewOp()
		e.Ctx = o.id
		o.buf = make([]byte, w.maxSize)
		e.SetBuf(o.buf)
		if err := n.rx.Claim(e); err != nil {
			w.l.violate("claim of %d: %v", o.id, err)
		}
	}
	n.flush()
}
