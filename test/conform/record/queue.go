package record

import (
	"context"

	"gofabric/core"
	"gofabric/util/hook"
)

// queue is a completion queue. Its entries show which flags completions have.
type queue struct {
	hook.CQ
	object
}

// read records the result of a read. from is the name of the call with sources, plain of the one without.
func (q *queue) read(plain, from string, entries []core.CQEntry, src []core.FIAddr,
	read func() (int, error)) (int, error) {
	name := plain
	if src != nil {
		name = from
	}
	if q.r.Lacks(name) {
		return 0, core.ErrAgain
	}
	n, err := read()
	q.r.call(name, err)
	for i := range max(n, 0) {
		q.r.bits("completion", uint64(entries[i].Flags), nil)
		entries[i].Flags = Mask(q.r, "completion", entries[i].Flags)
	}
	return n, err
}

func (q *queue) Read(entries []core.CQEntry, src []core.FIAddr) (int, error) {
	return q.read("fi_cq_read", "fi_cq_readfrom", entries, src, func() (int, error) { return q.CQ.Read(entries, src) })
}

func (q *queue) SRead(ctx context.Context, entries []core.CQEntry, src []core.FIAddr) (int, error) {
	return q.read("fi_cq_sread", "fi_cq_sreadfrom", entries, src,
		func() (int, error) { return q.CQ.SRead(ctx, entries, src) })
}

func (q *queue) ReadErr(e *core.CQErrEntry) error {
	return q.r.do("fi_cq_readerr", func() error { return q.CQ.ReadErr(e) })
}

func (q *queue) Signal() error { return q.r.do("fi_cq_signal", q.CQ.Signal) }

func (q *queue) WaitFD() (int, error) { return get(q.r, "FI_GETWAIT", q.CQ.WaitFD) }

func (q *queue) StrError(provErrno int) string {
	return value(q.r, "fi_cq_strerror", func() string { return q.CQ.StrError(provErrno) })
}

type eventQueue struct {
	hook.EQ
	object
}

func (q *eventQueue) event(name string, ev *core.EQEvent, flags core.EQFlags, err error) error {
	if err == nil {
		q.r.value("event", uint64(ev.Type), nil)
		if q.r.hides("event", uint64(ev.Type)) {
			*ev = core.EQEvent{}
			return core.ErrAgain
		}
	}
	return noteFlags(q.r, name, flags, err)
}

func (q *eventQueue) Read(ev *core.EQEvent, flags core.EQFlags) error {
	if q.r.Lacks("fi_eq_read") {
		return core.ErrAgain
	}
	return q.event("fi_eq_read", ev, flags, q.EQ.Read(ev, Mask(q.r, "fi_eq_read", flags)))
}

func (q *eventQueue) SRead(ctx context.Context, ev *core.EQEvent, flags core.EQFlags) error {
	if q.r.Lacks("fi_eq_sread") {
		return core.ErrAgain
	}
	return q.event("fi_eq_sread", ev, flags, q.EQ.SRead(ctx, ev, flags))
}

func (q *eventQueue) ReadErr(e *core.EQErrEntry, flags core.EQFlags) error {
	if q.r.Lacks("fi_eq_readerr") {
		return core.ErrAgain
	}
	return noteFlags(q.r, "fi_eq_readerr", flags, q.EQ.ReadErr(e, flags))
}

func (q *eventQueue) Write(ev core.EQEvent, flags core.EQFlags) error {
	return q.r.do("fi_eq_write", func() error { return q.EQ.Write(ev, flags) })
}

func (q *eventQueue) WaitFD() (int, error) { return get(q.r, "FI_GETWAIT", q.EQ.WaitFD) }

func (q *eventQueue) StrError(provErrno int) string {
	return value(q.r, "fi_eq_strerror", func() string { return q.EQ.StrError(provErrno) })
}

type counter struct {
	hook.Counter
	object
}

func (c *counter) Value() uint64 { return value(c.r, "fi_cntr_read", c.Counter.Value) }

func (c *counter) ErrValue() uint64 { return value(c.r, "fi_cntr_readerr", c.Counter.ErrValue) }

// changes are the calls that change counters.
var changes = [...]string{
	core.CounterAdd:    "fi_cntr_add",
	core.CounterAddErr: "fi_cntr_adderr",
	core.CounterSet:    "fi_cntr_set",
	core.CounterSetErr: "fi_cntr_seterr",
}

func (c *counter) Change(what core.CounterChange, v uint64) error {
	return c.r.do(changes[what], func() error { return c.Counter.Change(what, v) })
}

func (c *counter) Wait(ctx context.Context, threshold uint64) error {
	return c.r.do("fi_cntr_wait", func() error { return c.Counter.Wait(ctx, threshold) })
}

func (c *counter) WaitFD() (int, error) { return get(c.r, "FI_GETWAIT", c.Counter.WaitFD) }

type waitSet struct {
	hook.WaitSet
	object
}

func (w *waitSet) Wait(ctx context.Context) error {
	return w.r.do("fi_wait", func() error { return w.WaitSet.Wait(ctx) })
}

func (w *waitSet) WaitFD() (int, error) { return get(w.r, "FI_GETWAIT", w.WaitSet.WaitFD) }

type pollSet struct {
	hook.PollSet
	object
}

func (p *pollSet) Add(obj any, self core.Object) error {
	return p.r.do("fi_poll_add", func() error { return p.PollSet.Add(obj, self) })
}

func (p *pollSet) Del(obj any) error {
	return p.r.do("fi_poll_del", func() error { return p.PollSet.Del(obj) })
}

func (p *pollSet) Poll(ready []core.Object) (int, error) {
	return get(p.r, "fi_poll", func() (int, error) { return p.PollSet.Poll(ready) })
}
