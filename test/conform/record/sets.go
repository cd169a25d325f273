package record

import (
	"context"

	"gofabric/core"
)

type waitSet struct {
	core.WaitSet
	f *fabric
	r *Recorder
}

func (w *waitSet) inner() core.Object { return w.WaitSet }
func (w *waitSet) Close() error       { return w.f.close(w.WaitSet) }

func (w *waitSet) Wait(ctx context.Context) error {
	return w.r.do("fi_wait", func() error { return w.WaitSet.Wait(ctx) })
}

func (w *waitSet) WaitFD() (int, error) {
	return get(w.r, "FI_GETWAIT", func() (int, error) { return w.WaitSet.WaitFD() })
}

type pollSet struct {
	core.PollSet
	f *fabric
	r *Recorder
}

func (p *pollSet) inner() core.Object { return p.PollSet }
func (p *pollSet) Close() error       { return p.f.close(p.PollSet) }

func (p *pollSet) Add(obj core.Object) error {
	return p.r.do("fi_poll_add", func() error { return p.PollSet.Add(bare(obj)) })
}
func (p *pollSet) Del(obj core.Object) error {
	return p.r.do("fi_poll_del", func() error { return p.PollSet.Del(bare(obj)) })
}

func (p *pollSet) Poll(ready []core.Object) (int, error) {
	if p.r.Lacks("fi_poll") {
		return 0, nil
	}
	n, err := p.PollSet.Poll(ready)
	for i := range max(n, 0) {
		ready[i] = p.f.front(ready[i])
	}
	return n, p.r.call("fi_poll", err)
}

// region is a memory region.
type region struct {
	core.MemoryRegion
	f *fabric
	r *Recorder
}

func (m *region) inner() core.Object { return m.MemoryRegion }
func (m *region) Close() error       { return m.f.close(m.MemoryRegion) }
func (m *region) Enable() error {
	return m.r.do("fi_mr_enable", func() error { return m.MemoryRegion.Enable() })
}

func (m *region) Desc() core.Desc {
	return value(m.r, "fi_mr_desc", m.MemoryRegion.Desc)
}

func (m *region) Key() uint64 {
	return value(m.r, "fi_mr_key", m.MemoryRegion.Key)
}

func (m *region) BindCounter(c core.Counter, flags core.Flags) error {
	return m.r.with("fi_mr_bind", flags, func(flags core.Flags) error { return m.MemoryRegion.BindCounter(bare(c), flags) })
}

func (m *region) BindEndpoint(ep core.Endpoint) error {
	return m.r.do("fi_mr_bind", func() error { return m.MemoryRegion.BindEndpoint(bare(ep)) })
}
