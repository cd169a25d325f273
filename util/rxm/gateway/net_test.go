// The tests have two ends, each a Conn with its gateway. The test moves the messages of the connection between
// them.

package gateway

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/test/sim/rma"
	"gofabric/util/rxm/wire"
)

// lower is one end of the connections below.
type lower struct {
	*rma.End
	unsent   []*rma.Frame // frames whose payload the transport still needs
	room     int          // operations that are taken before ErrAgain; negative: no limit
	auxFirst bool         // frames on auxiliary connections overtake those on the main one, instead of the other way round
}

func newLower(u rma.User) *lower {
	l := &lower{End: rma.New(u), room: -1}
	l.Full = l.full
	l.Queued = func(f *rma.Frame) {
		if f.Lent {
			l.unsent = append(l.unsent, f)
		}
	}
	return l
}

func (l *lower) full() bool {
	if l.room == 0 {
		return true
	}
	if l.room > 0 {
		l.room--
	}
	return false
}

// Write implements Lower, together with rma.End.
func (l *lower) Write(local [][]byte, remote []xwire.RMAIov, w Write, token uint64) (bool, error) {
	return l.Store(local, rma.Frame{Ranges: remote, Data: w.Data, HasData: w.HasData, Delivery: w.Delivery, Token: token})
}

// end is an endpoint with one peer.
type end struct {
	t      testing.TB
	name   string
	pool   xengine.Pool
	cfg    xengine.Config
	rx     *xengine.RxContext
	up     *xengine.Conn
	low    *lower
	g      *Gateway
	peer   *end
	mem    []byte // region 7, for read and write
	events []string
	quiet  bool
	failed error
	done   []xengine.Completion
	held   map[int]bool // connections that are not read
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

// newEnd makes an end without a peer.
func newEnd(t testing.TB, name string, cfg *Config) *end { return newSmallEnd(t, name, cfg, 1<<20) }

// newSmallEnd is newEnd with a region of size bytes.
func newSmallEnd(t testing.TB, name string, cfg *Config, size int) *end {
	e := &end{t: t, name: name, mem: make([]byte, size), held: map[int]bool{}}
	e.cfg = xengine.Config{StageMax: 4096, StageLimit: 1 << 20, TxDepth: 1024, InternalMax: 1024, AtomicMax: cfg.AtomicMax()}
	e.rx = xengine.NewRxContext(&e.pool, e)
	e.up = xengine.NewReady(&e.pool, &e.cfg, e.rx, e, e)
	e.up.Extended = true
	e.low = newLower(e)
	e.g = New(cfg, e.up, e, e.low)
	return e
}

// newPair makes two ends that are connected.
func newPair(t testing.TB, cfg Config) (a, b *end) {
	ca, cb := cfg, cfg
	ca.RemoteConn, cb.RemoteConn = 11, 22
	a, b = newEnd(t, "a", &ca), newEnd(t, "b", &cb)
	a.peer, b.peer = b, a
	a.low.Peer, b.low.Peer = b.low.End, a.low.End
	return a, b
}

// Message and the methods after it implement rma.User.
func (e *end) Message(conn int, b []byte) bool { return e.g.Received(conn, b) }
func (e *end) Finished(token uint64)           { e.g.Done(token, nil) }
func (e *end) Pump()                           { e.g.Pump() }

func (e *end) Named(r xwire.RMAIov, write bool) []byte {
	m, _, no := e.Verify(r.Key, r.Addr, r.Len, write)
	if no != 0 {
		e.t.Fatalf("%s names %v, which is not exposed", e.peer.name, r)
	}
	return m
}

func (e *end) Written(f *rma.Frame, _ bool) {
	if f.HasData {
		e.Completed(&xengine.Completion{Kind: xengine.KindRemoteWrite, HasData: true, Data: f.Data, Len: ranged(f.Ranges)})
	}
}

func ranged(iov []xwire.RMAIov) (n uint64) {
	for _, v := range iov {
		n += v.Len
	}
	return n
}

// deliver delivers the oldest frame of a connection to the peer. It takes the first connection whose frame the peer
// accepts, and reports whether there was one.
func (e *end) deliver() bool {
	for i := range e.low.AuxConns + 1 {
		conn := i
		if e.low.auxFirst {
			conn = e.low.AuxConns - i
		}
		if e.deliverOn(conn) {
			return true
		}
	}
	return false
}

func (e *end) deliverOn(conn int) bool {
	at := slices.IndexFunc(e.low.Out, func(f *rma.Frame) bool { return f.Conn == conn })
	if at < 0 || e.peer.held[conn] {
		return false
	}
	f := e.low.Out[at]
	if !e.low.Deliver(at) {
		e.peer.held[conn] = true
		return false
	}
	if f.Kind == rma.Message || f.Kind == rma.Write {
		clear(e.peer.held) // packets of others may have waited for this one
	}
	return true
}

// sent releases the i-th oldest frame that lower holds.
func (e *end) sent(i int) {
	f := e.low.unsent[i]
	e.low.unsent = slices.Delete(e.low.unsent, i, i+1)
	e.low.Release(f)
}

// settle delivers and releases until nothing is left.
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

// want compares the events and clears them.
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
	for _, f := range e.low.Out {
		if f.Kind != rma.Message {
			s = append(s, string(f.Kind))
			continue
		}
		var p wire.Packet
		if _, err := p.Parse(f.Bytes()); err != nil {
			e.t.Fatal(err)
		}
		s = append(s, p.Type.String())
	}
	return s
}

// clean checks that no resource is held.
func clean(ends ...*end) {
	for _, e := range ends {
		e.t.Helper()
		if !e.g.Idle() || !e.up.Idle() {
			e.t.Fatalf("%s is not idle: gateway %v conn %v", e.name, e.g.Idle(), e.up.Idle())
		}
		if e.low.Exposed() != 0 {
			e.t.Fatalf("%s: memory is still exposed", e.name)
		}
		if e.pool.OutTx != 0 || e.pool.OutAtomic != 0 || e.pool.OutUnexp != 0 || e.pool.OutChunks != 0 {
			e.t.Fatalf("%s: pool: %d operations, %d atomics, %d messages, %d chunks",
				e.name, e.pool.OutTx, e.pool.OutAtomic, e.pool.OutUnexp, e.pool.OutChunks)
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
