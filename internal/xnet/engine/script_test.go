// This file has the script language of the tests: two connections back to back. The test moves the bytes, and must
// expect every event.

package engine

import (
	"fmt"
	"strings"
	"testing"

	"gofabric/internal/xnet/wire"
)

const second = int64(1e9)

// memory is registered memory. The key is an index.
type memory struct {
	regions  [][]byte
	readOnly map[uint64]bool
	counted  []string
	broken   error // of Persist
}

func (m *memory) Verify(key, addr, length uint64, write bool) ([]byte, Region, Refusal) {
	if key >= uint64(len(m.regions)) {
		return nil, nil, wire.RefusedKey
	}
	if write && m.readOnly[key] {
		return nil, nil, wire.RefusedRights
	}
	r := m.regions[key]
	if addr > uint64(len(r)) || length > uint64(len(r))-addr {
		return nil, nil, wire.RefusedRange
	}
	return r[addr : addr+length : addr+length], m, 0
}

func (m *memory) RemoteAccess(write bool, n uint64) {
	m.counted = append(m.counted, fmt.Sprint(write, n))
}

func (m *memory) Persist(mem []byte) error {
	m.counted = append(m.counted, fmt.Sprint("persist ", len(mem)))
	return m.broken
}

// end is one end of a connection, with its domain and endpoint.
type end struct {
	t       *testing.T
	name    string
	pool    Pool
	cfg     Config
	rx      *RxContext
	mem     memory
	c       *Conn
	peer    *end
	events  []string
	resumed int
	replied int
	ended   func(c *Completion) // called first with each completion
	wire    []byte              // what this end transmitted and the peer has not received
}

// Completed and the methods after it implement Sink.
func (e *end) Sent(s *Send) {
	c := s.Completion(e.c.Src)
	e.Completed(&c)
}

func (e *end) Received(r *RxOp) {
	c := r.Completion()
	e.Completed(&c)
}

func (e *end) Completed(c *Completion) {
	if e.ended != nil {
		e.ended(c)
	}
	if c.Owner != nil {
		c.Owner.Done(c)
		return
	}
	kind := [...]string{"send", "recv", "read", "write", "rwrite", "rread", "atomic", "fetch", "compare"}[c.Kind]
	var b strings.Builder
	if c.Inject {
		b.WriteString("inject ")
	} else if c.Silent {
		b.WriteString("silent ")
	}
	if c.Atomic {
		b.WriteString("atomic ")
	}
	fmt.Fprintf(&b, "%s %d", kind, c.Ctx)
	if c.Kind != KindSend && (c.Err == nil || c.Err == ErrTruncated) {
		fmt.Fprintf(&b, " len %d", c.Len)
	}
	if c.Kind == KindRecv && c.Tag != 0 {
		fmt.Fprintf(&b, " tag %d", c.Tag)
	}
	if c.Kind == KindRecv && c.Src != AnySource && c.Err == nil {
		fmt.Fprintf(&b, " src %d", c.Src)
	}
	if c.HasData {
		fmt.Fprintf(&b, " data %d", c.Data)
	}
	if c.Release {
		b.WriteString(" release")
	}
	if c.OLen != 0 {
		fmt.Fprintf(&b, " over %d", c.OLen)
	}
	if c.Err != nil {
		fmt.Fprintf(&b, ": %v", c.Err)
	}
	e.events = append(e.events, b.String())
}

func (e *end) Requested(_ *Conn, data []byte) {
	e.events = append(e.events, fmt.Sprintf("requested %q", data))
}
func (e *end) Connected(_ *Conn, data []byte) {
	e.events = append(e.events, fmt.Sprintf("connected %q", data))
}
func (e *end) Failed(_ *Conn, err error, data []byte) {
	e.events = append(e.events, fmt.Sprintf("failed %q: %v", data, err))
}
func (e *end) Replied(*Conn) { e.replied++ }
func (e *end) Resumed(*Conn) { e.resumed++ }

// want compares and removes the next events.
func (e *end) want(events ...string) {
	e.t.Helper()
	for _, w := range events {
		if len(e.events) == 0 {
			e.t.Fatalf("%s: no event, want %q", e.name, w)
		}
		got := e.events[0]
		e.events = e.events[1:]
		if got != w {
			e.t.Fatalf("%s: event %q, want %q", e.name, got, w)
		}
	}
}

func (e *end) wantState(s State) {
	e.t.Helper()
	if e.c.State() != s {
		e.t.Fatalf("%s: %v, want %v", e.name, e.c.State(), s)
	}
}

// script has the two ends a and b, and the time.
type script struct {
	t      *testing.T
	a, b   *end
	now    int64
	cut    int  // bytes per Receive
	direct bool // receive into Target where there is one
}

func defaults() Config {
	return Config{StageMax: 256, StageLimit: 64 << 10, TxDepth: 64, RendezvousOver: 1 << 62, HandshakeNanos: 5 * second,
		InternalMax: 64}
}

func newEnd(t *testing.T, name string) *end {
	e := &end{t: t, name: name, cfg: defaults()}
	e.rx = NewRxContext(&e.pool, e)
	e.mem.readOnly = map[uint64]bool{}
	return e
}

// newScript makes an active connection a and a passive one b. At the end of the test nothing may be in use.
func newScript(t *testing.T) *script {
	s := &script{t: t, a: newEnd(t, "a"), b: newEnd(t, "b"), cut: 1 << 20}
	s.a.peer, s.b.peer = s.b, s.a
	s.a.c = NewActive(&s.a.pool, &s.a.cfg, s.a.rx, &s.a.mem, s.a, s.now)
	s.b.c = NewPassive(&s.b.pool, &s.b.cfg, s.b, s.now)
	s.b.c.Attach(&s.b.pool, &s.b.cfg, s.b.rx, &s.b.mem, s.b)
	t.Cleanup(func() { s.a.finish(); s.b.finish() })
	return s
}

