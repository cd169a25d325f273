// Two ends, each a Conn with its gateway, over a connection of which the test moves the messages.

package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/wire"
)

// frame is what travels below: a message, a read and its answer, a write, or an acknowledgement.
type frame struct {
	kind   byte // 'm', 'r', 'a', 'w', 'k'
	msg    []byte
	ranges []xwire.RMAIov
	w      Write
	token  uint64 // of the asker
	lane   int
}

// fakeLower is one end of the connection below.
type fakeLower struct {
	e       *end
	out     []frame  // to the peer, in order
	unsent  []uint64 // tokens of what the transport still needs
	pending map[uint64][][]byte
	exposed map[uint64]region // by key
	handles map[uint64][]uint64
	written map[uint64]uint64 // bytes, by key
	next    uint64
	lazy    bool // nothing is copied: Done comes later
	room    int  // operations that are taken before ErrAgain; negative: no limit
	lanes   int  // besides the first
	last    int  // the lane of the last read or write
	hasty   bool // what goes over other lanes overtakes what goes over the first, rather than the other way round
}

// pick is the lane of a read or write.
func (l *fakeLower) pick() int {
	if l.lanes == 0 {
		return 0
	}
	l.last = l.last%l.lanes + 1
	return l.last
}

type region struct {
	b     []byte
	write bool
}

func (l *fakeLower) full() bool {
	if l.room == 0 {
		return true
	}
	if l.room > 0 {
		l.room--
	}
	return false
}

func (l *fakeLower) Send(head []byte, payload [][]byte, delivery bool, group, token uint64) (bool, error) {
	if l.full() {
		return false, xengine.ErrAgain
	}
	if len(payload) > sendParts {
		l.e.t.Fatalf("%d parts", len(payload))
	}
	b := append([]byte(nil), head...)
	for _, p := range payload {
		b = append(b, p...)
	}
	f := frame{kind: 'm', msg: b, token: token}
	f.w.Delivery = delivery
	if group > 0 && l.lanes > 0 {
		f.lane = 1 + int(group)%l.lanes
	}
	l.out = append(l.out, f)
	return l.later(token, delivery), nil
}

// later reports whether nothing is held of an operation; else Done comes later.
func (l *fakeLower) later(token uint64, delivery bool) bool {
	if delivery {
		return false
	}
	if l.lazy {
		l.unsent = append(l.unsent, token)
		return false
	}
	return true
}

func (l *fakeLower) Read(local [][]byte, remote []xwire.RMAIov, token uint64) error {
	if l.full() {
		return xengine.ErrAgain
	}
	if total(local) != ranged(remote) {
		l.e.t.Fatalf("read of %d bytes into %d", ranged(remote), total(local))
	}
	l.pending[token] = append([][]byte(nil), local...)
	l.out = append(l.out, frame{kind: 'r', ranges: append([]xwire.RMAIov(nil), remote...), token: token, lane: l.pick()})
	return nil
}

func (l *fakeLower) Write(local [][]byte, remote []xwire.RMAIov, w Write, token uint64) (bool, error) {
	if l.full() {
		return false, xengine.ErrAgain
	}
	if total(local) != ranged(remote) {
		l.e.t.Fatalf("write of %d bytes to %d", total(local), ranged(remote))
	}
	var b []byte
	for _, p := range local {
		b = append(b, p...)
	}
	l.out = append(l.out, frame{kind: 'w', msg: b, ranges: append([]xwire.RMAIov(nil), remote...), w: w, token: token, lane: l.pick()})
	return l.later(token, w.Delivery), nil
}

func (l *fakeLower) Expose(local [][]byte, write bool, ranges []xwire.RMAIov) (uint64, error) {
	if len(ranges) != len(local) {
		l.e.t.Fatal("ranges")
	}
	l.next++
	h := l.next
	for i, b := range local {
		l.next++
		key := l.next<<8 | 0xee
		l.exposed[key] = region{b, write}
		l.handles[h] = append(l.handles[h], key)
		ranges[i] = xwire.RMAIov{Addr: 0, Len: uint64(len(b)), Key: key}
	}
	return h, nil
}

func (l *fakeLower) Accessed(h uint64) (n uint64) {
	for _, key := range l.handles[h] {
		n += l.written[key]
	}
	return n
}

func (l *fakeLower) Conceal(h uint64) {
	if l.handles[h] == nil {
		l.e.t.Fatal("concealed twice")
	}
	for _, key := range l.handles[h] {
		delete(l.exposed, key)
	}
	delete(l.handles, h)
}

// memory is what a peer's read or write names.
func (l *fakeLower) memory(r xwire.RMAIov, write bool) ([]byte, bool) {
	if x, ok := l.exposed[r.Key]; ok {
		if x.write != write || r.Addr+r.Len > uint64(len(x.b)) {
			return nil, false
		}
		return x.b[r.Addr : r.Addr+r.Len], true
	}
	m, _, no := l.e.Verify(r.Key, r.Addr, r.Len, write)
	return m, no == 0
}

