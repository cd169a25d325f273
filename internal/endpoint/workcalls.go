package endpoint

import (
	"gofabric/core"
)

// The calls for deferred work (fi_trigger(3)).

// QueueWork is FI_QUEUE_WORK.
func (d *Domain) QueueWork(dw core.Work) error {
	cntr, done := d.counterOf(dw.Triggering), d.counterOf(dw.Completion)
	if cntr == nil || done == nil && dw.Completion != nil {
		return d.refuseWork(core.ErrInval, "the triggering counter, and the completion counter if there is one, must be of this domain")
	}
	d.prog.Lock()
	w := d.works().get()
	d.prog.Unlock()
	w.deferred, w.cntr, w.done, w.threshold, w.ctx = true, cntr, done, dw.Threshold, dw.Ctx
	err := w.taken(w.take(&dw))
	if no, ok := err.(core.Errno); ok {
		return d.refuseWork(no, "")
	}
	return err
}

// works returns the domain's queue of operations that wait for counters.
func (d *Domain) works() *workQueue { return d.work.(*workQueue) }

func (d *Domain) refuseWork(err error, hint string) error {
	return d.cfg.Names.Error("fi_control(FI_QUEUE_WORK)", d.Name(), NoPeer, err, hint)
}

// take makes w the operation of dw. It returns errTaken on success.
func (w *work) take(dw *core.Work) error {
	if !dw.Transfer {
		return w.takeCntr(dw)
	}
	op := &dw.Op
	if op.Call.Receives() {
		r, err := w.receiverFor(dw.EP, op.Flags)
		if err != nil {
			return err
		}
		op.Flags = workFlags(op.Flags)
		return w.takeRecv(r, op)
	}
	t, err := w.transmitterFor(dw.EP, op.Flags)
	if err != nil {
		return err
	}
	op.Flags = workFlags(op.Flags)
	return t.post(op)
}

// transmitterFor returns the transmitter that prepares w at ep.
func (w *work) transmitterFor(ep any, flags core.OpFlags) (*Transmitter, error) {
	h, ok := ep.(interface{ transmitter() *Transmitter })
	if !ok {
		return nil, core.ErrNoSys
	}
	t := h.transmitter()
	switch {
	case t.e.d != w.q.d, flags&core.OpInject != 0:
		return nil, core.ErrInval
	case t.e.info.Caps&core.CapTrigger == 0:
		return nil, core.ErrNoSys
	}
	w.report = flags&core.OpCompletion != 0
	return w.prepare(t), nil
}

// receiverFor returns the receiver for w: an endpoint's, or a shared context's.
func (w *work) receiverFor(ep any, flags core.OpFlags) (*Receiver, error) {
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
	w.report = flags&core.OpCompletion != 0
	return r, nil
}

// workFlags removes the flags that have no meaning for deferred work: it is always triggered, and FI_MORE has no
// effect.
func workFlags(f core.OpFlags) core.OpFlags { return f &^ (core.OpTrigger | core.OpMore) }

// takeCntr makes w a change of a counter (FI_OP_CNTR_SET, FI_OP_CNTR_ADD). It returns errTaken on success.
func (w *work) takeCntr(dw *core.Work) error {
	if w.target = w.q.d.counterOf(dw.Cntr); w.target == nil {
		return core.ErrInval
	}
	w.kind, w.value = workSet, dw.Value
	if dw.Change == core.CounterAdd {
		w.kind = workAdd
	}
	w.q.d.prog.Lock()
	w.arm()
	w.q.d.prog.Unlock()
	return errTaken
}

// CancelWork is FI_CANCEL_WORK.
func (d *Domain) CancelWork(ctx core.OpContext) error {
	d.prog.Lock()
	defer d.prog.Unlock()
	for w := d.works().all.head; w != nil; w = w.following {
		if w.deferred && w.ctx == ctx {
			w.cancel()
			return nil
		}
	}
	return core.ErrNoEnt
}

// FlushWork is FI_FLUSH_WORK.
func (d *Domain) FlushWork(c core.CounterDriver) error {
	cn := d.counterOf(c)
	if c != nil && cn == nil {
		return d.cfg.Names.Error("fi_control(FI_FLUSH_WORK)", d.Name(), NoPeer, core.ErrInval, "the counter belongs to another domain")
	}
	d.prog.Lock()
	defer d.prog.Unlock()
	d.works().all.each(func(w *work) {
		if w.deferred && (cn == nil || w.cntr == cn) {
			w.cancel()
		}
	})
	return nil
}
