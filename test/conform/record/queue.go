package record

import (
	"context"

	"gofabric/core"
)

// queue is a completion queue. Its entries tell which flags completions really bring.
type queue struct {
	core.CompletionQueue
	f *fabric
	r *Recorder
}

func (q *queue) inner() core.Object { return q.CompletionQueue }
func (q *queue) Close() error       { return q.f.close(q.CompletionQueue) }

// entries notes what a read returned.
func (q *queue) entries(name string, entries []core.CQEntry, n int, err error) (int, error) {
	q.r.call(name, err)
	for i := range max(n, 0) {
		q.r.bits("completion", uint64(entries[i].Flags), nil)
		entries[i].Flags = q.r.Mask("completion", entries[i].Flags)
	}
	return n, err
}

func (q *queue) Read(entries []core.CQEntry) (int, error) {
	if q.r.Lacks("fi_cq_read") {
		return 0, core.ErrAgain
	}
	n, err := q.CompletionQueue.Read(entries)
	return q.entries("fi_cq_read", entries, n, err)
}

func (q *queue) ReadFrom(entries []core.CQEntry, src []core.FIAddr) (int, error) {
	if q.r.Lacks("fi_cq_readfrom") {
		return 0, core.ErrAgain
	}
	n, err := q.CompletionQueue.ReadFrom(entries, src)
	return q.entries("fi_cq_readfrom", entries, n, err)
}

func (q *queue) SRead(ctx context.Context, entries []core.CQEntry) (int, error) {
	if q.r.Lacks("fi_cq_sread") {
		return 0, core.ErrAgain
	}
	n, err := q.CompletionQueue.SRead(ctx, entries)
	return q.entries("fi_cq_sread", entries, n, err)
}

func (q *queue) SReadFrom(ctx context.Context, entries []core.CQEntry, src []core.FIAddr) (int, error) {
	if q.r.Lacks("fi_cq_sreadfrom") {
		return 0, core.ErrAgain
	}
	n, err := q.CompletionQueue.SReadFrom(ctx, entries, src)
	return q.entries("fi_cq_sreadfrom", entries, n, err)
}

func (q *queue) ReadErr(e *core.CQErrEntry) error {
	return q.r.do("fi_cq_readerr", func() error { return q.CompletionQueue.ReadErr(e) })
}

func (q *queue) Signal() error {
	return q.r.do("fi_cq_signal", func() error { return q.CompletionQueue.Signal() })
}

func (q *queue) WaitFD() (int, error) {
	return get(q.r, "FI_GETWAIT", func() (int, error) { return q.CompletionQueue.WaitFD() })
}

func (q *queue) StrError(provErrno int) string {
	return value(q.r, "fi_cq_strerror", func() string { return q.CompletionQueue.StrError(provErrno) })
}

// eventQueue is an event queue whose events name the objects that the application knows.
type eventQueue struct {
	core.EventQueue
	f *fabric
	r *Recorder
}

func (q *eventQueue) inner() core.Object { return q.EventQueue }
func (q *eventQueue) Close() error       { return q.f.close(q.EventQueue) }

func (q *eventQueue) event(name string, ev *core.EQEvent, flags core.Flags, err error) error {
	if err == nil {
		if ev.Object != nil {
			ev.Object = q.f.front(ev.Object)
		}
		q.r.value("event", uint64(ev.Type), nil)
		if q.r.hides("event", uint64(ev.Type)) {
			*ev = core.EQEvent{}
			return core.ErrAgain
		}
	}
	return q.r.flags(name, flags, err)
}

func (q *eventQueue) Read(ev *core.EQEvent, flags core.Flags) error {
	if q.r.Lacks("fi_eq_read") {
		return core.ErrAgain
	}
	return q.event("fi_eq_read", ev, flags, q.EventQueue.Read(ev, q.r.Mask("fi_eq_read", flags)))
}

func (q *eventQueue) SRead(ctx context.Context, ev *core.EQEvent, flags core.Flags) error {
	if q.r.Lacks("fi_eq_sread") {
		return core.ErrAgain
	}
	return q.event("fi_eq_sread", ev, flags, q.EventQueue.SRead(ctx, ev, flags))
}

func (q *eventQueue) ReadErr(e *core.EQErrEntry, flags core.Flags) error {
	if q.r.Lacks("fi_eq_readerr") {
		return core.ErrAgain
	}
	err := q.EventQueue.ReadErr(e, flags)
	if err == nil && e.Object != nil {
		e.Object = q.f.front(e.Object)
	}
	return q.r.flags("fi_eq_readerr", flags, err)
}

func (q *eventQueue) Write(ev core.EQEvent, flags core.Flags) error {
	return q.r.do("fi_eq_write", func() error { return q.EventQueue.Write(ev, flags) })
}

func (q *eventQueue) WaitFD() (int, error) {
	return get(q.r, "FI_GETWAIT", func() (int, error) { return q.EventQueue.WaitFD() })
}

func (q *eventQueue) StrError(provErrno int) string {
	return value(q.r, "fi_eq_strerror", func() string { return q.EventQueue.StrError(provErrno) })
}

// counter is a counter.
type counter struct {
	core.Counter
	f *fabric
	r *Recorder
}

func (c *counter) inner() core.Object { return c.Counter }
func (c *counter) Close() error       { return c.f.close(c.Counter) }

func (c *counter) Value() uint64 {
	return value(c.r, "fi_cntr_read", c.Counter.Value)
}

func (c *counter) ErrValue() uint64 {
	return value(c.r, "fi_cntr_readerr", c.Counter.ErrValue)
}

func (c *counter) Add(v uint64) error {
	return c.r.do("fi_cntr_add", func() error { return c.Counter.Add(v) })
}
func (c *counter) AddErr(v uint64) error {
	return c.r.do("fi_cntr_adderr", func() error { return c.Counter.AddErr(v) })
}
func (c *counter) Set(v uint64) error {
	return c.r.do("fi_cntr_set", func() error { return c.Counter.Set(v) })
}
func (c *counter) SetErr(v uint64) error {
	return c.r.do("fi_cntr_seterr", func() error { return c.Counter.SetErr(v) })
}

func (c *counter) Wait(ctx context.Context, threshold uint64) error {
	return c.r.do("fi_cntr_wait", func() error { return c.Counter.Wait(ctx, threshold) })
}

func (c *counter) WaitFD() (int, error) {
	return get(c.r, "FI_GETWAIT", func() (int, error) { return c.Counter.WaitFD() })
}
