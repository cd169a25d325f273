package sim

import (
	"bytes"

	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
	rxm "gofabric/util/rxm/engine"
)

// rxmSide is one end of a connection to what it takes for a native peer; it does what the driver in package rxm does, and is the connection below.
type rxmSide struct {
	w          *rxmWorld
	node, peer *rxmNode
	other      *rxmSide
	conn       *engine.Conn
	g          *rxm.Gateway
	in, out    *rxmLink
	active     bool
	gone       bool
	open       int
	writes     []*op // posted here, in order, not seen at the target
	pending    map[uint64][][]byte
	exposed    map[uint64]rxmMemory // by key
	keys       map[uint64][]uint64  // by handle
	nextKey    uint64
	lazy       bool // memory is released late
}

// rxmMemory is exposed memory.
type rxmMemory struct {
	b     []byte
	write bool
}

func (s *rxmSide) up() bool {
	return s.conn.State() == engine.Connected && s.other.conn.State() == engine.Connected && !s.out.broken
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
func (s *rxmSide) posted()                      { s.pump(); s.node.after() }
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
	if c.Kind != engine.KindRemoteWrite && c.Kind != engine.KindRemoteRead { // of atomic operations
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

// lost is told that the connection below is gone.
func (s *rxmSide) lost() {
	s.g.Fail(engine.ErrPeerClose)
	s.node.after()
}

// drop ends the connection from here.
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
	if s.open != 0 || len(s.exposed) != 0 {
		s.w.l.violate("connection of %d to %d has ended, but %d operations are open, %d memories exposed", s.node.id, s.peer.id, s.open, len(s.exposed))
	}
	s.w.s.After(s.w.s.Int64N(100_000), func() {
		a, b := s.node, s.peer
		if s.w.working && s.active && a.sides[b.id] == s {
			s.w.connect(a, b)
		}
	})
}

// pump lets the gateway transmit.
func (s *rxmSide) pump() { s.g.Pump() }

// receive takes a frame, and reports whether it did.
func (s *rxmSide) receive(f *rxmFrame) bool {
	switch f.kind {
	case rxmMessage:
		b := bytes.Clone(f.bytes.get())
		took := s.g.Received(0, b)
		for i := range b {
			b[i] = 0xdd // it was only borrowed
		}
		if took && f.write.Delivery {
			s.out.put(rxmFrame{kind: rxmAck, token: f.token}, true)
		}
		if !took {
			return false
		}
	case rxmRead:
		var b []byte
		for _, r := range f.ranges {
			b = append(b, s.memory(r, false)...)
		}
		s.out.put(rxmFrame{kind: rxmAnswer, bytes: rxmCopied(b), token: f.token}, true)
	case rxmAnswer:
		b := f.bytes.get()
		for _, m := range s.pending[f.token] {
			b = b[copy(m, b):]
		}
		delete(s.pending, f.token)
		s.g.Done(f.token, nil)
	case rxmWrite:
		b := f.bytes.get()
		for _, r := range f.ranges {
			b = b[copy(s.memory(r, true), b):]
		}
		if _, ours := s.exposed[f.ranges[0].Key]; !ours {
			s.written(f)
		}
		if f.write.Delivery {
			s.out.put(rxmFrame{kind: rxmAck, token: f.token}, true)
		}
	case rxmAck:
		s.g.Done(f.token, nil)
	}
	s.pump()
	return true
}

// memory is what the peer names.
func (s *rxmSide) memory(r wire.RMAIov, write bool) []byte {
	if m, ok := s.exposed[r.Key]; ok && m.write == write && r.Addr+r.Len <= uint64(len(m.b)) {
		return m.b[r.Addr : r.Addr+r.Len]
	}
	b, _, no := s.node.Verify(r.Key, r.Addr, r.Len, write)
	if no != 0 {
		s.w.l.violate("node %d names memory of %d that is not there: %+v", s.peer.id, s.node.id, r)
		return make([]byte, r.Len)
	}
	return b
}

// written checks a peer's write: they come in the order of posting.
func (s *rxmSide) written(f *rxmFrame) {
	l := s.w.l
	queue := s.other.writes
	for len(queue) > 0 && queue[0].cancelled {
		queue = queue[1:]
	}
	if len(queue) == 0 {
		l.violate("node %d was written to by nobody", s.node.id)
		return
	}
	o := queue[0]
	s.other.writes = queue[1:]
	s.w.s.Trace(s.node.id, "written by peer", o.id, uint64(f.n))
	if f.write.HasData != o.data || o.data && f.write.Data != o.id || f.n != o.n {
		l.violate("write %d is told wrong", o.id)
	}
	if !bytes.Equal(bytes.Join(o.segs, nil), l.content(o.id, o.n)) {
		l.violate("write %d brought wrong bytes", o.id)
	}
}

// Send implements engine.Lower of rxm, as do the following.
func (s *rxmSide) Send(head []byte, payload [][]byte, delivery bool, _, token uint64) (bool, error) {
	f := rxmFrame{kind: rxmMessage, bytes: lend(bytes.Clone(head), payload), token: token}
	f.write.Delivery = delivery
	return s.send(f, delivery)
}

func (s *rxmSide) send(f rxmFrame, delivery bool) (bool, error) {
	if !s.out.put(f, false) {
		return false, engine.ErrAgain
	}
	if delivery {
		return false, nil
	}
	if !s.lazy {
		f.bytes.get()
		return true, nil
	}
	s.w.s.After(s.w.s.Int64N(50_000), func() {
		if s.conn.State() == engine.Connected {
			f.bytes.get()
		}
		s.g.Done(f.token, nil)
		s.pump()
		s.node.after()
	})
	return false, nil
}

// lend is a message of head and payload; the list of payload is borrowed.
func lend(head []byte, payload [][]byte) *rxmBytes {
	return &rxmBytes{parts: append([][]byte{head}, payload...)}
}

func (s *rxmSide) Read(local [][]byte, remote []wire.RMAIov, token uint64) error {
	if !s.out.put(rxmFrame{kind: rxmRead, ranges: append([]wire.RMAIov(nil), remote...), token: token}, false) {
		return engine.ErrAgain
	}
	s.pending[token] = append([][]byte(nil), local...)
	return nil
}

func (s *rxmSide) Write(local [][]byte, remote []wire.RMAIov, w rxm.Write, token uint64) (bool, error) {
	n := 0
	for _, b := range local {
		n += len(b)
	}
	return s.send(rxmFrame{kind: rxmWrite, bytes: lend(nil, local), n: n, ranges: append([]wire.RMAIov(nil), remote...), write: w, token: token}, w.Delivery)
}

func (s *rxmSide) Expose(local [][]byte, write bool, ranges []wire.RMAIov) (uint64, error) {
	s.nextKey++
	handle := s.nextKey
	for i, b := range local {
		s.nextKey++
		key := 1<<40 | s.nextKey
		s.exposed[key] = rxmMemory{b, write}
		s.keys[handle] = append(s.keys[handle], key)
		ranges[i] = wire.RMAIov{Len: uint64(len(b)), Key: key}
	}
	return handle, nil
}

func (s *rxmSide) Accessed(uint64) uint64 { return 0 } // there is one lane, and it is not asked

func (s *rxmSide) Conceal(handle uint64) {
	for _, key := range s.keys[handle] {
		delete(s.exposed, key)
	}
	delete(s.keys, handle)
}