func total(iov [][]byte) (n uint64) {
	for _, b := range iov {
		n += uint64(len(b))
	}
	return n
}

func ranged(iov []xwire.RMAIov) (n uint64) {
	for _, v := range iov {
		n += v.Len
	}
	return n
}

// end is an endpoint with one peer.
type end struct {
	t      testing.TB
	name   string
	pool   xengine.Pool
	cfg    xengine.Config
	rx     *xengine.RxContext
	up     *xengine.Conn
	low    *fakeLower
	g      *Gateway
	peer   *end
	mem    []byte // region 7, read and write
	events []string
	quiet  bool
	failed error
	done   []xengine.Completion
	held   map[int]bool // lanes that are not received from
}

func (e *end) Verify(key, addr, n uint64, write bool) ([]byte, xengine.Region, xengine.Refusal) {
	if key != 7 || addr > uint64(len(e.mem)) || n > uint64(len(e.mem))-addr {
		return nil, nil, xwire.RefusedKey
	}
	return e.mem[addr : addr+n : addr+n], nil, 0
}

func (e *end) Sent(s *xengine.Send) {
	c := s.Completion(e.up.Src)
	e.Completed(&c)
}

func (e *end) Received(r *xengine.RxOp) {
	c := r.Completion()
	e.Completed(&c)
}

func (e *end) Completed(c *xengine.Completion) {
	if e.quiet || c.Silent && c.Err == nil && c.Kind != xengine.KindRemoteWrite {
		return
	}
	e.done = append(e.done, *c)
	kind := [...]string{"send", "recv", "read", "write", "rwrite", "rread", "atomic", "fetch", "compare"}[c.Kind]
	s := fmt.Sprintf("%s %d len %d", kind, c.Ctx, c.Len)
	if c.Kind == xengine.KindRecv && c.Tag != 0 {
		s += fmt.Sprintf(" tag %#x", c.Tag)
	}
	if c.HasData {
		s += fmt.Sprintf(" data %#x", c.Data)
	}
	if c.Err != nil {
		s += " " + c.Err.Error()
	}
	e.events = append(e.events, s)
}

func (e *end) Requested(*xengine.Conn, []byte) {}
func (e *end) Connected(*xengine.Conn, []byte) {}
func (e *end) Failed(_ *xengine.Conn, err error, _ []byte) {
	e.failed = err
	e.events = append(e.events, "failed "+err.Error())
}
func (e *end) Replied(*xengine.Conn) {}
func (e *end) Resumed(*xengine.Conn) { clear(e.held) }

var errLower = errors.New("lower connection lost")

// newEnd makes one end, which has no peer yet.
func newEnd(t testing.TB, name string, cfg *Config) *end { return newSmallEnd(t, name, cfg, 1<<20) }

// newSmallEnd is newEnd with a region of size bytes.
func newSmallEnd(t testing.TB, name string, cfg *Config, size int) *end {
	e := &end{t: t, name: name, mem: make([]byte, size), held: map[int]bool{}}
	e.cfg = xengine.Config{StageMax: 4096, StageLimit: 1 << 20, TxDepth: 1024, InternalMax: 1024, AtomicMax: cfg.AtomicMax()}
	e.rx = xengine.NewRxContext(&e.pool, e)
	e.up = xengine.NewReady(&e.pool, &e.cfg, e.rx, e, e)
	e.up.Extended = true
	e.low = &fakeLower{e: e, pending: map[uint64][][]byte{}, exposed: map[uint64]region{}, handles: map[uint64][]uint64{}, written: map[uint64]uint64{}, room: -1}
	e.g = New(cfg, e.up, e, e.low)
	return e
}

// newPair makes two ends that face each other.
func newPair(t testing.TB, cfg Config) (a, b *end) {
	ca, cb := cfg, cfg
	ca.RemoteConn, cb.RemoteConn = 11, 22
	a, b = newEnd(t, "a", &ca), newEnd(t, "b", &cb)
	a.peer, b.peer = b, a
	return a, b
}

// deliver brings the oldest frame of a lane to the peer, and reports whether it could; with several lanes, of the first of which it can.
func (e *end) deliver() bool {
	for i := range e.low.lanes + 1 {
		lane := i
		if e.low.hasty {
			lane = e.low.lanes - i
		}
		if e.deliverOn(lane) {
			return true
		}
	}
	return false
}

