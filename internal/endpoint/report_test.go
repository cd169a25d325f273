package endpoint_test

// This file tests reports of completions: a queue entry, a count, or neither.

import (
	"errors"
	"strings"
	"testing"

	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// counters binds a counter for each Bind flag to an endpoint that is not enabled yet.
func counters(t testing.TB, d *domain, e *loopEndpoint) map[core.BindFlags]*core.Counter {
	t.Helper()
	all := map[core.BindFlags]*core.Counter{}
	for _, f := range []core.BindFlags{core.BindSend, core.BindRecv, core.BindRead, core.BindWrite, core.BindRemoteRead,
		core.BindRemoteWrite} {
		all[f] = d.counter(t)
		must(t, e.BindCounter(all[f], f))
	}
	return all
}

// reporter is an endpoint with a queue for each direction and a counter for each kind of traffic.
type reporter struct {
	*loopEndpoint
	d      *domain
	tx, rx *core.CompletionQueue
	count  map[core.BindFlags]*core.Counter
}

func newReporter(t testing.TB) *reporter {
	t.Helper()
	f := newFabric()
	d := newDomain(t, f)
	r := &reporter{loopEndpoint: d.open(t, testInfo(allCaps)), d: d, tx: d.queue(t), rx: d.queue(t)}
	must(t, r.BindCQ(r.tx, core.BindTransmit))
	must(t, r.BindCQ(r.rx, core.BindRecv))
	r.count = counters(t, d, r.loopEndpoint)
	must(t, r.Enable())
	t.Cleanup(func() {
		_ = r.Close() // a test may have closed it
		for _, c := range r.count {
			must(t, c.Close())
		}
		for _, o := range []core.Object{r.tx, r.rx, d, f} {
			must(t, o.Close())
		}
	})
	return r
}

// counted returns the counters that have increased since the last call, and resets them to 0.
func (r *reporter) counted(t testing.TB) (done, failed core.BindFlags) {
	t.Helper()
	for f, c := range r.count {
		if n := c.Value(); n > 0 {
			done |= f
		}
		if n := c.ErrValue(); n > 0 {
			failed |= f
		}
		must(t, c.Set(0))
		must(t, c.SetErr(0))
	}
	return done, failed
}

// TestReportKinds: each kind of operation is counted as fi_cntr(3) says, and reported to the queue of its
// direction.
func TestReportKinds(t *testing.T) {
	r := newReporter(t)
	const given = core.CompMsg | core.CompSend
	for _, c := range []struct {
		kind     engine.Kind
		atomic   bool
		counter  core.BindFlags
		received bool
		flags    core.CompFlags
	}{
		{engine.KindSend, false, core.BindSend, false, given},
		{engine.KindRead, false, core.BindRead, false, given},
		{engine.KindWrite, false, core.BindWrite, false, given},
		{engine.KindAtomic, false, core.BindWrite, false, given},
		{engine.KindFetch, false, core.BindRead, false, given},
		{engine.KindCompare, false, core.BindRead, false, given},
		{engine.KindColl, false, core.BindWrite, false, given},
		{engine.KindRecv, false, core.BindRecv, true, given},
		{engine.KindRemoteWrite, false, core.BindRemoteWrite, true, core.CompRMA | core.CompRemoteWrite},
		{engine.KindRemoteWrite, true, core.BindRemoteWrite, true, core.CompAtomic | core.CompRemoteWrite},
	} {
		r.d.locked(func() {
			r.drv.Completed(&engine.Completion{Kind: c.kind, Atomic: c.atomic, Ctx: 5, Flags: uint64(given), Len: 3,
				Tag: 7, Src: 2})
		})
		q, other := r.tx, r.rx
		if c.received {
			q, other = r.rx, r.tx
		}
		e := next(t, q)
		none(t, other)
		if e.Ctx != 5 || e.Flags != c.flags || c.received && (e.Len != 3 || e.Tag != 7) || !c.received &&
			(e.Len != 0 || e.Tag != 0) {
			t.Errorf("kind %v: entry %+v, want flags %v", c.kind, e, c.flags)
		}
		if done, failed := r.counted(t); done != c.counter || failed != 0 {
			t.Errorf("kind %v: counted %v, failed %v; want %v, none", c.kind, done, failed, c.counter)
		}
	}
}

// TestReportOptions checks the optional parts of a completion.
func TestReportOptions(t *testing.T) {
	r := newReporter(t)
	buf := []byte("here")
	recv := engine.Completion{Kind: engine.KindRecv, Ctx: 1, Flags: uint64(core.CompMsg | core.CompRecv),
		Len: 4, Buf: buf}
	for name, c := range map[string]struct {
		change func(c *engine.Completion)
		queued bool
		flags  core.CompFlags // besides those given
		counts bool
	}{
		"plain": {func(*engine.Completion) {}, true, 0, true},
		"with data": {func(c *engine.Completion) { c.HasData, c.Data = true, 9 }, true,
			core.CompRemoteCQData, true},
		"buffer released": {func(c *engine.Completion) { c.Release = true }, true, core.CompMultiRecv, true},
		"silent":          {func(c *engine.Completion) { c.Silent = true }, false, 0, true},
		"silent, buffer released": {func(c *engine.Completion) { c.Silent, c.Release = true, true }, true,
			core.CompMultiRecv, true},
		"injected": {func(c *engine.Completion) { c.Kind, c.Inject = engine.KindSend, true },
			false, 0, false},
		"a message was looked for": {func(c *engine.Completion) { c.Peek = true }, true, 0, false},
	} {
		x := recv
		c.change(&x)
		r.d.locked(func() { r.drv.Completed(&x) })
		if !c.queued {
			none(t, r.rx)
			none(t, r.tx)
		} else if e := next(t, r.rx); e.Flags != core.CompMsg|core.CompRecv|c.flags || e.Len != 4 || string(e.Buf) != "here" || e.Data != x.Data {
			t.Errorf("%s: entry %+v", name, e)
		}
		if done, _ := r.counted(t); done&core.BindRecv != 0 != c.counts {
			t.Errorf("%s: counted %v", name, done)
		}
	}
}

// TestReportErrors: a failed operation makes an error entry with operation, addresses and reason, and increments
// its counter's errors.
func TestReportErrors(t *testing.T) {
	r := newReporter(t)
	const flags = core.CompTagged | core.CompRecv
	for _, c := range []struct {
		name   string
		c      engine.Completion
		q      *core.CompletionQueue
		want   core.CQErrEntry
		failed core.BindFlags
		says   []string
	}{
		{"truncated receive", engine.Completion{Kind: engine.KindRecv, Ctx: 1, Flags: uint64(flags), Len: 8, OLen: 4,
			Tag: 6, Data: 5, HasData: true, Src: 3, Err: engine.ErrTruncated}, r.rx, core.CQErrEntry{CQEntry: core.CQEntry{Ctx: 1, Flags: flags | core.CompRemoteCQData, Len: 8, Tag: 6, Data: 5}, OLen: 4, Err: core.ErrTrunc, SrcAddr: 3}, core.BindRecv, []string{"loop: receive", "to 10.0.0.2:7"}},
		{"cancelled receive", engine.Completion{Kind: engine.KindRecv, Ctx: 2, Release: true, Err: engine.ErrCanceled},
			r.rx, core.CQErrEntry{CQEntry: core.CQEntry{Ctx: 2, Flags: core.CompMultiRecv}, Err: core.ErrCanceled},
			core.BindRecv, []string{"loop: receive"}},
		{"write that timed out", engine.Completion{Kind: engine.KindWrite, Ctx: 3, Err: core.ErrTimedOut}, r.tx,
			core.CQErrEntry{CQEntry: core.CQEntry{Ctx: 3}, Err: core.ErrTimedOut}, core.BindWrite,
			[]string{"loop: write", "wait longer"}},
		{"injected send, which is reported in any case",
			engine.Completion{Kind: engine.KindSend, Inject: true, Silent: true, Err: engine.ErrClosed}, r.tx,
			core.CQErrEntry{Err: core.ErrCanceled}, core.BindSend, []string{"loop: send"}},
		{"nothing found", engine.Completion{Kind: engine.KindRecv, Ctx: 4, Peek: true, Err: engine.ErrNoMessage}, r.rx,
			core.CQErrEntry{CQEntry: core.CQEntry{Ctx: 4}, Err: core.ErrNoMsg}, 0, nil},
	} {
		r.d.locked(func() { r.drv.Completed(&c.c) })
		var e core.CQErrEntry
		var es [1]core.CQEntry
		if n, err := c.q.Read(es[:]); n > 0 || !errors.Is(err, core.ErrAvail) {
			t.Fatalf("%s: %d entries, %v", c.name, n, err)
		}
		must(t, c.q.ReadErr(&e))
		if e.Ctx != c.want.Ctx || e.Flags != c.want.Flags || e.Len != c.want.Len || e.Tag != c.want.Tag ||
			e.Data != c.want.Data || e.OLen != c.want.OLen || e.Err != c.want.Err || e.SrcAddr != c.want.SrcAddr {
			t.Errorf("%s: %+v, want %+v", c.name, e, c.want)
		}
		for _, s := range c.says {
			if !strings.Contains(e.Detail, s) {
				t.Errorf("%s: %q does not say %q", c.name, e.Detail, s)
			}
		}
		if done, failed := r.counted(t); done != 0 || failed != c.failed {
			t.Errorf("%s: counted %v, failed %v; want none, %v", c.name, done, failed, c.failed)
		}
	}
}

// TestReportOne: operations of endpoints without connections are reported like others.
func TestReportOne(t *testing.T) {
	r := newReporter(t)
	buf := []byte("datagram")
	for _, silent := range []bool{false, true} {
		r.d.locked(func() {
			r.drv.SentOne(1, core.CompMsg|core.CompSend, 8, silent)
			r.drv.ReceivedOne(2, core.CompMsg|core.CompRecv, 8, 4, buf, silent)
		})
		if done, _ := r.counted(t); done != core.BindSend|core.BindRecv {
			t.Errorf("silent %v: counted %v", silent, done)
		}
		if silent {
			none(t, r.tx)
			none(t, r.rx)
			continue
		}
		if e := next(t, r.tx); e.Ctx != 1 || e.Flags != core.CompMsg|core.CompSend || e.Len != 0 {
			t.Errorf("sent: %+v", e)
		}
		if e := next(t, r.rx); e.Ctx != 2 || e.Flags != core.CompMsg|core.CompRecv || e.Len != 8 ||
			string(e.Buf) != "datagram" {
			t.Errorf("received: %+v", e)
		}
	}
}

// ownerOf counts the completions of internal operations.
type ownerOf struct{ ends int }

func (o *ownerOf) Done(*engine.Completion) { o.ends++ }

// TestReportOwned: only the owner gets the completion of its operation, also after the endpoint has closed. A
// closed endpoint reports no other completion.
func TestReportOwned(t *testing.T) {
	r := newReporter(t)
	o := &ownerOf{}
	owned := engine.Completion{Kind: engine.KindSend, Owner: o}
	r.d.locked(func() { r.drv.Completed(&owned) })
	must(t, r.Close())
	r.d.locked(func() {
		r.drv.Completed(&owned)
		r.drv.Completed(&engine.Completion{Kind: engine.KindSend})
		r.drv.Completed(&engine.Completion{Kind: engine.KindRecv, Err: engine.ErrClosed})
		r.drv.ReceivedOne(2, 0, 8, 4, nil, false)
	})
	none(t, r.tx)
	none(t, r.rx)
	if o.ends != 2 {
		t.Errorf("the owner got %d completions, want 2", o.ends)
	}
}
