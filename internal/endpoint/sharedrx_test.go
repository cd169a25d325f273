package endpoint_test

// This file tests a shared receive context with its own queues. TestSharedRx has one without them.

import (
	"testing"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/xnet/engine"
)

func TestSharedRxQueues(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	srx := opened(t, w.d.OpenSRX, nil)
	drv := srx.Driver().(*endpoint.SharedRx)
	q, c, v := w.d.queue(t), w.d.counter(t), w.d.vector(t)
	wants(t, "a transmit queue", srx.BindCQ(q, core.BindTransmit), core.ErrBadFlags)
	wants(t, "both directions", srx.BindCQ(q, core.BindTransmit|core.BindRecv), core.ErrBadFlags)
	wants(t, "a counter of sends", srx.BindCounter(c, core.BindSend), core.ErrBadFlags)
	wants(t, "a vector", drv.Bind(v.Driver(), 0), core.ErrInval)
	must(t, srx.BindCQ(q, core.BindRecv))
	must(t, srx.BindCounter(c, core.BindRecv))
	wants(t, "a second queue", srx.BindCQ(q, core.BindRecv), core.ErrInval)
	_, err := srx.GetOpt(core.OptRxSize)
	wants(t, "an option that it does not have", err, core.ErrNoProtoOpt)
	wants(t, "setting one", srx.SetOpt(core.OptRxSize, 1), core.ErrNoProtoOpt)
	wants(t, "a negative size", srx.SetOpt(core.OptMinMultiRecv, -1), core.ErrInval)
	must(t, srx.SetOpt(core.OptMinMultiRecv, 9))
	if n, err := srx.GetOpt(core.OptMinMultiRecv); n != 9 || err != nil {
		t.Errorf("the option is %d, %v", n, err)
	}
	w.d.locked(func() {
		drv.Bound(&w.b.drv.Endpoint)
		w.b.drv.conn = engine.NewReady(w.d.drv.Pool(), &engine.Config{StageMax: 4096, StageLimit: 1 << 16, TxDepth: 8},
			drv.Context(), w.d.drv, w.b.drv)
	})
	wants(t, "a queue after endpoints", srx.BindCQ(q, core.BindRecv), core.ErrInval)

	in := make([]byte, 64)
	must(t, srx.TRecv(in, 0, core.AddrUnspec, 1, 0, 7))
	must(t, w.a.TSend(message, 0, 0, 1, 1))
	next(t, w.qa)
	none(t, w.qb)
	if e := next(t, q); e.Ctx != 7 || e.Len != len(message) || c.Value() != 1 {
		t.Errorf("%+v, %d counted", e, c.Value())
	}
	must(t, srx.Recv(in, 0, core.AddrUnspec, 8))
	must(t, srx.Cancel(8))
	var e core.CQErrEntry
	must(t, q.ReadErr(&e))
	if e.Ctx != 8 || e.Err != core.ErrCanceled || c.ErrValue() != 1 {
		t.Errorf("cancelled: %+v, %d errors counted", e, c.ErrValue())
	}
	wants(t, "closing its queue", q.Close(), core.ErrBusy)
	w.d.locked(func() {
		w.b.drv.conn.Drop(engine.ErrClosed)
		drv.Unbound(&w.b.drv.Endpoint)
	})
	for _, o := range []core.Object{srx, q, c, v} {
		must(t, o.Close())
	}
}
