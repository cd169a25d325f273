package strict

import "gofabric/core"

// sharedRx is a shared receive context.
type sharedRx struct {
	rxControl
	receiver
}

// rxControl is the context below, one level down, so that the calls of this package come first.
type rxControl struct{ core.SharedRx }

func (x *sharedRx) inner() core.Object { return x.SharedRx }

// BindCQ is fi_ep_bind(3); see endpoint.BindCQ.
func (x *sharedRx) BindCQ(cq core.CompletionQueue, flags core.Flags) error {
	err := x.SharedRx.BindCQ(peel(cq), flags&^core.SelectiveCompletion)
	if q, ok := cq.(*queue); ok && err == nil {
		x.s.rxq, x.s.rxQuiet = q, flags&core.SelectiveCompletion != 0
	}
	return err
}

// BindCounter is fi_ep_bind(3).
func (x *sharedRx) BindCounter(c core.Counter, flags core.Flags) error {
	x.s.rxCounted = true
	return x.SharedRx.BindCounter(peel(c), flags)
}

// Cancel is fi_cancel(3).
func (x *sharedRx) Cancel(ctx core.Context) error {
	if x.s.k.Lacks&LacksCancel != 0 {
		return x.s.d.o.misuse("fi_cancel", core.ErrNoSys, "the provider cancels nothing on such endpoints: what is posted completes, or ends with the endpoint")
	}
	return x.s.cancel(ctx)
}

// Close is fi_close(3).
func (x *sharedRx) Close() error {
	err := x.SharedRx.Close()
	if err == nil {
		x.s.closed.Store(true)
		x.s.d.forget(x.s)
	}
	return err
}
