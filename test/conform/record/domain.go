package record

import (
	"gofabric/core"
	"gofabric/util/hook"
)

type domain struct {
	hook.Domain
	object
}

func (d *domain) BindEQ(eq core.EQDriver, flags core.BindFlags) error {
	return with(d.r, "fi_domain_bind", flags, func(flags core.BindFlags) error { return d.Domain.BindEQ(eq, flags) })
}

func (d *domain) OpenEndpoint(info *core.Info, self *core.Endpoint) (core.EndpointDriver, error) {
	return open(d.r, "fi_endpoint", func() (core.EndpointDriver, error) {
		return d.Domain.OpenEndpoint(d.r.Stripped(info), self)
	}, func(below core.EndpointDriver) core.EndpointDriver {
		d.r.opened(info)
		return d.endpoint(below)
	})
}

func (d *domain) OpenScalable(info *core.Info, self *core.ScalableEndpoint) (core.ScalableDriver, error) {
	return open(d.r, "fi_scalable_ep", func() (core.ScalableDriver, error) {
		return d.Domain.OpenScalable(d.r.Stripped(info), self)
	}, func(below core.ScalableDriver) core.ScalableDriver {
		d.r.opened(info)
		return &scalable{endpoint{hook.Endpoint{EndpointDriver: below}, d.over(below)}, below}
	})
}

func (d *domain) OpenSRX(attr *core.RxAttr) (core.SRXDriver, error) {
	return open(d.r, "fi_srx_context", func() (core.SRXDriver, error) { return d.Domain.OpenSRX(d.r.strippedRx(attr)) },
		func(below core.SRXDriver) core.SRXDriver {
			return &sharedRx{hook.SRX{SRXDriver: below}, d.over(below)}
		})
}

func (d *domain) OpenSTX(attr *core.TxAttr) (core.STXDriver, error) {
	return open(d.r, "fi_stx_context", func() (core.STXDriver, error) { return d.Domain.OpenSTX(d.r.strippedTx(attr)) },
		func(below core.STXDriver) core.STXDriver {
			return &sharedTx{hook.STX{STXDriver: below}, d.over(below)}
		})
}

func (d *domain) OpenCQ(attr core.CQAttr, set core.WaitDriver) (core.CQDriver, error) {
	return openWith(d.r, "fi_cq_open", attr.Flags, func(flags core.CQFlags) (core.CQDriver, error) {
		attr.Flags, attr.Format, attr.WaitObj = flags, chosen(d.r, "cq_format", attr.Format),
			chosen(d.r, "wait_obj", attr.WaitObj)
		below, err := d.Domain.OpenCQ(attr, set)
		d.r.value("cq_format", uint64(attr.Format), err)
		d.r.value("wait_obj", uint64(attr.WaitObj), err)
		return below, err
	}, func(below core.CQDriver) core.CQDriver {
		return &queue{hook.CQ{CQDriver: below}, d.over(below)}
	})
}

func (d *domain) OpenCounter(attr core.CntrAttr, set core.WaitDriver) (core.CounterDriver, error) {
	return openWith(d.r, "fi_cntr_open", attr.Flags, func(flags core.CntrFlags) (core.CounterDriver, error) {
		attr.Flags, attr.Events, attr.WaitObj = flags, chosen(d.r, "cntr_events", attr.Events),
			chosen(d.r, "wait_obj", attr.WaitObj)
		below, err := d.Domain.OpenCounter(attr, set)
		d.r.value("cntr_events", uint64(attr.Events), err)
		d.r.value("wait_obj", uint64(attr.WaitObj), err)
		return below, err
	}, func(below core.CounterDriver) core.CounterDriver {
		return &counter{hook.Counter{CounterDriver: below}, d.over(below)}
	})
}

func (d *domain) OpenAV(attr core.AVAttr, self *core.AddressVector) (core.AVDriver, error) {
	return openWith(d.r, "fi_av_open", attr.Flags, func(flags core.AVFlags) (core.AVDriver, error) {
		attr.Flags, attr.Type = flags, chosen(d.r, "av_type", attr.Type)
		below, err := d.Domain.OpenAV(attr, self)
		d.r.value("av_type", uint64(attr.Type), err)
		return below, err
	}, func(below core.AVDriver) core.AVDriver {
		return &vector{hook.AV{AVDriver: below}, d.over(below)}
	})
}

func (d *domain) OpenPoll(attr core.PollAttr) (core.PollDriver, error) {
	return open(d.r, "fi_poll_open", func() (core.PollDriver, error) {
		below, err := d.Domain.OpenPoll(attr)
		d.r.bits("fi_poll_open", uint64(attr.Flags), err)
		return below, err
	}, func(below core.PollDriver) core.PollDriver {
		return &pollSet{hook.PollSet{PollDriver: below}, d.over(below)}
	})
}

// RegMR stands for fi_mr_reg, fi_mr_regv and fi_mr_regattr, which differ only in the form of their arguments.
func (d *domain) RegMR(attr *core.MRAttr, av core.AVDriver) (core.MRDriver, error) {
	single := attr != nil && len(attr.IOV) == 1
	if d.r.Lacks("fi_mr_regv") || d.r.Lacks("fi_mr_reg") && single {
		return nil, core.ErrNoSys
	}
	if d.r.without != nil && attr != nil {
		b := *attr
		b.Access, b.Flags = Mask(d.r, "mr_access", attr.Access), Mask(d.r, "fi_mr_regattr", attr.Flags)
		attr = &b
	}
	return open(d.r, "fi_mr_regattr", func() (core.MRDriver, error) {
		below, err := d.Domain.RegMR(attr, av)
		if attr != nil {
			d.r.bits("mr_access", uint64(attr.Access), err)
			d.r.bits("fi_mr_regattr", uint64(attr.Flags), err)
			d.r.call("fi_mr_regv", err)
		}
		if single {
			d.r.call("fi_mr_reg", err)
		}
		return below, err
	}, func(below core.MRDriver) core.MRDriver {
		return &region{hook.MR{MRDriver: below}, d.over(below)}
	})
}

func (d *domain) QueryAtomic(dt core.Datatype, op core.AtomicOp, flags core.AtomicFlags) (core.AtomicAttr, error) {
	return getWith(d.r, "fi_query_atomic", flags,
		func(flags core.AtomicFlags) (core.AtomicAttr, error) { return d.Domain.QueryAtomic(dt, op, flags) })
}

func (d *domain) QueryCollective(op core.CollectiveOp, attr *core.CollectiveAttr, flags uint64) error {
	return with(d.r, "fi_query_collective", flags,
		func(flags uint64) error { return d.Domain.QueryCollective(op, attr, flags) })
}

// QueueWork is the command FI_QUEUE_WORK.
func (d *domain) QueueWork(w core.Work) error {
	what := core.OpCntrSet
	switch {
	case w.Transfer:
		what = w.Op.Call.Op()
	case w.Change == core.CounterAdd:
		what = core.OpCntrAdd
	}
	if d.r.hides("op_type", uint64(what)) {
		return nil
	}
	return d.r.do("FI_QUEUE_WORK", func() error {
		err := d.Domain.QueueWork(w)
		d.r.value("op_type", uint64(what), err)
		return err
	})
}

func (d *domain) CancelWork(ctx core.OpContext) error {
	return d.r.do("FI_CANCEL_WORK", func() error { return d.Domain.CancelWork(ctx) })
}

func (d *domain) FlushWork(c core.CounterDriver) error {
	return d.r.do("FI_FLUSH_WORK", func() error { return d.Domain.FlushWork(c) })
}
