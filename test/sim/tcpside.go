package sim

import (
	"bytes"

	"gofabric/internal/xnet/engine"
)

// side is one end of a connection. It acts as the driver in package tcp.
type side struct {
	w          *World
	node, peer *node
	other      *side
	conn       *engine.Conn
	in, out    *pipe
	transport  bool  // the transport is connected
	open       int   // operations posted and not completed
	writes     []*op // posted here, in order, that have not arrived at the target
	soon       bool
	pausing    bool
	gone       bool
	active     bool
	gather     [][]byte
}

// connect makes a new connection from a to b. It drops an earlier one.
func (w *World) connect(a, b *node) {
	x := &side{w: w, node: a, peer: b, active: true}
	y := &side{w: w, node: b, peer: a, other: x}
	x.other = y
	room := 1000 + w.s.IntN(200000)
	if w.f.tinyRooms {
		room = 1 + w.s.IntN(3000)
	}
	delay := int64(0)
	if w.f.slow {
		delay = 1 + w.s.Int64N(200_000)
	}
	x.out = &pipe{s: w.s, room: room, delay: delay, from: x, to: y}
	y.out = &pipe{s: w.s, room: room, delay: delay, from: y, to: x}
	x.in, y.in = y.out, x.out
	x.conn = engine.NewActive(&a.pool, &a.cfg, a.rx, a, x, w.s.Now)
	y.conn = engine.NewPassive(&b.pool, &b.cfg, y, w.s.Now)
	y.conn.Attach(&b.pool, &b.cfg, b.rx, b, y)
	for _, s := range []*side{x, y} {
		s.gather = make([][]byte, 0, 1+w.s.IntN(16))
		s.conn.Rendezvous = w.f.rendezvous
		s.conn.Src = uint64(s.peer.id)
		if old := s.node.sides[s.peer.id]; old != nil && !old.ended() {
			old.drop()
		}
		s.node.sides[s.peer.id] = s
		w.sides = append(w.sides, s)
		w.s.After(s.conn.Deadline()-w.s.Now, func() { s.conn.Advance(w.s.Now); s.node.after() })
	}
	if w.f.lateNames {
		y.conn.Src = anyNode
		w.s.After(w.s.Int64N(1e7), func() { b.rx.SetSource(y.conn, uint64(a.id)); b.after() })
	}
	if w.f.refusals && w.s.Chance(10) {
		return // the request is never answered
	}
	w.s.After(w.s.Int64N(1+delay), func() {
		x.transport, y.transport = true, true
		if x.conn.State() == engine.Opening {
			_ = x.conn.Start([]byte("ask"))
			x.flush()
		}
	})
}

// up reports whether operations posted now can still arrive.
func (s *side) up() bool {
	return s.conn.State() == engine.Connected && s.other.conn.State() == engine.Connected &&
		!s.out.broken && !s.out.closing && !s.in.closing
}

func (s *side) ended() bool { return s.conn.State() == engine.Closed }
func (s *side) opDone()     { s.open-- }
func (s *side) opNew()      { s.open++ }
func (s *side) from() int   { return s.node.id }
func (s *side) to() *app    { return &s.peer.app }

func (s *side) submit(e *engine.Send) error { return s.conn.Submit(e) }
func (s *side) cancel(ctx uint64) bool      { return s.conn.Cancel(ctx) }
func (s *side) forReads() []byte            { return s.peer.readable }
func (s *side) forWrites() []byte           { return s.peer.writable[s.node.id] }

func (s *side) cells() []byte { return s.peer.cells }

func (s *side) posted() {
	s.flushSoon()
	s.node.after()
}

func (s *side) writing(o *op, n int) {
	if n > 0 {
		s.writes = append(s.writes, o)
	} else {
		s.writes = s.writes[:len(s.writes)-1]
	}
}

// Sent and Received implement engine.Sink.
func (s *side) Sent(o *engine.Send) {
	c := o.Completion(s.conn.Src)
	s.Completed(&c)
}

func (s *side) Received(r *engine.RxOp) {
	c := r.Completion()
	s.Completed(&c)
}

// Completed and the methods after it implement engine.Sink.
func (s *side) Completed(c *engine.Completion) {
	switch c.Kind {
	case engine.KindRemoteWrite:
		s.written(c)
	case engine.KindRemoteRead:
		s.w.s.Trace(s.node.id, "read by peer", c.Len, 0)
	default:
		s.node.completed(c)
	}
}

// written checks a peer's write. Writes arrive in the order of posting.
func (s *side) written(c *engine.Completion) {
	l := s.w.l
	queue := s.other.writes
	for len(queue) > 0 && (queue[0].cancelled || queue[0].doomed && s.w.f.verdicts) {
		queue = queue[1:]
	}
	if len(queue) == 0 {
		l.violate("node %d reports a write that no peer has posted", s.node.id)
		return
	}
	o := queue[0]
	s.other.writes = queue[1:]
	o.delivered = true
	s.w.s.Trace(s.node.id, "written by peer", o.id, c.Len)
	if c.HasData != o.data || c.Silent == o.data || o.data && c.Data != o.id || int(c.Len) != o.n || o.doomed {
		l.violate("write %d is reported with wrong values", o.id)
	}
	if !bytes.Equal(bytes.Join(o.segs, nil), l.content(o.id, o.n)) {
		l.violate("write %d wrote wrong bytes", o.id)
	}
}

