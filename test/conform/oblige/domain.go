package oblige

import (
	"sync"

	"gofabric/core"
)

type domain struct {
	core.Domain
	f    *fabric
	info *core.Info

	mu     sync.Mutex
	seq    uint64
	ops    map[core.Context]*op // under way, by the contexts that the stack knows
	claims map[claim]core.Context
	av     core.AddressVector // the newest
}

func (d *domain) inner() core.Object  { return d.Domain }
func (d *domain) Fabric() core.Fabric { return d.f }
func (d *domain) Close() error        { return d.f.close(d.Domain) }

func (d *domain) BindEQ(eq core.EventQueue, flags core.Flags) error {
	return d.Domain.BindEQ(peel(eq), flags)
}

func (d *domain) OpenEndpoint(info *core.Info) (core.Endpoint, error) {
	i := d.f.o.honest(info)
	if p, ok := i.Handle.(*passive); ok {
		i.Handle = p.PassiveEndpoint
	}
	below, err := d.Domain.OpenEndpoint(i)
	if err != nil {
		return nil, err
	}
	return d.endpoint(below, i), nil
}

func (d *domain) endpoint(below core.Endpoint, info *core.Info) *endpoint {
	if info.Domain == nil {
		info.Domain = d.info.Domain
	}
	e := &endpoint{Endpoint: below}
	e.poster = poster{d: d, info: info, below: below, id: below}
	if info.Rx != nil {
		e.rx = info.Rx.OpFlags
	}
	return stands(d.f, below, e)
}

func (d *domain) OpenScalable(info *core.Info) (core.ScalableEndpoint, error) {
	below, err := d.Domain.OpenScalable(d.f.o.honest(info))
	return track(d.f, below, missing("fi_scalable_ep", err))
}

func (d *domain) OpenSRX(attr *core.RxAttr) (core.SharedRx, error) {
	below, err := d.Domain.OpenSRX(attr)
	if err != nil {
		return nil, missing("fi_srx_context", err)
	}
	x := &sharedRx{SharedRx: below}
	x.poster = poster{d: d, info: d.info, below: below, id: below}
	if attr != nil {
		x.rx = attr.OpFlags
	}
	return stands(d.f, below, x), nil
}

func (d *domain) OpenSTX(attr *core.TxAttr) (core.SharedTx, error) {
	below, err := d.Domain.OpenSTX(attr)
	return track(d.f, below, missing("fi_stx_context", err))
}

func (d *domain) OpenCQ(attr core.CQAttr) (core.CompletionQueue, error) {
	below, err := d.Domain.OpenCQ(attr)
	if err != nil {
		return nil, missing("fi_cq_open with this wait object", err)
	}
	return stands(d.f, below, &queue{CompletionQueue: below, d: d}), nil
}

func (d *domain) OpenCounter(attr core.CntrAttr) (core.Counter, error) {
	below, err := d.Domain.OpenCounter(attr)
	if err != nil {
		if d.info.Domain.CntrCnt == 0 {
			return nil, &NotOffered{"counters (cntr_cnt 0)", err}
		}
		return nil, err
	}
	return stands(d.f, below, &counter{Counter: below, f: d.f}), nil
}

func (d *domain) OpenAV(attr core.AVAttr) (core.AddressVector, error) {
	below, err := d.Domain.OpenAV(attr)
	if err != nil {
		return nil, missing("such address vectors", err)
	}
	d.mu.Lock()
	d.av = below
	d.mu.Unlock()
	return stands(d.f, below, &vector{AddressVector: below, f: d.f}), nil
}

func (d *domain) OpenPoll(attr core.PollAttr) (core.PollSet, error) {
	below, err := d.Domain.OpenPoll(attr)
	if err != nil {
		return nil, missing("fi_poll_open", err)
	}
	return stands(d.f, below, &pollSet{PollSet: below, f: d.f}), nil
}

