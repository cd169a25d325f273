package strict

import (
	"context"
	"maps"
	"slices"
	"sync"

	"gofabric/core"
	"gofabric/util/hook"
)

// fabric is an open fabric.
type fabric struct {
	hook.Fabric
	h *Hook

	mu      sync.Mutex
	domains map[*domain]bool
}

// OpenFabric implements core.Hook.
func (h *Hook) OpenFabric(info *core.Info, below core.FabricDriver) (core.FabricDriver, error) {
	return &fabric{Fabric: hook.Fabric{FabricDriver: below}, h: h, domains: map[*domain]bool{}}, nil
}

// release posts the transfers that endpoints of the fabric's domains hold back.
func (f *fabric) release() {
	f.mu.Lock()
	list := slices.Collect(maps.Keys(f.domains))
	f.mu.Unlock()
	for _, d := range list {
		d.release()
	}
}

// OpenDomain is fi_domain(3).
func (f *fabric) OpenDomain(info *core.Info) (core.DomainDriver, error) {
	below, err := f.Fabric.OpenDomain(info)
	if err != nil {
		return nil, err
	}
	d := newDomain(f, below, info)
	f.mu.Lock()
	f.domains[d] = true
	f.mu.Unlock()
	return d, nil
}

// OpenPassiveEndpoint is fi_passive_ep(3).
func (f *fabric) OpenPassiveEndpoint(info *core.Info, self *core.PassiveEndpoint) (core.PassiveDriver, error) {
	below, err := f.Fabric.OpenPassiveEndpoint(info, self)
	if err != nil {
		return nil, err
	}
	return hook.Passive{PassiveDriver: below}, nil
}

// TryWait is fi_trywait(3). The application must read the completions in a window before it sleeps.
func (f *fabric) TryWait(objs ...any) error {
	f.release()
	for _, o := range objs {
		if q, ok := o.(*queue); ok && q.waits() {
			return core.ErrAgain
		}
	}
	return f.Fabric.TryWait(objs...)
}

// OpenEQ is fi_eq_open(3).
func (f *fabric) OpenEQ(attr core.EQAttr, set core.WaitDriver) (core.EQDriver, error) {
	below, err := f.Fabric.OpenEQ(attr, set)
	if err != nil {
		return nil, err
	}
	return &eventQueue{hook.EQ{EQDriver: below}, f}, nil
}

// eventQueue is an event queue. A read of it makes progress.
type eventQueue struct {
	hook.EQ
	f *fabric
}

// Read is fi_eq_read(3).
func (q *eventQueue) Read(ev *core.EQEvent, flags core.EQFlags) error {
	q.f.release()
	return q.EQ.Read(ev, flags)
}

// SRead is fi_eq_sread(3).
func (q *eventQueue) SRead(ctx context.Context, ev *core.EQEvent, flags core.EQFlags) error {
	q.f.release()
	return q.EQ.SRead(ctx, ev, flags)
}
