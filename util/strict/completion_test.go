package strict

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gofabric/core"
	"gofabric/util/hook"
)

// fakeCQ is a completion queue of the stack below. put adds entries and wakes one sleeper.
type fakeCQ struct {
	core.CQDriver
	mu      sync.Mutex
	entries []core.CQEntry
	errs    []core.CQErrEntry
	fail    error
	wake    chan struct{}
	signals int
	closed  bool
}

func (q *fakeCQ) put(entries ...core.CQEntry) {
	q.mu.Lock()
	q.entries = append(q.entries, entries...)
	q.mu.Unlock()
	q.nudge()
}

func (q *fakeCQ) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *fakeCQ) Read(entries []core.CQEntry, src []core.FIAddr) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := copy(entries, q.entries)
	q.entries = q.entries[n:]
	for i := range n {
		src[i] = core.FIAddr(entries[i].Ctx & 0xf)
	}
	switch {
	case n > 0:
		return n, nil
	case q.fail != nil:
		return 0, q.fail
	case len(q.errs) > 0:
		return 0, core.ErrAvail
	}
	return 0, core.ErrAgain
}

func (q *fakeCQ) ReadErr(e *core.CQErrEntry) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.errs) == 0 {
		return core.ErrAgain
	}
	*e = q.errs[0]
	q.errs = q.errs[1:]
	return nil
}

// SRead sleeps until there is something, a signal, or the end of ctx.
func (q *fakeCQ) SRead(ctx context.Context, entries []core.CQEntry, src []core.FIAddr) (int, error) {
	if n, err := q.Read(entries, src); err != core.ErrAgain {
		return n, err
	}
	select {
	case <-q.wake:
		return q.Read(entries, src)
	case <-ctx.Done():
		return 0, core.ErrTimedOut
	}
}

func (q *fakeCQ) Signal() error { q.mu.Lock(); q.signals++; q.mu.Unlock(); q.nudge(); return nil }
func (q *fakeCQ) Close() error  { q.closed = q.fail == nil; return q.fail }

// queue makes a queue of the domain over a fake, without a seed: completions keep their order.
func (b *below) queue(format core.CQFormat) (*queue, *fakeCQ) {
	f := &fakeCQ{wake: make(chan struct{}, 8)}
	return &queue{CQ: hook.CQ{CQDriver: f}, d: b.d, format: format}, f
}

// ready makes an enabled endpoint with a queue for both directions. set changes its Info before.
func (b *below) ready(set func(i *core.Info)) (*endpoint, *fakeEP, *queue, *fakeCQ) {
	b.d.info.Caps = core.CapMsg | core.CapTagged | core.CapRMA | core.CapAtomic
	b.d.info.Tx.InjectSize = 64
	if set != nil {
		set(b.d.info)
	}
	e, f := b.over()
	e.txFlags, e.rxFlags = 0, 0
	e.s.enabled.Store(true)
	q, cq := b.queue(core.CQFormatTagged)
	e.s.tx.q, e.s.rx.q = q, q
	return e, f, q, cq
}

// read reads all that the queue has, as text.
func (q *queue) all(t *testing.T) string {
	t.Helper()
	var list []string
	for {
		var e [1]core.CQEntry
		n, err := q.Read(e[:], nil)
		switch {
		case n == 1:
			list = append(list, fmt.Sprint(e[0].Ctx))
		case errors.Is(err, core.ErrAvail):
			var x core.CQErrEntry
			if err := q.ReadErr(&x); err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprintf("%d: %v", x.Ctx, error(x.Err)))
		case err == core.ErrAgain:
			return strings.Join(list, ", ")
		default:
			t.Fatal(err)
		}
	}
}

// TestFormats: an entry has the fields of the format that the queue was opened with, and no others.
func TestFormats(t *testing.T) {
	full := core.CQEntry{Ctx: 1, Flags: core.CompRecv, Len: 2, Buf: []byte{3}, Data: 4, Tag: 5}
	for format, want := range map[core.CQFormat]core.CQEntry{
		core.CQFormatContext: {Ctx: 1},
		core.CQFormatMsg:     {Ctx: 1, Flags: core.CompRecv, Len: 2},
		core.CQFormatData:    {Ctx: 1, Flags: core.CompRecv, Len: 2, Buf: full.Buf, Data: 4},
		core.CQFormatTagged:  full,
	} {
		q, f := newBelow(t, Kind{}).queue(format)
		f.put(full)
		var e [1]core.CQEntry
		src := make([]core.FIAddr, 1)
		n, err := q.Read(e[:], src)
		if n != 1 || err != nil || fmt.Sprint(e[0]) != fmt.Sprint(want) || src[0] != 1 {
			t.Errorf("format %v: %d, %v: %+v from %d, want %+v", format, n, err, e[0], src[0], want)
		}
	}
}