func (d *domain) RegMR(attr *core.MRAttr) (core.MemoryRegion, error) {
	if attr != nil && attr.AuthAV != nil {
		b := *attr
		b.AuthAV = peel(attr.AuthAV)
		attr = &b
	}
	below, err := d.Domain.RegMR(attr)
	switch bits := 8 * d.info.Domain.MRKeySize; {
	case err == nil:
		return stands(d.f, below, &region{MemoryRegion: below, f: d.f}), nil
	case attr != nil && len(attr.IOV) > 1:
		return nil, &NotOffered{"regions of several buffers (mr_iov_limit)", err}
	case attr != nil && bits > 0 && bits < 64 && attr.RequestedKey>>bits != 0:
		return nil, &NotOffered{"keys of that size (mr_key_size)", err}
	}
	return nil, err
}

// trigger is t with the counter below.
func trigger(t *core.TriggeredContext) *core.TriggeredContext {
	if t == nil {
		return nil
	}
	b := *t
	b.Cntr = peel(t.Cntr)
	return &b
}

func (d *domain) QueueWork(w *core.DeferredWork) error {
	if w == nil {
		return d.Domain.QueueWork(nil)
	}
	b := *w
	b.TriggeringCntr, b.CompletionCntr = peel(w.TriggeringCntr), peel(w.CompletionCntr)
	if w.Msg != nil {
		m := *w.Msg
		m.EP, b.Msg = peel(m.EP), &m
	}
	if w.Tagged != nil {
		m := *w.Tagged
		m.EP, b.Tagged = peel(m.EP), &m
	}
	if w.RMA != nil {
		m := *w.RMA
		m.EP, b.RMA = peel(m.EP), &m
	}
	if w.Atomic != nil {
		m := *w.Atomic
		m.EP, b.Atomic = peel(m.EP), &m
	}
	if w.Cntr != nil {
		m := *w.Cntr
		m.Cntr, b.Cntr = peel(m.Cntr), &m
	}
	return d.Domain.QueueWork(&b)
}

func (d *domain) FlushWork(c core.Counter) error { return d.Domain.FlushWork(peel(c)) }

type counter struct {
	core.Counter
	f *fabric
}

func (c *counter) inner() core.Object { return c.Counter }
func (c *counter) Close() error       { return c.f.close(c.Counter) }

type pollSet struct {
	core.PollSet
	f *fabric
}

func (p *pollSet) inner() core.Object        { return p.PollSet }
func (p *pollSet) Close() error              { return p.f.close(p.PollSet) }
func (p *pollSet) Add(obj core.Object) error { return p.PollSet.Add(peel(obj)) }
func (p *pollSet) Del(obj core.Object) error { return p.PollSet.Del(peel(obj)) }

func (p *pollSet) Poll(ready []core.Object) (int, error) {
	n, err := p.PollSet.Poll(ready)
	for i := range max(n, 0) {
		ready[i] = p.f.front(ready[i])
	}
	return n, err
}

type region struct {
	core.MemoryRegion
	f *fabric
}

func (m *region) inner() core.Object { return m.MemoryRegion }
func (m *region) Close() error       { return m.f.close(m.MemoryRegion) }

func (m *region) BindCounter(c core.Counter, flags core.Flags) error {
	return missing("fi_mr_bind of counters", m.MemoryRegion.BindCounter(peel(c), flags))
}

func (m *region) BindEndpoint(ep core.Endpoint) error { return m.MemoryRegion.BindEndpoint(peel(ep)) }

type vector struct {
	core.AddressVector
	f *fabric
}

func (v *vector) inner() core.Object { return v.AddressVector }
func (v *vector) Close() error       { return v.f.close(v.AddressVector) }

func (v *vector) OpenSet(attr core.AVSetAttr) (core.AVSet, error) {
	below, err := v.AddressVector.OpenSet(attr)
	return track(v.f, below, missing("fi_av_set", err))
}

func (v *vector) BindEQ(eq core.EventQueue, flags core.Flags) error {
	return v.AddressVector.BindEQ(peel(eq), flags)
}
