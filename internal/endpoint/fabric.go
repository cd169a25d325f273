package endpoint

import (
	"sync/atomic"

	"gofabric/core"
	"gofabric/cq"
)

// Fabric is the common part of all fabrics: attributes, event queues, wait sets, and the count of open objects. A
// provider embeds it and adds OpenDomain. Its methods are safe for concurrent use.
type Fabric struct {
	names *Names
	attr  core.FabricAttr
	refs  atomic.Int64
}

// InitFabric prepares f for the fabric of info. It keeps no reference to info.
func (f *Fabric) InitFabric(names *Names, info *core.Info) {
	f.names, f.attr = names, *info.Fabric
	f.attr.Fabric = nil
}

// Ref adds, and Unref drops, a reference of an object that was opened on the fabric. References keep the fabric
// from closing.
func (f *Fabric) Ref()   { f.refs.Add(1) }
func (f *Fabric) Unref() { f.refs.Add(-1) }

// Attr returns a copy of the fabric's attributes.
func (f *Fabric) Attr() *core.FabricAttr { a := f.attr; return &a }

// Close fails with ErrBusy while domains, queues, wait sets or passive endpoints are open (fi_close(3)). When it
// has succeeded, the provider closes its own part.
func (f *Fabric) Close() error {
	if f.refs.Load() > 0 {
		return f.names.Error("fi_close", "fabric "+f.attr.Name, NoPeer, core.ErrBusy, "close its domains, event queues, wait sets and passive endpoints first")
	}
	return nil
}

// EventQueue is an event queue of a fabric (fi_eq(3)).
type EventQueue struct {
	*cq.EventQueue
	f *Fabric
}

// OpenEQ opens an event queue (fi_eq_open(3)).
func (f *Fabric) OpenEQ(attr core.EQAttr, set core.WaitDriver) (core.EQDriver, error) {
	q, err := cq.NewEventQueue(attr, set)
	if err != nil {
		return nil, err
	}
	f.Ref()
	return &EventQueue{q, f}, nil
}

// Close fails with ErrBusy while something is bound to the queue (fi_close(3)).
func (q *EventQueue) Close() error {
	if err := q.EventQueue.Close(); err != nil {
		return err
	}
	q.f.Unref()
	return nil
}

// OpenWait opens a wait set (fi_wait_open(3)).
func (f *Fabric) OpenWait(attr core.WaitAttr) (core.WaitDriver, error) {
	w, err := cq.NewWaitSet(attr)
	if err != nil {
		return nil, err // a nil *cq.WaitSet in the interface would compare unequal to nil
	}
	f.Ref()
	w.OnClose(f.Unref)
	return w, nil
}

// TryWait is fi_trywait(3).
func (f *Fabric) TryWait(objs ...any) error { return cq.TryWait(objs...) }

// OpenPassiveEndpoint fails. Providers with connections override it (fi_passive_ep(3)).
func (f *Fabric) OpenPassiveEndpoint(*core.Info, *core.PassiveEndpoint) (core.PassiveDriver, error) {
	return nil, f.names.Error("fi_passive_ep", f.attr.Name, NoPeer, core.ErrNoSys, "the provider has no connections; use one with MSG endpoints, such as tcp")
}

// QueueOf returns q as this package's type. It fails if another provider made q. op is the C name of the call, for
// the error.
func (n *Names) QueueOf(op string, q core.EQDriver) (*EventQueue, error) {
	e, ok := q.(*EventQueue)
	if !ok {
		return nil, n.Error(op, "", NoPeer, core.ErrInval, "the event queue belongs to another provider")
	}
	return e, nil
}