// finish closes the end and checks that nothing is in use.
func (e *end) finish() {
	if e.t.Failed() {
		return
	}
	if len(e.events) > 0 {
		e.t.Errorf("%s: unexpected %q", e.name, e.events)
	}
	e.c.Drop(ErrClosed)
	e.rx.Flush(ErrClosed)
	e.rx.Release()
	e.checkPool()
}

func (e *end) checkPool() {
	e.t.Helper()
	if p := &e.pool; p.OutChunks != 0 || p.OutTx != 0 || p.OutRx != 0 || p.OutUnexp != 0 || p.OutAtomic != 0 {
		e.t.Errorf("%s: left over: %d chunks, %d sends, %d receives, %d messages", e.name, p.OutChunks, p.OutTx,
			p.OutRx, p.OutUnexp)
	}
	if e.rx.UnexpectedBytes() != 0 || len(e.rx.stalled) != 0 || e.c.ops != 0 || e.c.replies != 0 || e.c.waits != 0 ||
		e.c.fetching != 0 || e.c.results != 0 || e.c.out.queued != 0 || e.c.out.bytes != 0 {
		e.t.Errorf("%s: counters are off: %d unexpected bytes, %d stalled, %d ops, %d replies, %d staged, %d queued",
			e.name, e.rx.UnexpectedBytes(), len(e.rx.stalled), e.c.ops, e.c.replies, e.c.out.queued, e.c.out.bytes)
	}
}

// connect executes the handshake.
func (s *script) connect() *script {
	s.t.Helper()
	must(s.t, s.a.c.Start([]byte("hello")))
	s.flow()
	s.b.want(`requested "hello"`)
	must(s.t, s.b.c.Accept([]byte("welcome")))
	s.b.want(`connected ""`)
	s.flow()
	s.a.want(`connected "welcome"`)
	s.a.c.Src, s.b.c.Src = 1, 2 // b's number at a, a's at b
	s.b.resumed = 0
	return s
}

// connected is a script with both ends up.
func connected(t *testing.T) *script { return newScript(t).connect() }

// variants runs f with streams cut in different ways.
func variants(t *testing.T, f func(s *script)) {
	for _, cut := range []int{1, 15, 16, 17, 4099, 1 << 20} {
		for _, direct := range []bool{false, true} {
			t.Run(fmt.Sprintf("cut %d direct %v", cut, direct), func(t *testing.T) {
				s := newScript(t)
				s.cut, s.direct = cut, direct
				f(s)
			})
		}
	}
}

// advance moves the time forward.
func (s *script) advance(d int64) {
	s.now += d
	s.a.c.Advance(s.now)
	s.b.c.Advance(s.now)
}

// transmit moves up to n bytes from the engine to the wire and returns their number.
func (e *end) transmit(n int) int {
	sum := 0
	for sum < n {
		first, list := e.c.Pending(make([][]byte, 0, 4), n-sum)
		if first != nil {
			list = [][]byte{first}
		}
		k := 0
		for _, b := range list {
			b = b[:min(len(b), n-sum-k)]
			e.wire = append(e.wire, b...)
			k += len(b)
		}
		if k == 0 {
			break
		}
		e.c.Transmitted(k)
		sum += k
	}
	return sum
}

// receive moves up to n bytes from the wire into the peer's engine and returns their number.
func (s *script) receive(to *end, n int) int {
	from := to.peer
	if to.c.Stalled() || to.c.State() == Closed {
		return 0
	}
	b := from.wire[:min(n, len(from.wire))]
	from.wire = from.wire[len(b):]
	direct := 0
	if s.direct {
		direct = copy(to.c.Target(), b)
	}
	if len(b) > 0 {
		to.c.Receive(direct, append([]byte(nil), b[direct:]...))
		to.unpause()
	}
	return len(b)
}

// flow moves bytes in both directions until there are none.
func (s *script) flow() {
	for {
		n := s.a.transmit(1<<30) + s.b.transmit(1<<30)
		n += s.receive(s.b, s.cut) + s.receive(s.a, s.cut)
		if n == 0 {
			return
		}
	}
}

// inject gives bytes to the end as if the peer had sent them.
func (e *end) inject(b []byte) {
	e.c.Receive(0, b)
	e.unpause()
}

// unpause continues a paused connection, as an idle driver does.
func (e *end) unpause() {
	for e.c.Paused() {
		e.c.Unpause()
	}
}

// header encodes a header for inject.
func header(h wire.Header, payload uint64) []byte {
	h.SetPayload(payload)
	return h.Append(nil, wire.Little)
}

// send posts a send and expects no error.
func (e *end) send(o Send, payload ...[]byte) {
	e.t.Helper()
	must(e.t, o.SetIOV(payload))
	must(e.t, e.c.Submit(&o))
}

// recv posts an untagged receive from src, and trecv a tagged one.
func (e *end) recv(ctx, src uint64, iov ...[]byte) {
	e.t.Helper()
	op := e.rx.NewOp()
	op.Ctx = ctx
	must(e.t, op.SetIOV(iov))
	e.rx.PostMsg(op, src)
}

func (e *end) trecv(ctx, src, tag, ignore uint64, iov ...[]byte) {
	e.t.Helper()
	op := e.rx.NewOp()
	op.Ctx = ctx
	must(e.t, op.SetIOV(iov))
	e.rx.PostTagged(op, src, tag, ignore)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pattern returns n bytes that depend on seed.
func pattern(seed, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8 + seed*31)
	}
	return b
}

func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if string(got) != string(want) {
		t.Fatalf("%s: wrong content (%d bytes, want %d)", what, len(got), len(want))
	}
}