// TestReadFrom: a provider that does not know sources refuses each read that asks for them.
func TestReadFrom(t *testing.T) {
	q, f := newBelow(t, Kind{Lacks: LacksReadFrom}).queue(core.CQFormatTagged)
	f.put(core.CQEntry{Ctx: 1})
	e, src := make([]core.CQEntry, 1), make([]core.FIAddr, 1)
	if _, err := q.Read(e, src); !errors.Is(err, core.ErrNoSys) {
		t.Errorf("read: %v", err)
	}
	if _, err := q.SRead(t.Context(), e, src); !errors.Is(err, core.ErrNoSys) {
		t.Errorf("sread: %v", err)
	}
	if n, err := q.SRead(t.Context(), e, nil); n != 1 || err != nil {
		t.Errorf("without sources: %d, %v", n, err)
	}
}

// TestReadFails: an error of the queue below reaches the application. A read of no entries takes none.
func TestReadFails(t *testing.T) {
	q, f := newBelow(t, Kind{}).queue(core.CQFormatTagged)
	f.fail = core.ErrOverrun
	for name, read := range map[string]func() (int, error){
		"read":  func() (int, error) { return q.Read(make([]core.CQEntry, 1), nil) },
		"sread": func() (int, error) { return q.SRead(t.Context(), make([]core.CQEntry, 1), nil) },
	} {
		if _, err := read(); err != core.ErrOverrun {
			t.Errorf("%s: %v", name, err)
		}
	}
	q, f = newBelow(t, Kind{}).queue(core.CQFormatTagged)
	f.put(core.CQEntry{Ctx: 1})
	if n, err := q.Read(nil, nil); n != 0 || err != nil {
		t.Errorf("no entries: %d, %v", n, err)
	}
	if got := q.all(t); got != "1" {
		t.Errorf("then: %q", got)
	}
}

// sleeper is a goroutine in SRead. got has what it returned.
func (q *queue) sleeper(ctx context.Context) chan string {
	got := make(chan string, 1)
	go func() {
		var e [1]core.CQEntry
		n, err := q.SRead(ctx, e[:], nil)
		got <- fmt.Sprintf("%d %d %v", n, e[0].Ctx, err)
	}()
	return got
}

// TestSRead: a sleeping read returns the completion that comes, and the error of a time-out.
func TestSRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBelow(t, Kind{})
		e, f, q, cq := b.ready(nil)
		b.hold(e)
		got := q.sleeper(t.Context())
		synctest.Wait()
		if len(f.posted) != 1 {
			t.Error("what is held back has not left before the sleep")
		}
		cq.put(core.CQEntry{Ctx: 5})
		if s := <-got; s != "1 5 <nil>" {
			t.Errorf("a completion: %s", s)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if s := <-q.sleeper(ctx); s != "0 0 "+core.ErrTimedOut.Error() || time.Since(began) != time.Second {
			t.Errorf("no completion: %s after %v", s, time.Since(began))
		}
		got = q.sleeper(t.Context())
		synctest.Wait()
		cq.mu.Lock()
		cq.errs = append(cq.errs, core.CQErrEntry{CQEntry: core.CQEntry{Ctx: 6}, Err: core.ErrTrunc})
		cq.mu.Unlock()
		cq.nudge()
		if s := <-got; s != "0 0 "+core.ErrAvail.Error() {
			t.Errorf("an error entry: %s", s)
		}
		if s := q.all(t); s != "6: "+core.ErrTrunc.Error() {
			t.Errorf("the entry: %s", s)
		}
	})
}

// TestSReadSilent: completions that the application did not ask for do not end a sleep.
func TestSReadSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, f, q, cq := newBelow(t, Kind{}).ready(nil)
		e.s.tx.quiet = true
		for _, flags := range []core.OpFlags{0, core.OpCompletion} {
			if err := e.Post(core.Op{Call: core.CallSendMsg, IOV: [][]byte{{1}}, Ctx: 9, Flags: flags}); err != nil {
				t.Fatal(err)
			}
		}
		got := q.sleeper(t.Context())
		synctest.Wait()
		cq.put(core.CQEntry{Ctx: f.posted[0].Ctx, Flags: core.CompSend})
		synctest.Wait()
		select {
		case s := <-got:
			t.Fatalf("it woke: %s", s)
		default:
		}
		cq.put(core.CQEntry{Ctx: f.posted[1].Ctx, Flags: core.CompSend})
		if s := <-got; s != "1 9 <nil>" {
			t.Error(s)
		}
	})
}

