package sim

import (
	"bytes"

	"gofabric/internal/xnet/engine"
	rxd "gofabric/util/rxd/session"
)

// rxdSide is a node's state for a peer, from the first contact to its end.
type rxdSide struct {
	w      *rxdWorld
	node   *rxdNode
	peer   int
	p      *rxd.Peer
	open   int   // operations posted and not completed
	writes []*op // posted here, in order, that have not arrived at the target
	// landed is the number of the peer's life, from 1, that has received something. 0: nothing has arrived.
	landed int
	over   bool
}

func (s *rxdSide) conn() *engine.Conn { return s.p.Conn() }

func (s *rxdSide) up() bool                     { return !s.over }
func (s *rxdSide) ended() bool                  { return s.conn().State() == engine.Closed }
func (s *rxdSide) opDone()                      { s.open--; s.w.open-- }
func (s *rxdSide) opNew()                       { s.open++; s.w.open++ }
func (s *rxdSide) from() int                    { return s.node.id }
func (s *rxdSide) to() *app                     { return &s.w.nodes[s.peer].app }
func (s *rxdSide) cancel(ctx uint64) bool       { return !s.node.dead && s.conn().Cancel(ctx) }
func (s *rxdSide) forReads() []byte             { return s.w.memory[s.peer].readable }
func (s *rxdSide) forWrites() []byte            { return s.w.memory[s.peer].writable[s.node.id] }
func (s *rxdSide) cells() []byte                { return s.w.memory[s.peer].cells }
func (s *rxdSide) posted()                      { s.node.after() }
func (s *rxdSide) Sent(o *engine.Send)          { c := o.Completion(s.conn().Src); s.Completed(&c) }
func (s *rxdSide) Received(r *engine.RxOp)      { c := r.Completion(); s.Completed(&c) }
func (s *rxdSide) Replied(*engine.Conn)         { s.node.eng.Posted(s.p) }
func (s *rxdSide) Resumed(*engine.Conn)         { s.node.eng.Resumed(s.p) }
func (*rxdSide) Requested(*engine.Conn, []byte) {}
func (*rxdSide) Connected(*engine.Conn, []byte) {}

func (s *rxdSide) Failed(_ *engine.Conn, err error, _ []byte) { s.node.eng.Failed(s.p, err) }

func (s *rxdSide) submit(e *engine.Send) error {
	if err := s.conn().Submit(e); err != nil {
		return err
	}
	if e.Inject {
		s.node.injects++
	}
	s.node.eng.Posted(s.p)
	return nil
}

func (s *rxdSide) writing(o *op, n int) {
	if n < 0 {
		s.writes = s.writes[:len(s.writes)-1]
		return
	}
	s.writes = append(s.writes, o)
	o.data = o.data || s.w.f.mayFail() // otherwise it would be unknown which message arrived
}

// Completed implements engine.Sink.
func (s *rxdSide) Completed(c *engine.Completion) {
	switch c.Kind {
	case engine.KindRemoteWrite:
		if !c.Atomic {
			s.written(c)
		}
	case engine.KindRemoteRead:
	default:
		s.node.completed(c)
	}
}

// written checks a write of the peer. Writes arrive in the order of posting.
func (s *rxdSide) written(c *engine.Completion) {
	l := s.w.l
	s.w.progress = s.w.s.Now
	var o *op
	if c.HasData {
		if c.Data == 0 || c.Data >= uint64(len(l.ops)) || l.ops[c.Data] == nil {
			l.violate("unknown write %d", c.Data)
			return
		}
		o = l.ops[c.Data]
	} else if w := s.w.nodes[s.peer].sides[s.node.id]; w != nil && len(w.writes) > 0 && !s.w.f.mayFail() {
		for o = w.writes[0]; o.cancelled || o.doomed; o = w.writes[0] {
			w.writes = w.writes[1:]
		}
	} else {
		l.violate("node %d reports a write that no peer has posted", s.node.id)
		return
	}
	if o.kind != opWrite || o.node != s.peer || o.peer != s.node.id || o.delivered || o.cancelled || o.doomed ||
		c.HasData != o.data || int(c.Len) != o.n {
		l.violate("write %d is reported with wrong values, or twice", o.id)
		return
	}
	o.delivered = true
	from := o.side.(*rxdSide)
	from.land(o, s.node)
	for len(from.writes) > 0 && from.writes[0] != o {
		if !from.writes[0].cancelled && !from.writes[0].doomed {
			l.violate("write %d arrived before %d", o.id, from.writes[0].id)
		}
		from.writes = from.writes[1:]
	}
	if len(from.writes) > 0 {
		from.writes = from.writes[1:]
	}
	if !bytes.Equal(bytes.Join(o.segs, nil), l.content(o.id, o.n)) {
		l.violate("write %d wrote wrong bytes", o.id)
	}
}

// land records that something of the connection has arrived at n. All of it must arrive at the same life of the node.
func (s *rxdSide) land(o *op, n *rxdNode) {
	if s.landed == 0 {
		s.landed = n.life
	}
	if s.landed != n.life {
		s.w.l.violate("%d was sent to life %d of node %d, and arrived in life %d", o.id, s.landed, n.id, n.life)
	}
}
