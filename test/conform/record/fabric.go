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
	if o.R.Lacks("fi_fabric") {
		return nil, core.ErrNoSys
	}
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
	err := f.r.do("fi_close", func() error { return below.Close() })
	if err == nil {
		f.mu.Lock()
		delete(f.outer, below)
		f.mu.Unlock()
	}
	return err
}

func (f *fabric) Close() error { return f.r.do("fi_close", func() error { return f.Fabric.Close() }) }

func (f *fabric) OpenDomain(info *core.Info) (core.Domain, error) {
	if f.r.Lacks("fi_domain") {
		return nil, core.ErrNoSys
	}
	below, err := f.Fabric.OpenDomain(f.r.Stripped(info))
	f.r.call("fi_domain", err)
	if err != nil {
		return nil, err
	}
	return stands(f, below, &domain{Domain: below, f: f, r: f.r}), nil
}

func (f *fabric) OpenPassiveEndpoint(info *core.Info) (core.PassiveEndpoint, error) {
	if f.r.Lacks("fi_passive_ep") {
		return nil, core.ErrNoSys
	}
	below, err := f.Fabric.OpenPassiveEndpoint(f.r.Stripped(info))
	f.r.call("fi_passive_ep", err)
	if err != nil {
		return nil, err
	}
	return stands(f, below, &passive{PassiveEndpoint: below, f: f, r: f.r}), nil
}

func (f *fabric) OpenEQ(attr core.EQAttr) (core.EventQueue, error) {
	attr.WaitSet = bare(attr.WaitSet)
	if f.r.Lacks("fi_eq_open") {
		return nil, core.ErrNoSys
	}
	attr.Flags = f.r.Mask("fi_eq_open", attr.Flags)
	attr.WaitObj = core.WaitObj(f.r.chosen("wait_obj", uint64(attr.WaitObj)))
	below, err := f.Fabric.OpenEQ(attr)
	f.r.flags("fi_eq_open", attr.Flags, err)
	f.r.value("wait_obj", uint64(attr.WaitObj), err)
	if err != nil {
		return nil, err
	}
	return stands(f, below, &eventQueue{EventQueue: below, f: f, r: f.r}), nil
}

func (f *fabric) OpenWait(attr core.WaitAttr) (core.WaitSet, error) {
	if f.r.Lacks("fi_wait_open") {
		return nil, core.ErrNoSys
	}
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
	return f.r.do("fi_trywait", func() error { return f.Fabric.TryWait(below...) })
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
func (p *passive) Listen() error {
	return p.r.do("fi_listen", func() error { return p.PassiveEndpoint.Listen() })
}

func (p *passive) BindEQ(eq core.EventQueue, flags core.Flags) error {
	return p.r.with("fi_pep_bind", flags, func(flags core.Flags) error { return p.PassiveEndpoint.BindEQ(bare(eq), flags) })
}

func (p *passive) Reject(handle core.Handle, param []byte) error {
	return p.r.do("fi_reject", func() error { return p.PassiveEndpoint.Reject(handle, param) })
}

func (p *passive) Name() (core.Addr, error) {
	return get(p.r, "fi_getname", func() (core.Addr, error) { return p.PassiveEndpoint.Name() })
}

func (p *passive) SetName(a core.Addr) error {
	return p.r.do("fi_setname", func() error { return p.PassiveEndpoint.SetName(a) })
}

func (p *passive) GetOpt(opt core.EPOpt) (int, error) {
	if p.r.hides("option", uint64(opt)) {
		return 0, nil
	}
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