func (s *side) Requested(*engine.Conn, []byte) {
	s.w.s.After(s.w.s.Int64N(100_000), func() {
		if s.conn.State() != engine.Deciding {
			return
		}
		if s.w.f.refusals && s.w.s.Chance(20) {
			if s.w.s.Chance(50) {
				return // no decision yet
			}
			_ = s.conn.Reject([]byte("no"))
			s.flush()
			s.drop()
			return
		}
		_ = s.conn.Accept([]byte("yes"))
		s.flush()
		s.node.after()
	})
}

func (s *side) Connected(*engine.Conn, []byte) {
	s.w.s.Trace(s.node.id, "connected", uint64(s.peer.id), 0)
	s.node.dirty = append(s.node.dirty, s) // for operations posted before
}

func (s *side) Failed(_ *engine.Conn, err error, _ []byte) {
	s.w.s.Trace(s.node.id, err.Error(), uint64(s.peer.id), 0)
	if !s.w.f.mayFail() {
		s.w.l.violate("connection of %d to %d failed: %v", s.node.id, s.peer.id, err)
	}
	if s.w.f.adopts && s.active && s.w.working && s.conn.Waiting() && s.node.sides[s.peer.id] == s {
		s.adopted()
	}
	s.w.s.After(0, s.closed)
}

// adopted makes the next attempt at once and hands it the waiting sends.
func (s *side) adopted() {
	s.w.connect(s.node, s.peer)
	next := s.node.sides[s.peer.id]
	for _, o := range s.w.l.ops[1:] {
		if o.side == s && !o.cancelled && (o.inject || !o.completed) {
			o.side = next
			if !o.inject {
				s.open--
				next.open++
			}
		}
	}
	next.writes, s.writes = s.writes, nil
	next.conn.Adopt(s.conn)
	s.w.s.Trace(s.node.id, "adopted", uint64(s.peer.id), uint64(next.open))
}

// drop ends the connection at this end.
func (s *side) drop() {
	s.conn.Drop(engine.ErrClosed)
	s.closed()
	s.node.after()
}

// closed closes the socket of a connection that has ended, and lets the active end try again.
func (s *side) closed() {
	if s.open != 0 {
		s.w.l.violate("connection of %d to %d has ended, but %d operations are open", s.node.id, s.peer.id, s.open)
	}
	if s.gone {
		return
	}
	s.gone = true
	if len(s.in.buf) == 0 && s.w.s.Chance(70) {
		s.out.close()
		s.in.deaf = true
	} else {
		reset(s.w.s, s.out, s.in)
	}
	if s.active && s.w.working {
		s.w.s.After(s.w.s.Int64N(100_000), func() {
			if s.w.working && s.node.sides[s.peer.id] == s {
				s.w.connect(s.node, s.peer)
			}
		})
	}
}

func (s *side) Replied(*engine.Conn) {
	s.pause()
	s.node.dirty = append(s.node.dirty, s)
}
func (s *side) Resumed(*engine.Conn) { s.in.notify(0) }

func (s *side) sends() *pipe { return s.out }
func (s *side) readable()    { s.receive() }
func (s *side) writable()    { s.flush(); s.node.after() }
func (s *side) reset() {
	s.conn.Fail(engine.ErrPeerClose)
	s.node.after()
}

// flushSoon transmits now, or a little later together with further posts.
func (s *side) flushSoon() {
	if !s.w.f.lazy || s.w.s.Chance(20) {
		s.flush()
		return
	}
	if !s.soon {
		s.soon = true
		s.w.s.After(s.w.s.Int64N(50_000), func() { s.soon = false; s.flush(); s.node.after() })
	}
}

func (s *side) flush() {
	if !s.transport {
		return
	}
	for s.conn.HasPending() && !s.out.blocked {
		first, list := s.conn.Pending(s.gather, 1+s.w.s.IntN(100_000))
		if first != nil {
			list = append(s.gather[:0], first)
		}
		n := 0
		for _, b := range list {
			k := s.out.write(b)
			if n += k; k < len(b) {
				break
			}
		}
		if n > 0 {
			s.conn.Transmitted(n)
		}
	}
}

// pause continues a connection that has paused.
func (s *side) pause() {
	if !s.conn.Paused() || s.pausing {
		return
	}
	s.pausing = true
	s.w.s.After(engine.PauseNanos, func() {
		s.pausing = false
		s.conn.Unpause()
		s.pause()
		s.flush()
		s.node.after()
	})
}

// receive makes one receive call, and schedules another if there is more.
func (s *side) receive() {
	if s.conn.State() == engine.Closed || s.conn.Stalled() {
		return
	}
	if s.in.atEnd() {
		s.conn.Fail(engine.ErrPeerClose)
		s.node.after()
		return
	}
	limit := 1 + s.w.s.IntN(64<<10)
	if s.w.f.tinyReads {
		limit = 1 + s.w.s.IntN(40)
	}
	direct, full := 0, true
	if s.w.f.direct {
		if t := s.conn.Target(); t != nil {
			k := min(len(t), limit)
			direct = s.in.read(t[:k])
			full = direct == len(t)
			limit = min(512, limit)
		}
	}
	k := 0
	scratch := s.node.scratch
	if full {
		k = s.in.read(scratch[:limit])
	}
	if direct+k > 0 {
		s.w.s.Trace(s.node.id, "receive", uint64(direct), uint64(k))
		s.conn.Receive(direct, scratch[:k])
		for i := range min(k, 64) {
			scratch[i] = 0xdd // the bytes were only borrowed
		}
		s.node.after()
	}
	if s.in.arrived > 0 || s.in.ended {
		s.in.notify(s.w.s.Int64N(2000))
	}
}
