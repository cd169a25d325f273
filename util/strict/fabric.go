package strict

import (
	"sync"

	"gofabric/core"
)

// wrapper is what stands in front of an object of the stack below.
type wrapper interface{ inner() core.Object }

// peel returns the object below x, which providers know; x itself if it is not of this package.
func peel[T core.Object](x T) T {
	if w, ok := any(x).(wrapper); ok {
		if below, ok := w.inner().(T); ok {
			return below
		}
	}
	return x
}

// fabric is an open fabric.
type fabric struct {
	core.Fabric
	o    *Overlay
	name string

	mu      sync.Mutex
	outer   map[core.Object]core.Object // what stands in front of objects that events name
	domains map[*domain]bool
}

// OpenFabric implements core.Overlay.
func (o *Overlay) OpenFabric(info *core.Info, below core.Fabric) (core.Fabric, error) {
	return &fabric{Fabric: below, o: o, name: info.Fabric.ProvName, outer: map[core.Object]core.Object{}, domains: map[*domain]bool{}}, nil
}

func (f *fabric) inner() core.Object { return f.Fabric }

// stands records that outer stands in front of below, gone that it does so no more; front returns it, or the object itself.
func (f *fabric) stands(below, outer core.Object) {
	f.mu.Lock()
	f.outer[below] = outer
	f.mu.Unlock()
}

func (f *fabric) gone(below core.Object) {
	f.mu.Lock()
	delete(f.outer, below)
	f.mu.Unlock()
}

func (f *fabric) front(below core.Object) core.Object {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o, ok := f.outer[below]; ok {
		return o
	}
	return below
}

// release transmits what endpoints of the fabric's domains hold back.
func (f *fabric) release() {
	f.mu.Lock()
	list := make([]*domain, 0, len(f.domains))
	for d := range f.domains {
		list = append(list, d)
	}
	f.mu.Unlock()
	for _, d := range list {
		d.release()
	}
}

// OpenDomain is fi_domain(3).
func (f *fabric) OpenDomain(info *core.Info) (core.Domain, error) {
	below, err := f.Fabric.OpenDomain(info)
	if err != nil {
		return nil, err
	}
	d := newDomain(f, below, info)
	f.mu.Lock()
	f.outer[below] = d
	f.domains[d] = true
	f.mu.Unlock()
	return d, nil
}

// OpenPassiveEndpoint is fi_passive_ep(3).
func (f *fabric) OpenPassiveEndpoint(info *core.Info) (core.PassiveEndpoint, error) {
	below, err := f.Fabric.OpenPassiveEndpoint(info)
	if err != nil {
		return nil, err
	}
	p := &passive{PassiveEndpoint: below, f: f}
	f.stands(below, p)
	return p, nil
}

// OpenEQ is fi_eq_open(3).
func (f *fabric) OpenEQ(attr core.EQAttr) (core.EventQueue, error) {
	below, err := f.Fabric.OpenEQ(attr)
	if err != nil {
		return nil, err
	}
	return &eventQueue{EventQueue: below, f: f}, nil
}

// TryWait is fi_trywait(3): what waits in a window must be read before anybody sleeps.
func (f *fabric) TryWait(objs ...core.Object) error {
	f.release()
	below := make([]core.Object, len(objs))
	for i, o := range objs {
		below[i] = peel(o)
		if q, ok := o.(*queue); ok && q.waits() {
			return core.ErrAgain
		}
	}
	return f.Fabric.TryWait(below...)
}

// passive is a listener.
type passive struct {
	core.PassiveEndpoint
	f *fabric
}

func (p *passive) inner() core.Object { return p.PassiveEndpoint }

// BindEQ is fi_pep_bind (fi_endpoint(3)).
func (p *passive) BindEQ(eq core.EventQueue, flags core.Flags) error {
	return p.PassiveEndpoint.BindEQ(peel(eq), flags)
}

// Close is fi_close(3).
func (p *passive) Close() error {
	err := p.PassiveEndpoint.Close()
	if err == nil {
		p.f.gone(p.PassiveEndpoint)
	}
	return err
}
