package strict

import (
	"context"

	"gofabric/core"
)

// eventQueue is an event queue whose events name the objects that the application knows.
type eventQueue struct {
	core.EventQueue
	f *fabric
}

func (q *eventQueue) inner() core.Object { return q.EventQueue }

// Read is fi_eq_read(3).
func (q *eventQueue) Read(ev *core.EQEvent, flags core.Flags) error {
	q.f.release()
	return q.named(ev, q.EventQueue.Read(ev, flags))
}

// SRead is fi_eq_sread(3).
func (q *eventQueue) SRead(ctx context.Context, ev *core.EQEvent, flags core.Flags) error {
	q.f.release()
	return q.named(ev, q.EventQueue.SRead(ctx, ev, flags))
}

func (q *eventQueue) named(ev *core.EQEvent, err error) error {
	if err == nil && ev.Object != nil {
		ev.Object = q.f.front(ev.Object)
	}
	return err
}

// ReadErr is fi_eq_readerr(3).
func (q *eventQueue) ReadErr(e *core.EQErrEntry, flags core.Flags) error {
	err := q.EventQueue.ReadErr(e, flags)
	if err == nil && e.Object != nil {
		e.Object = q.f.front(e.Object)
	}
	return err
}
