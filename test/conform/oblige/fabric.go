package oblige

import (
	"context"
	"sync"

	"gofabric/core"
)

// wrapper is what stands in front of an object of the stack.
type wrapper interface{ inner() core.Object }

// peel returns the object below x; x itself if it is not of this package, nil for nil.
func peel[T core.Object](x T) T {
	if any(x) == nil {
		return x
	}
	if w, ok := any(x).(wrapper); ok {
		if below, ok := w.inner().(T); ok {
			return below
		}
	}
	return x
}

type fabric struct {
	core.Fabric
	o *Overlay

	mu    sync.Mutex
	outer map[core.Object]core.Object // what stands in front of objects that events and poll sets name
	plain []core.Object               // open objects with nothing in front of them
	ended bool
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

// Abandon closes everything that was opened, in whatever order it can be closed, and the fabric: for tests that ended early.
func (f *fabric) Abandon() {
	for {
		f.mu.Lock()
		if f.ended {
			f.mu.Unlock()
			return
		}
		open := len(f.outer)
		list := make([]core.Object, 0, open)
		for _, o := range f.outer {
			list = append(list, o)
		}
		list = append(list, f.plain...)
		f.mu.Unlock()
		for _, o := range list {
			_ = o.Close() // busy: in the next round
		}
		f.mu.Lock()
		left := len(f.outer)
		f.mu.Unlock()
		if left == 0 || left == open {
			break
		}
	}
	_ = f.Close()
}

func (f *fabric) Close() error {
	err := f.Fabric.Close()
	if err == nil {
		f.mu.Lock()
		f.ended = true
		f.mu.Unlock()
	}
	return err
}

// track has Abandon close an object that has nothing in front of it, again if somebody else did.
func track[T core.Object](f *fabric, below T, err error) (T, error) {
	if err == nil {
		f.mu.Lock()
		f.plain = append(f.plain, below)
		f.mu.Unlock()
	}
	return below, err
}

func (f *fabric) OpenWait(attr core.WaitAttr) (core.WaitSet, error) {
	w, err := f.Fabric.OpenWait(attr)
	return track(f, w, missing("fi_wait_open", err))
}

// close closes below for what stands in front of it.
func (f *fabric) close(below core.Object) error {
	err := below.Close()
	if err == nil {
		f.mu.Lock()
		delete(f.outer, below)
		f.mu.Unlock()
	}
	return err
}

func (f *fabric) OpenDomain(info *core.Info) (core.Domain, error) {
	i := f.o.honest(info)
	below, err := f.Fabric.OpenDomain(i)
	if err != nil {
		return nil, err
	}
	return stands(f, below, &domain{Domain: below, f: f, info: i, ops: map[core.Context]*op{}, claims: map[claim]core.Context{}}), nil
}

func (f *fabric) OpenPassiveEndpoint(info *core.Info) (core.PassiveEndpoint, error) {
	below, err := f.Fabric.OpenPassiveEndpoint(f.o.honest(info))
	if err != nil {
		return nil, err
	}
	return stands(f, below, &passive{PassiveEndpoint: below, f: f}), nil
}

func (f *fabric) OpenEQ(attr core.EQAttr) (core.EventQueue, error) {
	below, err := f.Fabric.OpenEQ(attr)
	if err != nil {
		return nil, missing("fi_eq_open", err)
	}
	return stands(f, below, &eventQueue{EventQueue: below, f: f}), nil
}

func (f *fabric) TryWait(objs ...core.Object) error {
	below := make([]core.Object, len(objs))
	for i, o := range objs {
		below[i] = peel(o)
	}
	return f.Fabric.TryWait(below...)
}

type passive struct {
	core.PassiveEndpoint
	f *fabric
}

func (p *passive) inner() core.Object { return p.PassiveEndpoint }
func (p *passive) Close() error       { return p.f.close(p.PassiveEndpoint) }

func (p *passive) BindEQ(eq core.EventQueue, flags core.Flags) error {
	return p.PassiveEndpoint.BindEQ(peel(eq), flags)
}

// eventQueue is an event queue whose events name the objects that the application knows.
type eventQueue struct {
	core.EventQueue
	f *fabric
}

func (q *eventQueue) inner() core.Object { return q.EventQueue }
func (q *eventQueue) Close() error       { return q.f.close(q.EventQueue) }

func (q *eventQueue) event(ev *core.EQEvent, err error) error {
	if err == nil && ev.Object != nil {
		ev.Object = q.f.front(ev.Object)
	}
	return err
}

func (q *eventQueue) Read(ev *core.EQEvent, flags core.Flags) error {
	return q.event(ev, q.EventQueue.Read(ev, flags))
}

func (q *eventQueue) SRead(ctx context.Context, ev *core.EQEvent, flags core.Flags) error {
	return q.event(ev, q.EventQueue.SRead(ctx, ev, flags))
}

func (q *eventQueue) ReadErr(e *core.EQErrEntry, flags core.Flags) error {
	err := q.EventQueue.ReadErr(e, flags)
	if err == nil && e.Object != nil {
		e.Object = q.f.front(e.Object)
	}
	return err
}
