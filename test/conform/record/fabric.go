package record

import (
	"sync"

	"gofabric/core"
)

// Overlay stands above another overlay, or above the stack.
type Overlay struct {
	Below core.Overlay // may be nil
	R     *Recorder
}

// Offer implements core.Overlay.
func (o *Overlay) Offer(offer, hints *core.Info) string {
	if o.Below == nil {
		return ""
	}
	return o.Below.Offer(offer, hints)
}

// Narrow implements core.Overlay.
func (o *Overlay) Narrow(info, hints *core.Info) {
	if o.Below != nil {
		o.Below.Narrow(info, hints)
	}
}

// OpenFabric implements core.Overlay.
func (o *Overlay) OpenFabric(info *core.Info, below core.Fabric) (core.Fabric, error) {
	if o.Below != nil {
		b, err := o.Below.OpenFabric(info, below)
		if err != nil {
			return nil, err
		}
		below = b
	}
	o.R.call("fi_fabric", nil)
	return &fabric{Fabric: below, r: o.R, outer: map[core.Object]core.Object{}}, nil
}

// wrapper is what stands in front of an object of the stack.
type wrapper interface{ inner() core.Object }

// peel returns the object below x; x itself if it is not of this package, nil for nil.
func peel[T core.Object](x T) T {
	if w, ok := any(x).(wrapper); ok {
		if below, ok := w.inner().(T); ok {
			return below
		}
	}
	return x
}

type fabric struct {
	core.Fabric
	r *Recorder

	mu    sync.Mutex
	outer map[core.Object]core.Object // what stands in front of objects that events and poll sets name
}

func (f *fabric) inner() core.Object { return f.Fabric }

func stands[T core.Object](f *fabric, below core.Object, outer T) T {
	f.mu.Lock()
	f.outer[below] = outer
	f.mu.Unlock()
	return outer
}

// front returns what stands in front of an object.
func (f *fabric) front(below core.Object) core.Object {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o, ok := f.outer[below]; ok {
		return o
	}
	return below
}

// close closes below for what stands in front of it.
func (f *fabric) close(below core.Object) error {
	err := f.r.call("fi_close", below.Close())
	if err == nil {
		f.mu.Lock()
		delete(f.outer, below)
		f.mu.Unlock()
	}
	return err
}

func (f *fabric) Close() error { return f.r.call("fi_close", f.Fabric.Close()) }

func (f *fabric) OpenDomain(info *core.Info) (core.Domain, error) {
	below, err := f.Fabric.OpenDomain(info)
	f.r.call("fi_domain", err)
	if err != nil {
		return nil, err
	}
	return stands(f, below, &domain{Domain: below, f: f, r: f.r}), nil
}

func (f *fabric) OpenPassiveEndpoint(info *core.Info) (core.PassiveEndpoint, error) {
	below, err := f.Fabric.OpenPassiveEndpoint(info)
	f.r.call("fi_passive_ep", err)
	if err != nil {
		return nil, err
	}
	return stands(f, below, &passive{PassiveEndpoint: below, f: f, r: f.r}), nil
}

func (f *fabric) OpenEQ(attr core.EQAttr) (core.EventQueue, error) {
	attr.WaitSet = bare(attr.WaitSet)
	below, err := f.Fabric.OpenEQ(attr)
	f.r.flags("fi_eq_open", attr.Flags, err)
	f.r.value("wait_obj", uint64(attr.WaitObj), err)
	if err != nil {
		return nil, err
	}
	return stands(f, below, &eventQueue{EventQueue: below, f: f, r: f.r}), nil
}

func (f *fabric) OpenWait(attr core.WaitAttr) (core.WaitSet, error) {
	below, err := f.Fabric.OpenWait(attr)
	f.r.call("fi_wait_open", err)
	if err != nil {
		return nil, err
	}
	return &waitSet{WaitSet: below, f: f, r: f.r}, nil
}

func (f *fabric) TryWait(objs ...core.Object) error {
	below := make([]core.Object, len(objs))
	for i, o := range objs {
		below[i] = bare(o)
	}
	return f.r.call("fi_trywait", f.Fabric.TryWait(below...))
}

// bare is peel for what may be nil.
func bare[T core.Object](x T) T {
	if any(x) == nil {
		return x
	}
	return peel(x)
}

type passive struct {
	core.PassiveEndpoint
	f *fabric
	r *Recorder
}

func (p *passive) inner() core.Object { return p.PassiveEndpoint }
func (p *passive) Close() error       { return p.f.close(p.PassiveEndpoint) }
func (p *passive) Listen() error      { return p.r.call("fi_listen", p.PassiveEndpoint.Listen()) }

func (p *passive) BindEQ(eq core.EventQueue, flags core.Flags) error {
	return p.r.flags("fi_pep_bind", flags, p.PassiveEndpoint.BindEQ(bare(eq), flags))
}

func (p *passive) Reject(handle core.Handle, param []byte) error {
	return p.r.call("fi_reject", p.PassiveEndpoint.Reject(handle, param))
}

func (p *passive) Name() (core.Addr, error) {
	v, err := p.PassiveEndpoint.Name()
	return v, p.r.call("fi_getname", err)
}

func (p *passive) SetName(a core.Addr) error {
	return p.r.call("fi_setname", p.PassiveEndpoint.SetName(a))
}

func (p *passive) GetOpt(opt core.EPOpt) (int, error) {
	v, err := p.PassiveEndpoint.GetOpt(opt)
	return v, p.r.option("fi_getopt", opt, err)
}

func (p *passive) SetOpt(opt core.EPOpt, value int) error {
	return p.r.option("fi_setopt", opt, p.PassiveEndpoint.SetOpt(opt, value))
}

// option notes a call about an endpoint option.
func (r *Recorder) option(name string, opt core.EPOpt, err error) error {
	r.value("option", uint64(opt), err)
	return r.call(name, err)
}
