package endpoint

import (
	"sync/atomic"

	"gofabric/core"
	"gofabric/cq"
)

// Fabric is what all fabrics have in common: attributes, queues, and the count of what is open. A provider embeds it and adds OpenDomain. Its
// methods are safe for concurrent use.
type Fabric struct {
	names *Names
	attr  core.FabricAttr
	refs  atomic.Int64
}

// InitFabric prepares f for the fabric of info, which is not kept.
func (f *Fabric) InitFabric(names *Names, info *core.Info) {
	f.names, f.attr = names, *info.Fabric
	f.attr.Fabric = nil
}

// Ref and Unref count what was opened on the fabric and keeps it from closing.
func (f *Fabric) Ref()   { f.refs.Add(1) }
func (f *Fabric) Unref() { f.refs.Add(-1) }

// Attr returns the fabric's attributes, the caller's to keep.
func (f *Fabric) Attr() *core.FabricAttr { a := f.attr; return &a }

// Close fails with ErrBusy while domains, queues, wait sets or passive endpoints are open (fi_close(3)). What the provider added, it closes when this has succeeded.
func (f *Fabric) Close() error {
	if f.refs.Load() > 0 {
		return f.names.Error("fi_close", "fabric "+f.attr.Name, NoPeer, core.ErrBusy, "close its domains, event queues, wait sets and passive endpoints first")
	}
	return nil
}

// EventQueue is an event queue that its fabric knows of.
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
		return nil, err // and not a typed nil, which would compare unequal to nil
	}
	f.Ref()
	w.OnClose(f.Unref)
	return w, nil
}

// TryWait is fi_trywait(3).
func (f *Fabric) TryWait(objs ...any) error { return cq.TryWait(objs...) }

// OpenPassiveEndpoint fails; providers that have connections have their own (fi_passive_ep(3)).
func (f *Fabric) OpenPassiveEndpoint(*core.Info, *core.PassiveEndpoint) (core.PassiveDriver, error) {
	return nil, f.names.Error("fi_passive_ep", f.attr.Name, NoPeer, core.ErrNoSys, "there are no connections here; take a provider of MSG endpoints, such as tcp")
}

// QueueOf returns the event queue of this package's making in q; op is the C name of the call, for the error.
func (n *Names) QueueOf(op string, q core.EQDriver) (*EventQueue, error) {
	e, ok := q.(*EventQueue)
	if !ok {
		return nil, n.Error(op, "", NoPeer, core.ErrInval, "the event queue belongs to another provider")
	}
	return e, nil
}