// TestSleepers: two threads sleep. One of them takes several completions into the window, and wakes the other.
func TestSleepers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, q, cq := newBelow(t, Kind{}).ready(nil)
		a, b := q.sleeper(t.Context()), q.sleeper(t.Context())
		synctest.Wait()
		cq.put(core.CQEntry{Ctx: 5}, core.CQEntry{Ctx: 6}) // wakes one
		x, y := <-a, <-b
		if x > y {
			x, y = y, x
		}
		if x != "1 5 <nil>" || y != "1 6 <nil>" || cq.signals != 1 {
			t.Errorf("%q and %q, %d signals", x, y, cq.signals)
		}
		if q.asleep != 0 || q.nudges != 0 {
			t.Errorf("%d asleep, %d nudges", q.asleep, q.nudges)
		}
		// The application's own signal ends a sleep.
		a = q.sleeper(t.Context())
		synctest.Wait()
		cq.Signal()
		if s := <-a; s != "0 0 "+core.ErrAgain.Error() {
			t.Errorf("after fi_cq_signal: %s", s)
		}
	})
}

// TestRemoteDataWaits: remote CQ data takes the oldest posted receive of its queue. Without one it waits for the
// next one, and strict mode says so.
func TestRemoteDataWaits(t *testing.T) {
	b := newBelow(t, Kind{ConsumesRecv: true})
	e, f, q, cq := b.ready(nil)
	c := &canceling{fakeEP: f}
	e.s.below = c
	data := core.CQEntry{Flags: core.CompRMA | core.CompRemoteWrite | core.CompRemoteCQData, Data: 7}
	cq.put(data)
	if got := q.all(t); got != "" || !strings.Contains(b.log.String(), "FI_RX_CQ_DATA") {
		t.Errorf("without a receive: %q; said %q", got, b.log.String())
	}
	for ctx := core.OpContext(1); ctx <= 2; ctx++ {
		if err := e.Post(core.Op{Call: core.CallRecv, Buf: make([]byte, 8), Addr: core.AddrUnspec, Ctx: ctx}); err != nil {
			t.Fatal(err)
		}
	}
	if got := q.all(t); got != "1" || len(c.canceled) != 1 || c.canceled[0] != f.posted[0].Ctx {
		t.Errorf("with two receives: %q, canceled %v", got, c.canceled)
	}
	cq.errs = append(cq.errs, core.CQErrEntry{CQEntry: core.CQEntry{Ctx: f.posted[0].Ctx}, Err: core.ErrCanceled})
	if got := q.all(t); got != "" || len(b.d.transfers) != 1 {
		t.Errorf("the canceled receive: %q, %d under way", got, len(b.d.transfers))
	}
	c.refuse = core.ErrNoEnt // a message is being received into the buffer
	cq.put(data)
	if got := q.all(t); got != "" {
		t.Errorf("a receive that is in use: %q", got)
	}
	cq.errs = append(cq.errs, core.CQErrEntry{CQEntry: core.CQEntry{Ctx: f.posted[1].Ctx}, Err: core.ErrTrunc})
	if got := q.all(t); got != "2: "+core.ErrTrunc.Error() {
		t.Errorf("its error: %q", got)
	}
}

// canceling is an endpoint that cancels.
type canceling struct {
	*fakeEP
	canceled []core.OpContext
	refuse   error
}

func (c *canceling) Cancel(ctx core.OpContext) error {
	if c.refuse == nil {
		c.canceled = append(c.canceled, ctx)
	}
	return c.refuse
}

// TestChangedArray: with FI_ASYNC_IOV the application must not change its array of buffers before the completion.
func TestChangedArray(t *testing.T) {
	for _, c := range []struct {
		mode   core.Mode
		change bool
		want   string
	}{{core.ModeAsyncIOV, false, "5"}, {core.ModeAsyncIOV, true, "5: " + core.ErrInval.Error()}, {0, true, "5"}} {
		b := newBelow(t, Kind{})
		e, f, q, cq := b.ready(func(i *core.Info) { i.Mode = c.mode })
		iov := [][]byte{make([]byte, 4), make([]byte, 4)}
		if err := e.Post(core.Op{Call: core.CallRecvV, IOV: iov, Addr: core.AddrUnspec, Ctx: 5}); err != nil {
			t.Fatal(err)
		}
		if c.change {
			iov[1] = make([]byte, 4)
		}
		cq.put(core.CQEntry{Ctx: f.posted[0].Ctx, Flags: core.CompRecv})
		if got := q.all(t); got != c.want || strings.Contains(b.log.String(), "FI_ASYNC_IOV") != (c.want != "5") {
			t.Errorf("%+v: %q; said %q", c, got, b.log.String())
		}
	}
}

