package sim

import (
	"bytes"

	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
	"gofabric/test/sim/rma"
	rxm "gofabric/util/rxm/gateway"
)

// rxmSide is one end of a connection to a peer that it takes for a native one. It acts as the driver in package rxm,
// and is the connection below.
type rxmSide struct {
	*rma.End
	w          *rxmWorld
	node, peer *rxmNode
	other      *rxmSide
	conn       *engine.Conn
	g          *rxm.Gateway
	in, out    *rxmLink
	active     bool
	gone       bool
	open       int
	writes     []*op // posted here, in order, that have not arrived at the target
}

func (s *rxmSide) up() bool {
	return s.conn.State() == engine.Connected && s.other.conn.State() == engine.Connected && !s.Broken
}
func (s *rxmSide) ended() bool                  { return s.conn.State() == engine.Closed }
func (s *rxmSide) opDone()                      { s.open-- }
func (s *rxmSide) opNew()                       { s.open++ }
func (s *rxmSide) from() int                    { return s.node.id }
func (s *rxmSide) to() *app                     { return &s.peer.app }
func (s *rxmSide) submit(e *engine.Send) error  { return s.conn.Submit(e) }
func (s *rxmSide) cancel(ctx uint64) bool       { return s.conn.Cancel(ctx) }
func (s *rxmSide) forReads() []byte             { return s.peer.readable }
func (s *rxmSide) forWrites() []byte            { return s.peer.writable[s.node.id] }
func (s *rxmSide) cells() []byte                { return s.peer.cells }
func (s *rxmSide) posted()                      { s.Pump(); s.node.after() }
func (*rxmSide) Requested(*engine.Conn, []byte) {}
func (*rxmSide) Connected(*engine.Conn, []byte) {}
func (s *rxmSide) Replied(*engine.Conn)         { s.node.dirty = append(s.node.dirty, s) }
func (s *rxmSide) Resumed(*engine.Conn)         { s.in.resume() }

func (s *rxmSide) writing(o *op, n int) {
	if n > 0 {
		s.writes = append(s.writes, o)
	} else {
		s.writes = s.writes[:len(s.writes)-1]
	}
}

// Sent, Received, Completed and Failed implement engine.Sink.
func (s *rxmSide) Sent(o *engine.Send) {
	c := o.Completion(s.conn.Src)
	s.node.completed(&c)
}

func (s *rxmSide) Received(r *engine.RxOp) {
	c := r.Completion()
	s.node.completed(&c)
}

func (s *rxmSide) Completed(c *engine.Completion) {
	if c.Kind != engine.KindRemoteWrite && c.Kind != engine.KindRemoteRead { // a completion of an atomic operation
		s.node.completed(c)
	}
}

func (s *rxmSide) Failed(_ *engine.Conn, err error, _ []byte) {
	s.w.s.Trace(s.node.id, err.Error(), uint64(s.peer.id), 0)
	if !s.w.f.mayFail() {
		s.w.l.violate("connection of %d to %d failed: %v", s.node.id, s.peer.id, err)
	}
	s.w.s.After(0, s.closed)
}

// lost is called when the connection below is gone.
func (s *rxmSide) lost() {
	s.g.Fail(engine.ErrPeerClose)
	s.node.after()
}

// drop ends the connection at this end.
func (s *rxmSide) drop() {
	s.g.Close()
	s.conn.Drop(engine.ErrClosed)
	s.closed()
	s.node.after()
}

// closed lets the active end try again.
func (s *rxmSide) closed() {
	if s.gone {
		return
	}
	s.gone = true
	s.cut()
	if s.open != 0 || s.Exposed() != 0 {
		s.w.l.violate("connection of %d to %d has ended, but %d operations are open, %d buffers exposed",
			s.node.id, s.peer.id, s.open, s.Exposed())
	}
	s.w.s.After(s.w.s.Int64N(100_000), func() {
		a, b := s.node, s.peer
		if s.w.working && s.active && a.sides[b.id] == s {
			s.w.connect(a, b)
		}
	})
}

// Message and the methods after it implement rma.User.
func (s *rxmSide) Message(_ int, b []byte) bool { return s.g.Received(0, b) }
func (s *rxmSide) Finished(token uint64)        { s.g.Done(token, nil) }
func (s *rxmSide) Pump()                        { s.g.Pump() }

func (s *rxmSide) Named(r wire.RMAIov, write bool) []byte {
	b, _, no := s.node.Verify(r.Key, r.Addr, r.Len, write)
	if no != 0 {
		s.w.l.violate("node %d names memory of %d that does not exist: %+v", s.peer.id, s.node.id, r)
		return make([]byte, r.Len)
	}
	return b
}

// Written checks a peer's write. Writes arrive in the order of posting.
func (s *rxmSide) Written(f *rma.Frame, exposed bool) {
	if exposed {
		return
	}
	l := s.w.l
	queue := s.other.writes
	for len(queue) > 0 && queue[0].cancelled {
		queue = queue[1:]
	}
	if len(queue) == 0 {
		l.violate("node %d reports a write that no peer has posted", s.node.id)
		return
	}
	o := queue[0]
	s.other.writes = queue[1:]
	s.w.s.Trace(s.node.id, "written by peer", o.id, uint64(f.Len))
	if f.HasData != o.data || o.data && f.Data != o.id || f.Len != o.n {
		l.violate("write %d is reported with wrong values", o.id)
	}
	if !bytes.Equal(bytes.Join(o.segs, nil), l.content(o.id, o.n)) {
		l.violate("write %d wrote wrong bytes", o.id)
	}
}

// Write and the End implement rxm's engine.Lower.
func (s *rxmSide) Write(local [][]byte, remote []wire.RMAIov, w rxm.Write, token uint64) (bool, error) {
	return s.Store(local, rma.Frame{Ranges: remote, Data: w.Data, HasData: w.HasData,
		Delivery: w.Delivery, Token: token})
}
