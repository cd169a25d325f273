package sim

import (
	"encoding/binary"

	"gofabric/provider/tcp/engine"
	"gofabric/provider/tcp/wire"
)

// size is the length of a message.
func (w *World) size() int {
	switch w.s.IntN(8) {
	case 0:
		return w.s.IntN(w.maxSize + 1)
	case 1:
		return w.s.IntN(min(w.maxSize, 3000) + 1)
	}
	return w.s.IntN(min(w.maxSize, 100) + 1)
}

// act does something random at n.
func (w *World) act(n *node) {
	p := w.s.IntN(w.f.nodes)
	if p == n.id {
		return
	}
	s, f := n.sides[p], &w.f
	switch k := w.s.IntN(100); {
	case k < 35:
		w.send(n, s)
	case k < 72:
		if f.late && n.rx.Unexpected() == 0 && w.s.Chance(90) {
			return
		}
		w.recv(n, p)
	case k < 80 && f.reads && (!f.fewReplies || n.id == 0):
		w.read(n, s)
	case k < 88 && f.writes:
		w.write(n, s)
	case k < 92 && f.cancels:
		w.cancel(n)
	case k < 97 && f.peeks:
		w.peek(n, p)
	case k < 98 && f.resets && w.s.Chance(5):
		w.s.Trace(n.id, "reset", uint64(p), 0)
		reset(w.s, s.out, s.in)
	case k < 99 && f.closes && w.s.Chance(5):
		w.s.Trace(n.id, "close", uint64(p), 0)
		s.drop()
	}
}

// submit posts o on s.
func (w *World) submit(s *side, o *op, e *engine.Send) bool {
	o.side, o.node, o.peer = s, s.node.id, s.peer.id
	w.l.add(o)
	e.Ctx = o.id
	if o.data {
		e.HasData, e.Data = true, o.id
	}
	e.Ack, e.Inject = o.ack, o.inject
	if o.kind == opSend && o.tagged {
		o.tag |= o.id << 8
		e.Tagged, e.Tag = true, o.tag
	}
	if o.kind == opRead {
		o.buf = make([]byte, o.n)
	} else {
		o.buf = w.payload(o)
	}
	w.cut(e.IOV[:], &e.NIOV, o.buf, o.kind == opSend && !o.inject && !w.f.scribble && o.n > 8)
	if o.inject {
		o.completed = true
		w.l.injects++
	} else {
		s.open++
	}
	if err := s.conn.Submit(e); err != nil {
		if o.inject {
			w.l.injects--
		} else {
			s.open--
		}
		w.l.undo(o)
		w.again++
		return false
	}
	w.s.Trace(s.node.id, "submit", o.id<<8|uint64(o.kind), uint64(o.n))
	w.posted++
	if o.kind == opSend {
		s.peer.incoming = append(s.peer.incoming, o)
	}
	if o.inject {
		clear(o.buf)
	}
	s.flushSoon()
	s.node.after()
	return true
}

// payload is what o sends: a copy that may be overwritten, or the id only, which the body follows.
func (w *World) payload(o *op) []byte {
	if w.f.scribble || o.inject || o.n <= 8 || o.kind == opWrite {
		return w.l.content(o.id, o.n)
	}
	return binary.LittleEndian.AppendUint64(nil, o.id)
}

// cut makes an iov of b at random. With table, b is the id and the content follows from the table.
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

func (w *World) send(n *node, s *side) {
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

// segments picks remote memory of mem for n bytes.
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
	if w.f.badKeys && w.s.Chance(1) {
		e.RMA[w.s.IntN(e.NRMA)].Key = 99
		o.doomed = true
	}
}

func (w *World) read(n *node, s *side) {
	o := &op{kind: opRead, n: min(w.size(), 19000)}
	e := &engine.Send{Kind: engine.KindRead}
	w.segments(o, e, s.peer.readable, 1)
	w.submit(s, o, e)
}

func (w *World) write(n *node, s *side) {
	o := &op{kind: opWrite, n: min(w.size(), 19000), ack: w.f.acks && w.s.Chance(50), data: w.s.Chance(30)}
	e := &engine.Send{Kind: engine.KindWrite}
	w.segments(o, e, s.peer.writable[n.id], 100+uint64(n.id))
	s.writes = append(s.writes, o)
	if !w.submit(s, o, e) {
		s.writes = s.writes[:len(s.writes)-1]
	}
}

// filter fills in what a receive or peek accepts.
func (w *World) filter(o *op, n *node, peer int) {
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

func (w *World) recv(n *node, peer int) {
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

func (w *World) post(n *node, o *op, room int) {
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
	n.after()
}

// prune forgets what is complete.
func (w *World) prune(n *node) {
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

// cancel tries to withdraw one of the latest operations.
func (w *World) cancel(n *node) {
	o := w.l.ops[len(w.l.ops)-1-w.s.IntN(min(len(w.l.ops), 40))]
	if o == nil || o.node != n.id || o.kind == opPeek || o.completed && !o.inject || o.cancelled {
		return
	}
	o.cancelWanted = true
	done := false
	if o.kind == opRecv {
		done = n.rx.Cancel(o.id)
	} else {
		done = o.side.(*side).conn.Cancel(o.id)
	}
	w.s.Trace(n.id, "cancel", o.id, 0)
	if done != o.cancelled {
		w.l.violate("cancel of %d says %v, but cancelled is %v", o.id, done, o.cancelled)
	}
}

// peek looks, claims or discards; and now and then takes up a claim.
func (w *World) peek(n *node, peer int) {
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
	n.after()
}

// unclaim receives or drops a claimed message.
func (w *World) unclaim(n *node) {
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
	n.after()
}
