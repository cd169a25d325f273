package strict

import "gofabric/core"

// Triggered operations and deferred work name objects, which are those of this package (fi_trigger(3)).

// trigger is t with the counter below; nil for nil.
func trigger(t *core.TriggeredContext) *core.TriggeredContext {
	if t == nil || t.Cntr == nil {
		return t
	}
	b := *t
	b.Cntr = peel(t.Cntr)
	return &b
}

// bare is peel for what may be nil.
func bare[T core.Object](x T) T {
	if any(x) == nil {
		return x
	}
	return peel(x)
}

// QueueWork is FI_QUEUE_WORK (fi_trigger(3)). The operation is not checked, and its end is reported as below.
func (d *domain) QueueWork(w *core.DeferredWork) error {
	if w == nil {
		return d.Domain.QueueWork(nil)
	}
	b := *w
	b.TriggeringCntr, b.CompletionCntr = bare(w.TriggeringCntr), bare(w.CompletionCntr)
	if w.Msg != nil {
		m := *w.Msg
		m.EP, b.Msg = bare(m.EP), &m
	}
	if w.Tagged != nil {
		m := *w.Tagged
		m.EP, b.Tagged = bare(m.EP), &m
	}
	if w.RMA != nil {
		m := *w.RMA
		m.EP, b.RMA = bare(m.EP), &m
	}
	if w.Atomic != nil {
		m := *w.Atomic
		m.EP, b.Atomic = bare(m.EP), &m
	}
	if w.Cntr != nil {
		m := *w.Cntr
		m.Cntr, b.Cntr = bare(m.Cntr), &m
	}
	return d.Domain.QueueWork(&b)
}

// FlushWork is FI_FLUSH_WORK (fi_trigger(3)).
func (d *domain) FlushWork(c core.Counter) error { return d.Domain.FlushWork(bare(c)) }
