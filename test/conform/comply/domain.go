package comply

import (
	"sync"

	"gofabric/core"
	"gofabric/util/hook"
)

type domain struct {
	hook.Domain
	*held
	h    *Hook
	info *core.Info

	mu     sync.Mutex
	seq    uint64
	ops    map[core.OpContext]*op // pending operations, by the contexts that the stack gets
	claims map[claim]core.OpContext
	av     core.AVDriver // the stack's latest one
}

func (d *domain) OpenEndpoint(info *core.Info, self *core.Endpoint) (core.EndpointDriver, error) {
	i := d.h.honest(info)
	below, err := d.Domain.OpenEndpoint(i, self)
	if err != nil {
		return nil, err
	}
	if i.Domain == nil {
		i.Domain = d.info.Domain
	}
	e := &endpoint{hook.Endpoint{EndpointDriver: below}, d.hold(below), poster{d: d, info: i, ep: below}}
	e.id, e.then = e.held, func() { d.forget(e.id) }
	if i.Rx != nil {
		e.rx = i.Rx.OpFlags
	}
	return e, nil
}

// OpenScalable passes through without changes. No provider that requires modes has scalable endpoints, so their
// contexts need none.
func (d *domain) OpenScalable(info *core.Info, self *core.ScalableEndpoint) (core.ScalableDriver, error) {
	below, err := d.Domain.OpenScalable(d.h.honest(info), self)
	return below, missing("fi_scalable_ep", err)
}

func (d *domain) OpenSRX(attr *core.RxAttr) (core.SRXDriver, error) {
	below, err := d.Domain.OpenSRX(attr)
	if err != nil {
		return nil, missing("fi_srx_context", err)
	}
	x := &sharedRx{hook.SRX{SRXDriver: below}, d.hold(below), poster{d: d, info: d.info}}
	x.id, x.then = x.held, func() { d.forget(x.id) }
	if attr != nil {
		x.rx = attr.OpFlags
	}
	return x, nil
}

func (d *domain) OpenSTX(attr *core.TxAttr) (core.STXDriver, error) {
	below, err := d.Domain.OpenSTX(attr)
	if err != nil {
		return nil, missing("fi_stx_context", err)
	}
	return &sharedTx{hook.STX{STXDriver: below}, d.hold(below)}, nil
}

func (d *domain) OpenCQ(attr core.CQAttr, set core.WaitDriver) (core.CQDriver, error) {
	below, err := d.Domain.OpenCQ(attr, set)
	if err != nil {
		return nil, missing("fi_cq_open with this wait object", err)
	}
	return &queue{hook.CQ{CQDriver: below}, d.hold(below), d}, nil
}

func (d *domain) OpenCounter(attr core.CntrAttr, set core.WaitDriver) (core.CounterDriver, error) {
	below, err := d.Domain.OpenCounter(attr, set)
	if err != nil {
		if d.info.Domain.CntrCnt == 0 {
			return nil, &NotOffered{"counters (cntr_cnt 0)", err}
		}
		return nil, err
	}
	return &counter{hook.Counter{CounterDriver: below}, d.hold(below)}, nil
}

func (d *domain) OpenAV(attr core.AVAttr, self *core.AddressVector) (core.AVDriver, error) {
	below, err := d.Domain.OpenAV(attr, self)
	if err != nil {
		return nil, missing("such address vectors", err)
	}
	d.mu.Lock()
	d.av = below
	d.mu.Unlock()
	return &vector{hook.AV{AVDriver: below}, d.hold(below)}, nil
}

func (d *domain) OpenPoll(attr core.PollAttr) (core.PollDriver, error) {
	below, err := d.Domain.OpenPoll(attr)
	if err != nil {
		return nil, missing("fi_poll_open", err)
	}
	return &pollSet{hook.PollSet{PollDriver: below}, d.hold(below)}, nil
}

func (d *domain) RegMR(attr *core.MRAttr, av core.AVDriver) (core.MRDriver, error) {
	below, err := d.Domain.RegMR(attr, av)
	switch bits := 8 * d.info.Domain.MRKeySize; {
	case err == nil:
		return &region{hook.MR{MRDriver: below}, d.hold(below)}, nil
	case attr != nil && len(attr.IOV) > 1:
		return nil, &NotOffered{"regions of several buffers (mr_iov_limit)", err}
	case attr != nil && bits > 0 && bits < 64 && attr.RequestedKey>>bits != 0:
		return nil, &NotOffered{"keys of that size (mr_key_size)", err}
	}
	return nil, err
}

type sharedTx struct {
	hook.STX
	*held
}

type counter struct {
	hook.Counter
	*held
}

type pollSet struct {
	hook.PollSet
	*held
}

type region struct {
	hook.MR
	*held
}

func (m *region) Bind(obj any, flags core.BindFlags) error {
	err := m.MR.Bind(obj, flags)
	if _, ok := obj.(core.EndpointDriver); ok {
		return err
	}
	return missing("fi_mr_bind of counters", err)
}

type vector struct {
	hook.AV
	*held
}

func (v *vector) OpenSet(attr core.AVSetAttr) (core.AVSetDriver, error) {
	below, err := v.AV.OpenSet(attr)
	if err != nil {
		return nil, missing("fi_av_set", err)
	}
	return &set{hook.Set{AVSetDriver: below}, v.hold(below)}, nil
}

type set struct {
	hook.Set
	*held
}
