package record

import "gofabric/core"

type domain struct {
	core.Domain
	f *fabric
	r *Recorder
}

func (d *domain) inner() core.Object  { return d.Domain }
func (d *domain) Fabric() core.Fabric { return d.f }
func (d *domain) Close() error        { return d.f.close(d.Domain) }

func (d *domain) BindEQ(eq core.EventQueue, flags core.Flags) error {
	return d.r.with("fi_domain_bind", flags, func(flags core.Flags) error { return d.Domain.BindEQ(bare(eq), flags) })
}

func (d *domain) OpenEndpoint(info *core.Info) (core.Endpoint, error) {
	bare := info
	if info != nil {
		if p, ok := info.Handle.(*passive); ok {
			b := *info
			b.Handle, bare = p.PassiveEndpoint, &b
		}
	}
	if d.r.Lacks("fi_endpoint") {
		return nil, core.ErrNoSys
	}
	below, err := d.Domain.OpenEndpoint(d.r.Stripped(bare))
	d.r.call("fi_endpoint", err)
	if err != nil {
		return nil, err
	}
	d.r.opened(info)
	return d.f.endpoint(below), nil
}

func (d *domain) OpenScalable(info *core.Info) (core.ScalableEndpoint, error) {
	if d.r.Lacks("fi_scalable_ep") {
		return nil, core.ErrNoSys
	}
	below, err := d.Domain.OpenScalable(d.r.Stripped(info))
	d.r.call("fi_scalable_ep", err)
	if err != nil {
		return nil, err
	}
	d.r.opened(info)
	s := &scalable{below: below, endpoint: endpoint{Endpoint: below, f: d.f, r: d.r}}
	return stands(d.f, below, s), nil
}

func (d *domain) OpenSRX(attr *core.RxAttr) (core.SharedRx, error) {
	if d.r.Lacks("fi_srx_context") {
		return nil, core.ErrNoSys
	}
	below, err := d.Domain.OpenSRX(d.r.strippedRx(attr))
	d.r.call("fi_srx_context", err)
	if err != nil {
		return nil, err
	}
	return stands(d.f, below, &sharedRx{SharedRx: below, f: d.f, r: d.r}), nil
}

func (d *domain) OpenSTX(attr *core.TxAttr) (core.SharedTx, error) {
	if d.r.Lacks("fi_stx_context") {
		return nil, core.ErrNoSys
	}
	below, err := d.Domain.OpenSTX(d.r.strippedTx(attr))
	d.r.call("fi_stx_context", err)
	if err != nil {
		return nil, err
	}
	return stands(d.f, below, &sharedTx{SharedTx: below, f: d.f}), nil
}

func (d *domain) OpenCQ(attr core.CQAttr) (core.CompletionQueue, error) {
	attr.WaitSet = bare(attr.WaitSet)
	if d.r.Lacks("fi_cq_open") {
		return nil, core.ErrNoSys
	}
	attr.Flags = d.r.Mask("fi_cq_open", attr.Flags)
	attr.Format = core.CQFormat(d.r.chosen("cq_format", uint64(attr.Format)))
	attr.WaitObj = core.WaitObj(d.r.chosen("wait_obj", uint64(attr.WaitObj)))
	below, err := d.Domain.OpenCQ(attr)
	d.r.flags("fi_cq_open", attr.Flags, err)
	d.r.value("cq_format", uint64(attr.Format), err)
	d.r.value("wait_obj", uint64(attr.WaitObj), err)
	if err != nil {
		return nil, err
	}
	return stands(d.f, below, &queue{CompletionQueue: below, f: d.f, r: d.r}), nil
}

