package endpoint

import (
	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// Indices of Endpoint.cntr.
const (
	cntrTx = iota
	cntrRx
	cntrRead
	cntrWrite
	cntrRemoteRead
	cntrRemoteWrite
)

// counterFlags are the flags that bind a counter, by index; counted is all of them.
var counterFlags = [...]core.BindFlags{core.BindSend, core.BindRecv, core.BindRead, core.BindWrite, core.BindRemoteRead, core.BindRemoteWrite}

const counted = core.BindSend | core.BindRecv | core.BindRead | core.BindWrite | core.BindRemoteRead | core.BindRemoteWrite

// Bind binds a queue, counter, vector or shared transmit context of the endpoint's domain, or an event queue of its
// fabric (fi_ep_bind(3)). A provider whose endpoints accept a shared receive context handles it with TakeSRX before
// it calls Bind.
func (e *Endpoint) Bind(obj any, flags core.BindFlags) error {
	switch x := obj.(type) {
	case *CompletionQueue:
		return e.bindCQ(x, flags)
	case *Counter:
		return e.bindCounter(x, flags)
	case *AddressVector:
		return e.bindAV(x)
	case *EventQueue:
		return e.bindEQ(x)
	case *SharedTx:
		return e.bindSTX(x)
	case core.SRXDriver:
		return e.Refuse("fi_ep_bind", NoPeer, core.ErrNoSys, "this type of endpoint takes no shared receive context")
	}
	return e.Refuse("fi_ep_bind", NoPeer, core.ErrInval, "the object belongs to another provider")
}

// bindCQ binds a completion queue to one direction or both. Each direction has one queue.
func (e *Endpoint) bindCQ(cq *CompletionQueue, flags core.BindFlags) error {
	if cq.d != e.d {
		return e.Refuse("fi_ep_bind", NoPeer, core.ErrInval, "the completion queue belongs to another domain")
	}
	if flags&^(core.BindTransmit|core.BindRecv|core.BindSelectiveCompletion) != 0 || flags&(core.BindTransmit|core.BindRecv) == 0 {
		return e.Refuse("fi_ep_bind", NoPeer, core.ErrBadFlags, "flags are BindTransmit, BindRecv and BindSelectiveCompletion")
	}
	e.prog.Lock()
	defer e.prog.Unlock()
	if e.enabled || flags&core.BindTransmit != 0 && e.txCQ != nil || flags&core.BindRecv != 0 && e.rxCQ != nil {
		return e.Refuse("fi_ep_bind", NoPeer, core.ErrInval, "bind each direction once, before Enable")
	}
	if flags&core.BindTransmit != 0 {
		e.txCQ, e.txQuiet = cq, flags&core.BindSelectiveCompletion != 0
		cq.Ref()
	}
	if flags&core.BindRecv != 0 {
		e.rxCQ, e.rxQuiet = cq, flags&core.BindSelectiveCompletion != 0
		cq.Ref()
	}
	return nil
}

// bindCounter binds a counter to the traffic that flags name.
func (e *Endpoint) bindCounter(cn *Counter, flags core.BindFlags) error {
	if cn.d != e.d {
		return e.Refuse("fi_ep_bind", NoPeer, core.ErrInval, "the counter belongs to another domain")
	}
	if flags&^counted != 0 || flags == 0 {
		return e.Refuse("fi_ep_bind", NoPeer, core.ErrBadFlags, "flags are BindSend, BindRecv, BindRead, BindWrite, BindRemoteRead and BindRemoteWrite")
	}
	e.prog.Lock()
	defer e.prog.Unlock()
	for i, k := range counterFlags {
		if flags&k == 0 {
			continue
		}
		if e.cntr[i] != nil {
			return e.Refuse("fi_ep_bind", NoPeer, core.ErrInval, "a counter is already bound for these operations")
		}
		e.cntr[i] = cn
		cn.Ref()
	}
	return nil
}

// bindAV binds the address vector. Destinations are its indices.
func (e *Endpoint) bindAV(av *AddressVector) error {
	if av.d != e.d {
		return e.Refuse("fi_ep_bind", NoPeer, core.ErrInval, "the address vector belongs to another domain")
	}
	e.prog.Lock()
	defer e.prog.Unlock()
	if e.av != nil {
		return e.Refuse("fi_ep_bind", NoPeer, core.ErrInval, "an address vector is already bound")
	}
	av.Ref()
	e.av, e.userIDs = av, e.d.info.Caps&core.CapAVUserID != 0
	return nil
}

// WatchAV registers two functions for the bound vector, until Unbind. inserted is called for each address that
// enters the vector, and removed for each that leaves it, both locked. The caller does not hold the lock. It calls
// WatchAV once, after a vector was bound.
func (e *Endpoint) WatchAV(inserted func(core.FIAddr, core.Addr), removed func(core.FIAddr)) {
	ins := e.av.OnInsert(func(fi core.FIAddr, a core.Addr) {
		e.prog.Lock()
		defer e.prog.Unlock()
		inserted(fi, a)
	})
	rem := e.av.OnRemove(func(fi core.FIAddr) {
		e.prog.Lock()
		defer e.prog.Unlock()
		e.avGeneration++
		removed(fi)
	})
	e.unwatch = func() { ins(); rem() }
}

// TakeSRX binds a shared receive context (fi_ep_bind(3)). It returns the receive context that the endpoint's
// connections use from then on. Not locked.
func (e *Endpoint) TakeSRX(srx *SharedRx) (*engine.RxContext, error) {
	if srx.dom != e.d {
		return nil, e.Refuse("fi_ep_bind", NoPeer, core.ErrInval, "the shared receive context belongs to another domain")
	}
	e.prog.Lock()
	defer e.prog.Unlock()
	if e.srx != nil || e.enabled || e.scalable {
		return nil, e.Refuse("fi_ep_bind", NoPeer, core.ErrInval, "bind one shared receive context, before Enable")
	}
	srx.Bound(e)
	return srx.Context(), nil
}

// Shared reports whether receives are posted to a shared context. Locked.
func (e *Endpoint) Shared() bool { return e.srx != nil }

// bindSTX makes the endpoint's transmits count against a shared transmit context.
func (e *Endpoint) bindSTX(stx *SharedTx) error {
	if stx.d != e.d {
		return e.Refuse("fi_ep_bind", NoPeer, core.ErrInval, "the shared transmit context belongs to another domain")
	}
	e.prog.Lock()
	defer e.prog.Unlock()
	switch {
	case e.stx != nil || e.enabled || e.scalable || stx.dead:
		return e.Refuse("fi_ep_bind", NoPeer, core.ErrInval, "bind one shared transmit context, before Enable")
	case stx.caps != 0 && e.info.Tx != nil && e.info.Tx.Caps&^stx.caps != 0:
		return e.Refuse("fi_ep_bind", NoPeer, core.ErrInval, "the shared transmit context lacks "+(e.info.Tx.Caps&^stx.caps).String())
	}
	e.stx = stx
	stx.refs++
	return nil
}

// bindEQ binds an event queue.
func (e *Endpoint) bindEQ(eq *EventQueue) error {
	e.prog.Lock()
	defer e.prog.Unlock()
	if e.eq != nil {
		return e.Refuse("fi_ep_bind", NoPeer, core.ErrInval, "an event queue is already bound")
	}
	eq.Ref()
	eq.AddProgress(e.prog)
	e.eq = eq
	return nil
}

// Unbind ends all bindings. From then on the endpoint no longer keeps its domain open. It is the last step of
// Close. Not locked.
func (e *Endpoint) Unbind() {
	e.d.open.remove(e)
	e.unref()
	if e.eq != nil {
		e.eq.DelProgress(e.prog)
		e.eq.Unref()
	}
	if e.stx != nil {
		e.prog.Lock()
		e.stx.refs--
		e.prog.Unlock()
	}
	if e.unwatch != nil {
		e.unwatch()
	}
	if e.av != nil {
		e.dropKey()
		e.av.Unref()
	}
	e.d.Unref()
}

// unref drops the references to the queues and counters.
func (e *Endpoint) unref() {
	for _, q := range []*CompletionQueue{e.txCQ, e.rxCQ} {
		if q != nil {
			q.Unref()
		}
	}
	for _, c := range e.cntr {
		if c != nil {
			c.Unref()
		}
	}
}
