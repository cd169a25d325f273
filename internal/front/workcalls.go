package front

import (
	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// The calls for deferred work (fi_trigger(3)).

// QueueWork implements core.WorkQueue.
func (d *Domain) QueueWork(dw *core.DeferredWork) error {
	if dw == nil {
		return d.refuseWork(core.ErrInval, "there is no work")
	}
	cntr, done := d.counterOf(dw.TriggeringCntr), d.counterOf(dw.CompletionCntr)
	if cntr == nil || done == nil && dw.CompletionCntr != nil {
		return d.refuseWork(core.ErrInval, "the triggering counter, and the completion counter if there is one, must be of this domain")
	}
	d.prog.Lock()
	w := d.work.get()
	d.prog.Unlock()
	w.deferred, w.cntr, w.done, w.threshold, w.ctx = true, cntr, done, dw.Threshold, dw.Ctx
	err := w.taken(w.take(dw))
	if no, ok := err.(core.Errno); ok {
		return d.refuseWork(no, "")
	}
	return err
}

func (d *Domain) refuseWork(err error, hint string) error {
	return d.cfg.Names.Error("fi_control(FI_QUEUE_WORK)", d.Name(), NoPeer, err, hint)
}

// take makes w the operation of dw; errTaken if that went well.
func (w *work) take(dw *core.DeferredWork) error {
	switch dw.OpType {
	case core.OpRecv, core.OpSend:
		if dw.Msg != nil {
			return w.takeMsg(dw.OpType == core.OpSend, dw.Msg)
		}
	case core.OpTRecv, core.OpTSend:
		if dw.Tagged != nil {
			return w.takeTagged(dw.OpType == core.OpTSend, dw.Tagged)
		}
	case core.OpRead, core.OpWrite:
		if dw.RMA != nil {
			return w.takeRMA(dw.OpType == core.OpWrite, dw.RMA)
		}
	case core.OpAtomic, core.OpFetchAtomic, core.OpCompareAtomic:
		if dw.Atomic != nil {
			return w.takeAtomic(engine.KindAtomic+engine.Kind(dw.OpType-core.OpAtomic), dw.Atomic)
		}
	case core.OpCntrSet, core.OpCntrAdd:
		if dw.Cntr != nil && dw.CompletionCntr == nil {
			return w.takeCntr(dw.OpType == core.OpCntrAdd, dw.Cntr)
		}
	default:
		return core.ErrNoSys
	}
	return core.ErrInval
}

// transmitterFor returns the transmitter that prepares w at ep.
func (w *work) transmitterFor(ep core.Object, flags core.Flags) (*Transmitter, error) {
	h, ok := ep.(interface{ transmitter() *Transmitter })
	if !ok {
		return nil, core.ErrNoSys
	}
	t := h.transmitter()
	switch {
	case t.e.d != w.q.d, flags&core.Inject != 0:
		return nil, core.ErrInval
	case t.e.info.Caps&core.CapTrigger == 0:
		return nil, core.ErrNoSys
	}
	w.report = flags&core.Completion != 0
	return w.prepare(t), nil
}

// receiverFor returns where w is posted: an endpoint's, or a shared context.
func (w *work) receiverFor(ep core.Object, flags core.Flags) (*Receiver, error) {
	h, ok := ep.(interface{ receiver() *Receiver })
	if !ok {
		return nil, core.ErrNoSys
	}
	r := h.receiver()
	switch {
	case r.dom != w.q.d:
		return nil, core.ErrInval
	case r.caps()&core.CapTrigger == 0:
		return nil, core.ErrNoSys
	}
	w.report = flags&core.Completion != 0
	return r, nil
}

// workFlags are the flags that an operation of deferred work is posted with: that it is triggered goes without saying, and nothing follows it.
func workFlags(f core.Flags) core.Flags { return f &^ (core.Trigger | core.More) }

func (w *work) takeMsg(send bool, o *core.OpMsg) error {
	if send {
		t, err := w.transmitterFor(o.EP, o.Flags)
		if err != nil {
			return err
		}
		return t.SendMsg(&o.Msg, workFlags(o.Flags))
	}
	r, err := w.receiverFor(o.EP, o.Flags)
	if err != nil {
		return err
	}
	return w.takeRecv(r, &o.Msg, workFlags(o.Flags))
}

func (w *work) takeTagged(send bool, o *core.OpTagged) error {
	if send {
		t, err := w.transmitterFor(o.EP, o.Flags)
		if err != nil {
			return err
		}
		return t.TSendMsg(&o.Msg, workFlags(o.Flags))
	}
	r, err := w.receiverFor(o.EP, o.Flags)
	if err != nil {
		return err
	}
	return w.takeTRecv(r, &o.Msg, workFlags(o.Flags))
}

func (w *work) takeRMA(write bool, o *core.OpRMA) error {
	t, err := w.transmitterFor(o.EP, o.Flags)
	if err != nil {
		return err
	}
	if write {
		return t.WriteMsg(&o.Msg, workFlags(o.Flags))
	}
	return t.ReadMsg(&o.Msg, workFlags(o.Flags))
}

func (w *work) takeAtomic(kind engine.Kind, o *core.OpAtomicArgs) error {
	t, err := w.transmitterFor(o.EP, o.Flags)
	if err != nil {
		return err
	}
	var compare, result [][]byte
	switch kind {
	case engine.KindCompare:
		compare, result = o.Compare, o.Result
	case engine.KindFetch:
		result = o.Result
	}
	return t.postAtomic(kind, &o.Msg, compare, result, workFlags(o.Flags), false)
}

func (w *work) takeCntr(add bool, o *core.OpCntr) error {
	if w.target = w.q.d.counterOf(o.Cntr); w.target == nil {
		return core.ErrInval
	}
	w.kind, w.value = workSet, o.Value
	if add {
		w.kind = workAdd
	}
	w.q.d.prog.Lock()
	w.arm()
	w.q.d.prog.Unlock()
	return errTaken
}

// CancelWork implements core.WorkQueue.
func (d *Domain) CancelWork(ctx core.Context) error {
	d.prog.Lock()
	defer d.prog.Unlock()
	for w := d.work.all.head; w != nil; w = w.foll {
		if w.deferred && w.ctx == ctx {
			w.cancel()
			return nil
		}
	}
	return core.ErrNoEnt
}

// FlushWork implements core.WorkQueue.
func (d *Domain) FlushWork(c core.Counter) error {
	cn := d.counterOf(c)
	if c != nil && cn == nil {
		return d.cfg.Names.Error("fi_control(FI_FLUSH_WORK)", d.Name(), NoPeer, core.ErrInval, "the counter belongs to another domain")
	}
	d.prog.Lock()
	defer d.prog.Unlock()
	d.work.all.each(func(w *work) {
		if w.deferred && (cn == nil || w.cntr == cn) {
			w.cancel()
		}
	})
	return nil
}