func (e *end) deliverOn(lane int) bool {
	at := slices.IndexFunc(e.low.out, func(f frame) bool { return f.lane == lane })
	if at < 0 || e.peer.held[lane] {
		return false
	}
	f := e.low.out[at]
	p := e.peer
	switch f.kind {
	case 'm':
		if !p.g.Received(lane, f.msg) {
			p.held[lane] = true
			return false
		}
		clear(p.held) // others may have waited for this one
		if f.w.Delivery {
			p.low.out = append(p.low.out, frame{kind: 'k', token: f.token, lane: lane})
		}
	case 'r':
		var b []byte
		for _, r := range f.ranges {
			m, ok := p.low.memory(r, false)
			if !ok {
				e.t.Fatalf("%s reads %v, which is not exposed", e.name, r)
			}
			b = append(b, m...)
		}
		p.low.out = append(p.low.out, frame{kind: 'a', msg: b, token: f.token, lane: lane})
	case 'a':
		local := p.low.pending[f.token]
		delete(p.low.pending, f.token)
		for _, m := range local {
			f.msg = f.msg[copy(m, f.msg):]
		}
		p.g.Done(f.token, nil)
	case 'w':
		for _, r := range f.ranges {
			m, ok := p.low.memory(r, true)
			if !ok {
				e.t.Fatalf("%s writes %v, which is not exposed", e.name, r)
			}
			f.msg = f.msg[copy(m, f.msg):]
			p.low.written[r.Key] += uint64(len(m))
			clear(p.held)
		}
		if f.w.HasData {
			p.Completed(&xengine.Completion{Kind: xengine.KindRemoteWrite, HasData: true, Data: f.w.Data, Len: ranged(f.ranges)})
		}
		if f.w.Delivery {
			p.low.out = append(p.low.out, frame{kind: 'k', token: f.token, lane: lane})
		}
	case 'k':
		p.g.Done(f.token, nil)
	}
	e.low.out = slices.Delete(e.low.out, at, at+1)
	p.g.Pump()
	return true
}

// sent lets lower need the i-th oldest thing it holds no more.
func (e *end) sent(i int) {
	token := e.low.unsent[i]
	e.low.unsent = append(e.low.unsent[:i], e.low.unsent[i+1:]...)
	e.g.Done(token, nil)
	e.g.Pump()
}

// settle moves everything until nothing moves.
func settle(ends ...*end) {
	for moved := true; moved; {
		moved = false
		for _, e := range ends {
			e.g.Pump()
			for e.deliver() {
				moved = true
			}
			for len(e.low.unsent) > 0 {
				e.sent(0)
				moved = true
			}
		}
	}
}

// post posts a receive.
func (e *end) post(ctx uint64, buf []byte) {
	op := e.rx.NewOp()
	op.Ctx = ctx
	op.SetBuf(buf)
	e.rx.PostMsg(op, xengine.AnySource)
	e.g.Pump()
}

func (e *end) postTagged(ctx, tag uint64, bufs ...[]byte) {
	op := e.rx.NewOp()
	op.Ctx = ctx
	if err := op.SetIOV(bufs); err != nil {
		e.t.Fatal(err)
	}
	e.rx.PostTagged(op, xengine.AnySource, tag, 0)
	e.g.Pump()
}

// submit posts an operation.
func (e *end) submit(s xengine.Send) {
	e.t.Helper()
	if err := e.up.Submit(&s); err != nil {
		e.t.Fatalf("%s: %v", e.name, err)
	}
	e.g.Pump()
}

func (e *end) send(ctx uint64, bufs ...[]byte) { e.submit(sendOf(ctx, bufs...)) }

func sendOf(ctx uint64, bufs ...[]byte) xengine.Send {
	s := xengine.Send{Kind: xengine.KindSend, Ctx: ctx}
	_ = s.SetIOV(bufs)
	return s
}

// want checks and forgets the events.
func (e *end) want(events ...string) {
	e.t.Helper()
	if len(events) != len(e.events) {
		e.t.Fatalf("%s: got %q\nwant %q", e.name, e.events, events)
	}
	for i, w := range events {
		if e.events[i] != w {
			e.t.Fatalf("%s: got %q\nwant %q", e.name, e.events[i], w)
		}
	}
	e.events = nil
}

// types lists the types of packets in a lower's queue.
func (e *end) types() (s []string) {
	for _, f := range e.low.out {
		if f.kind != 'm' {
			s = append(s, string(f.kind))
			continue
		}
		var p wire.Packet
		if _, err := p.Parse(f.msg); err != nil {
			e.t.Fatal(err)
		}
		s = append(s, p.Type.String())
	}
	return s
}

// clean checks that nothing is held.
func clean(ends ...*end) {
	for _, e := range ends {
		e.t.Helper()
		if !e.g.Idle() || !e.up.Idle() {
			e.t.Fatalf("%s is not idle: gateway %v conn %v", e.name, e.g.Idle(), e.up.Idle())
		}
		if len(e.low.exposed) != 0 || len(e.low.handles) != 0 {
			e.t.Fatalf("%s: memory is still exposed", e.name)
		}
		if e.pool.OutTx != 0 || e.pool.OutAtomic != 0 || e.pool.OutUnexp != 0 || e.pool.OutChunks != 0 {
			e.t.Fatalf("%s: pool: %d operations, %d atomics, %d messages, %d chunks", e.name, e.pool.OutTx, e.pool.OutAtomic, e.pool.OutUnexp, e.pool.OutChunks)
		}
	}
}

// pattern makes n bytes that differ by seed.
func pattern(n int, seed uint64) []byte {
	b := make([]byte, n)
	x := seed*0x9e3779b97f4a7c15 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return b
}
