package rma

import (
	"bytes"
	"slices"

	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// User receives the calls of an End.
type User interface {
	// Message receives a message, whose bytes are borrowed. It returns false to get the message again later.
	Message(conn int, b []byte) bool
	// Finished reports the end of an operation.
	Finished(token uint64)
	// Named returns registered memory that the peer names.
	Named(r wire.RMAIov, write bool) []byte
	// Written reports a write by the peer, to exposed or to registered memory.
	Written(f *Frame, exposed bool)
	// Pump is called after each change.
	Pump()
}

// End is one end of a connection. With a Write over Store it implements the Lower of rxm's gateway.
type End struct {
	Peer     *End
	Out      []*Frame // to the peer, in order
	AuxConns int      // in addition to the first
	Lazy     bool     // payload is lent until Release
	Broken   bool     // what is sent is lost

	// Full reports that there is no room for an operation now. If it is nil, there is always room.
	Full func() bool
	// Queued, if not nil, is called with each frame that is sent.
	Queued func(*Frame)

	user    User
	last    int                 // number of the connection that carries reads and writes
	pending map[uint64][][]byte // buffers of reads, by token
	exposed map[uint64]region   // by key
	handles map[uint64][]uint64 // keys
	next    uint64
}

type region struct {
	b        []byte
	write    bool
	accessed uint64
}

// New makes an end without a peer.
func New(u User) *End {
	return &End{user: u, pending: map[uint64][][]byte{}, exposed: map[uint64]region{}, handles: map[uint64][]uint64{}}
}

// Exposed returns the number of buffers that the peer may access.
func (e *End) Exposed() int { return len(e.exposed) }

// Pending returns the number of reads without an answer.
func (e *End) Pending() int { return len(e.pending) }

// Send queues a message.
func (e *End) Send(head []byte, payload [][]byte, delivery bool, group, token uint64) (done bool, err error) {
	if len(payload) > 3 {
		panic("rma: a message of more than three parts")
	}
	f := &Frame{Kind: Message, Token: token, Delivery: delivery, parts: append([][]byte{bytes.Clone(head)}, payload...)}
	if group > 0 && e.AuxConns > 0 {
		f.Conn = 1 + int(group)%e.AuxConns
	}
	return e.post(f)
}

// Read queues a read.
func (e *End) Read(local [][]byte, remote []wire.RMAIov, token uint64) error {
	if e.Full != nil && e.Full() {
		return engine.ErrAgain
	}
	check(local, remote)
	e.pending[token] = slices.Clone(local)
	e.queue(&Frame{Kind: Read, Conn: e.conn(), Token: token, Ranges: slices.Clone(remote)})
	return nil
}

// Store queues a write.
func (e *End) Store(local [][]byte, f Frame) (done bool, err error) {
	f.Kind, f.Ranges, f.parts = Write, slices.Clone(f.Ranges), slices.Clone(local)
	f.Conn, f.Len = e.conn(), check(local, f.Ranges)
	return e.post(&f)
}

// check checks the buffers of a read or write and returns their length.
func check(local [][]byte, remote []wire.RMAIov) (n int) {
	far := 0
	for _, b := range local {
		n += len(b)
	}
	for _, r := range remote {
		far += int(r.Len)
	}
	if n != far || len(local) > 4 || len(remote) > 4 {
		panic("rma: local and remote buffers differ in length, or are too many")
	}
	return n
}

// conn returns the connection of a read or write.
func (e *End) conn() int {
	if e.AuxConns > 0 {
		e.last = e.last%e.AuxConns + 1
	}
	return e.last
}

func (e *End) post(f *Frame) (done bool, err error) {
	if e.Full != nil && e.Full() {
		return false, engine.ErrAgain
	}
	if f.Lent = e.Lazy && !f.Delivery; !e.Lazy && !f.Delivery {
		f.Bytes()
		done = true
	}
	e.queue(f)
	return done, nil
}

func (e *End) queue(f *Frame) {
	if !e.Broken {
		e.Out = append(e.Out, f)
	}
	if e.Queued != nil {
		e.Queued(f)
	}
}

// Release ends the loan of a frame's payload.
func (e *End) Release(f *Frame) {
	f.Bytes()
	e.user.Finished(f.Token)
	e.user.Pump()
}

// Break breaks the connection. Frames on their way are lost in both directions, and so are all later ones.
func (e *End) Break() {
	for _, x := range []*End{e, e.Peer} {
		x.Broken, x.Out = true, nil
	}
}

// Deliver delivers the i-th frame of Out to the peer, and reports whether the peer has accepted it.
func (e *End) Deliver(i int) bool {
	f := e.Out[i]
	if !e.Peer.receive(f) {
		return false
	}
	if i < len(e.Out) && e.Out[i] == f { // otherwise the connection has broken
		e.Out = slices.Delete(e.Out, i, i+1)
	}
	return true
}

func (e *End) receive(f *Frame) bool {
	switch f.Kind {
	case Message:
		b := bytes.Clone(f.Bytes())
		took := e.user.Message(f.Conn, b)
		for i := range b {
			b[i] = 0xdd // the message was only borrowed
		}
		if !took {
			return false
		}
	case Read:
		b := make([]byte, 0, 64)
		for _, r := range f.Ranges {
			m, _ := e.memory(r, false)
			b = append(b, m...)
		}
		e.queue(&Frame{Kind: Answer, Conn: f.Conn, Token: f.Token, b: b, have: true})
	case Answer:
		b := f.Bytes()
		for _, m := range e.pending[f.Token] {
			b = b[copy(m, b):]
		}
		delete(e.pending, f.Token)
		e.user.Finished(f.Token)
	case Write:
		e.written(f)
	case Ack:
		e.user.Finished(f.Token)
	}
	if f.Delivery {
		e.queue(&Frame{Kind: Ack, Conn: f.Conn, Token: f.Token})
	}
	e.user.Pump()
	return true
}

func (e *End) written(f *Frame) {
	b, exposed := f.Bytes(), false
	for _, r := range f.Ranges {
		m, ours := e.memory(r, true)
		b = b[copy(m, b):]
		if exposed = ours; ours {
			x := e.exposed[r.Key]
			x.accessed += uint64(len(m))
			e.exposed[r.Key] = x
		}
	}
	e.user.Written(f, exposed)
}

// memory returns the memory that the peer names.
func (e *End) memory(r wire.RMAIov, write bool) (b []byte, exposed bool) {
	if x, ok := e.exposed[r.Key]; ok && x.write == write && r.Addr+r.Len <= uint64(len(x.b)) {
		return x.b[r.Addr : r.Addr+r.Len], true
	}
	return e.user.Named(r, write), false
}

// Expose lets the peer access memory.
func (e *End) Expose(local [][]byte, write bool, ranges []wire.RMAIov) (handle uint64, err error) {
	if len(ranges) != len(local) {
		panic("rma: each buffer needs a range")
	}
	e.next++
	handle = e.next
	for i, b := range local {
		e.next++
		key := 1<<40 | e.next
		e.exposed[key] = region{b: b, write: write}
		e.handles[handle] = append(e.handles[handle], key)
		ranges[i] = wire.RMAIov{Len: uint64(len(b)), Key: key}
	}
	return handle, nil
}

// Accessed returns how many bytes of exposed memory the peer has written.
func (e *End) Accessed(handle uint64) (n uint64) {
	for _, key := range e.handles[handle] {
		n += e.exposed[key].accessed
	}
	return n
}

// Conceal ends Expose.
func (e *End) Conceal(handle uint64) {
	if e.handles[handle] == nil {
		panic("rma: concealed twice")
	}
	for _, key := range e.handles[handle] {
		delete(e.exposed, key)
	}
	delete(e.handles, handle)
}