func (d *domain) OpenCounter(attr core.CntrAttr) (core.Counter, error) {
	attr.WaitSet = bare(attr.WaitSet)
	if d.r.Lacks("fi_cntr_open") {
		return nil, core.ErrNoSys
	}
	attr.Flags = d.r.Mask("fi_cntr_open", attr.Flags)
	attr.Events = core.CntrEvents(d.r.chosen("cntr_events", uint64(attr.Events)))
	attr.WaitObj = core.WaitObj(d.r.chosen("wait_obj", uint64(attr.WaitObj)))
	below, err := d.Domain.OpenCounter(attr)
	d.r.flags("fi_cntr_open", attr.Flags, err)
	d.r.value("cntr_events", uint64(attr.Events), err)
	d.r.value("wait_obj", uint64(attr.WaitObj), err)
	if err != nil {
		return nil, err
	}
	return stands(d.f, below, &counter{Counter: below, f: d.f, r: d.r}), nil
}

func (d *domain) OpenAV(attr core.AVAttr) (core.AddressVector, error) {
	if d.r.Lacks("fi_av_open") {
		return nil, core.ErrNoSys
	}
	attr.Flags = d.r.Mask("fi_av_open", attr.Flags)
	attr.Type = core.AVType(d.r.chosen("av_type", uint64(attr.Type)))
	below, err := d.Domain.OpenAV(attr)
	d.r.flags("fi_av_open", attr.Flags, err)
	d.r.value("av_type", uint64(attr.Type), err)
	if err != nil {
		return nil, err
	}
	return stands(d.f, below, &vector{AddressVector: below, f: d.f, r: d.r}), nil
}

func (d *domain) OpenPoll(attr core.PollAttr) (core.PollSet, error) {
	if d.r.Lacks("fi_poll_open") {
		return nil, core.ErrNoSys
	}
	below, err := d.Domain.OpenPoll(attr)
	d.r.flags("fi_poll_open", attr.Flags, err)
	if err != nil {
		return nil, err
	}
	return &pollSet{PollSet: below, f: d.f, r: d.r}, nil
}

// RegMR is one call for fi_mr_reg, fi_mr_regv and fi_mr_regattr, which differ in how their arguments are written down.
func (d *domain) RegMR(attr *core.MRAttr) (core.MemoryRegion, error) {
	if attr != nil && attr.AuthAV != nil {
		b := *attr
		b.AuthAV = peel(attr.AuthAV)
		attr = &b
	}
	if d.r.Lacks("fi_mr_regattr") || d.r.Lacks("fi_mr_regv") || d.r.Lacks("fi_mr_reg") && attr != nil && len(attr.IOV) == 1 {
		return nil, core.ErrNoSys
	}
	if d.r.without != nil && attr != nil {
		b := *attr
		b.Access, b.Flags = d.r.Mask("mr_access", attr.Access), d.r.Mask("fi_mr_regattr", attr.Flags)
		attr = &b
	}
	below, err := d.Domain.RegMR(attr)
	d.r.call("fi_mr_regattr", err)
	if attr != nil {
		d.r.bits("mr_access", uint64(attr.Access), err)
		d.r.bits("fi_mr_regattr", uint64(attr.Flags), err)
		d.r.call("fi_mr_regv", err)
		if len(attr.IOV) == 1 {
			d.r.call("fi_mr_reg", err)
		}
	}
	if err != nil {
		return nil, err
	}
	return stands(d.f, below, &region{MemoryRegion: below, f: d.f, r: d.r}), nil
}

func (d *domain) QueryAtomic(dt core.Datatype, op core.AtomicOp, flags core.Flags) (core.AtomicAttr, error) {
	return getWith(d.r, "fi_query_atomic", flags, func(flags core.Flags) (core.AtomicAttr, error) { return d.Domain.QueryAtomic(dt, op, flags) })
}

// QueueWork is FI_QUEUE_WORK.
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
	if d.r.Lacks("FI_QUEUE_WORK") || d.r.hides("op_type", uint64(w.OpType)) {
		return nil
	}
	err := d.Domain.QueueWork(&b)
	d.r.value("op_type", uint64(w.OpType), err)
	return d.r.call("FI_QUEUE_WORK", err)
}

func (d *domain) CancelWork(ctx core.Context) error {
	return d.r.do("FI_CANCEL_WORK", func() error { return d.Domain.CancelWork(ctx) })
}

func (d *domain) FlushWork(c core.Counter) error {
	return d.r.do("FI_FLUSH_WORK", func() error { return d.Domain.FlushWork(bare(c)) })
}
