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

func (w *waitSet) Wait(ctx context.Context) error { return w.r.call("fi_wait", w.WaitSet.Wait(ctx)) }

func (w *waitSet) WaitFD() (int, error) {
	v, err := w.WaitSet.WaitFD()
	return v, w.r.call("FI_GETWAIT", err)
}

type pollSet struct {
	core.PollSet
	f *fabric
	r *Recorder
}

func (p *pollSet) inner() core.Object { return p.PollSet }
func (p *pollSet) Close() error       { return p.f.close(p.PollSet) }

func (p *pollSet) Add(obj core.Object) error {
	return p.r.call("fi_poll_add", p.PollSet.Add(bare(obj)))
}
func (p *pollSet) Del(obj core.Object) error {
	return p.r.call("fi_poll_del", p.PollSet.Del(bare(obj)))
}

func (p *pollSet) Poll(ready []core.Object) (int, error) {
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
func (m *region) Enable() error      { return m.r.call("fi_mr_enable", m.MemoryRegion.Enable()) }

func (m *region) Desc() core.Desc {
	m.r.call("fi_mr_desc", nil)
	return m.MemoryRegion.Desc()
}

func (m *region) Key() uint64 {
	m.r.call("fi_mr_key", nil)
	return m.MemoryRegion.Key()
}

func (m *region) BindCounter(c core.Counter, flags core.Flags) error {
	return m.r.flags("fi_mr_bind", flags, m.MemoryRegion.BindCounter(bare(c), flags))
}

func (m *region) BindEndpoint(ep core.Endpoint) error {
	return m.r.call("fi_mr_bind", m.MemoryRegion.BindEndpoint(bare(ep)))
}