// TestChecksum: a change anywhere in a short buffer is found, and one at the ends of a long one.
func TestChecksum(t *testing.T) {
	for _, c := range []struct {
		size, at int
		found    bool
	}{{1, 0, true}, {16 << 10, 8 << 10, true}, {64 << 10, 0, true}, {64 << 10, 64<<10 - 1, true}, {64 << 10, 32 << 10, false}} {
		b := make([]byte, c.size)
		before := sumOf([][]byte{b})
		b[c.at] ^= 1
		if found := sumOf([][]byte{b}) != before; found != c.found {
			t.Errorf("byte %d of %d: %v", c.at, c.size, found)
		}
	}
}

// TestClaims: a message that was claimed by a peek is received by the context of the peek. The contexts of a closed
// endpoint are forgotten.
func TestClaims(t *testing.T) {
	b := newBelow(t, Kind{})
	e, f, q, cq := b.ready(nil)
	post := func(flags core.OpFlags) core.OpContext {
		t.Helper()
		if err := e.Post(core.Op{Call: core.CallTRecvMsg, IOV: [][]byte{make([]byte, 8)}, Addr: core.AddrUnspec, Ctx: 5, Flags: flags}); err != nil {
			t.Fatal(err)
		}
		return f.posted[len(f.posted)-1].Ctx
	}
	peek := post(core.OpPeek | core.OpClaim)
	cq.put(core.CQEntry{Ctx: peek, Flags: core.CompRecv})
	if got := q.all(t); got != "5" || len(b.d.claims) != 1 {
		t.Fatalf("peek: %q, %d claims", got, len(b.d.claims))
	}
	if claim := post(core.OpClaim); claim != peek || len(b.d.claims) != 0 {
		t.Errorf("the claim has the context %#x, the peek had %#x; %d claims", claim, peek, len(b.d.claims))
	}
	cq.put(core.CQEntry{Ctx: peek, Flags: core.CompRecv})
	if got := q.all(t); got != "5" || len(b.d.transfers) != 0 {
		t.Errorf("claim: %q, %d under way", got, len(b.d.transfers))
	}
	cq.put(core.CQEntry{Ctx: post(core.OpPeek | core.OpClaim), Flags: core.CompRecv})
	q.all(t)
	post(0)
	if err := e.Close(); err != nil || len(b.d.claims) != 0 || len(b.d.transfers) != 0 {
		t.Errorf("close: %v, %d claims, %d under way", err, len(b.d.claims), len(b.d.transfers))
	}
}

// TestMultiRecv: a buffer for many messages is under way until its last completion.
func TestMultiRecv(t *testing.T) {
	b := newBelow(t, Kind{})
	e, f, q, cq := b.ready(func(i *core.Info) { i.Caps |= core.CapMultiRecv })
	if err := e.Post(core.Op{Call: core.CallRecvMsg, IOV: [][]byte{make([]byte, 64)}, Addr: core.AddrUnspec, Ctx: 5, Flags: core.OpMultiRecv}); err != nil {
		t.Fatal(err)
	}
	id := f.posted[0].Ctx
	cq.put(core.CQEntry{Ctx: id, Flags: core.CompRecv}, core.CQEntry{Ctx: id, Flags: core.CompRecv})
	if got := q.all(t); got != "5, 5" || len(b.d.transfers) != 1 {
		t.Errorf("%q, %d under way", got, len(b.d.transfers))
	}
	cq.put(core.CQEntry{Ctx: id, Flags: core.CompRecv | core.CompMultiRecv})
	if got := q.all(t); got != "5" || len(b.d.transfers) != 0 {
		t.Errorf("the last: %q, %d under way", got, len(b.d.transfers))
	}
	if err := newBelowPost(t, core.Op{Call: core.CallRecvMsg, IOV: [][]byte{{1}}, Addr: core.AddrUnspec, Flags: core.OpMultiRecv}); !errors.Is(err, core.ErrBadFlags) {
		t.Errorf("without FI_MULTI_RECV: %v", err)
	}
}

// newBelowPost posts an operation on a new endpoint.
func newBelowPost(t *testing.T, op core.Op) error {
	e, _, _, _ := newBelow(t, Kind{}).ready(nil)
	return e.Post(op)
}
