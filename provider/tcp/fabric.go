package tcp

import (
	"net/netip"
	"sync"

	"gofabric/core"
	"gofabric/cq"
	"gofabric/internal/progress"
	"gofabric/provider/tcp/engine"
)

var noPeer netip.AddrPort

// fabric is an open fabric. Listeners of passive endpoints have a progress engine of their own, made with the first one.
type fabric struct {
	p    *Provider
	attr core.FabricAttr

	mu   sync.Mutex
	refs int
	prog *progress.Engine
	bufs *buffers
	pool engine.Pool
	cfg  *engine.Config
}

func newFabric(p *Provider, info *core.Info) *fabric {
	f := &fabric{p: p, attr: *info.Fabric, cfg: p.s.config(1)}
	f.attr.Fabric = nil
	return f
}

func (f *fabric) ref() {
	f.mu.Lock()
	f.refs++
	f.mu.Unlock()
}

func (f *fabric) unref() {
	f.mu.Lock()
	f.refs--
	f.mu.Unlock()
}

// progress returns the engine of the fabric's listeners.
func (f *fabric) progress() (*progress.Engine, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.prog == nil {
		e, err := progress.New(true)
		if err != nil {
			return nil, err
		}
		f.prog, f.bufs = e, newBuffers(4096)
	}
	return f.prog, nil
}

func (f *fabric) Attr() *core.FabricAttr { a := f.attr; return &a }

// Close fails with ErrBusy while domains, queues or passive endpoints are open (fi_close(3)).
func (f *fabric) Close() error {
	f.mu.Lock()
	if f.refs > 0 {
		f.mu.Unlock()
		return opError("fi_close", "fabric "+f.attr.Name, noPeer, core.ErrBusy, "close its domains, event queues and passive endpoints first")
	}
	e := f.prog
	f.prog = nil
	f.mu.Unlock()
	if e != nil {
		return e.Close()
	}
	return nil
}

func (f *fabric) OpenDomain(info *core.Info) (core.Domain, error) {
	d, err := openDomain(f, info)
	if err != nil {
		return nil, err
	}
	return d, nil
}

func (f *fabric) OpenPassiveEndpoint(info *core.Info) (core.PassiveEndpoint, error) {
	p, err := openPassive(f, info)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// eventQueue is an event queue that its fabric knows of.
type eventQueue struct {
	*cq.EventQueue
	f *fabric
}

func (f *fabric) OpenEQ(attr core.EQAttr) (core.EventQueue, error) {
	q, err := cq.NewEventQueue(attr)
	if err != nil {
		return nil, err
	}
	f.ref()
	return &eventQueue{q, f}, nil
}

func (q *eventQueue) Close() error {
	if err := q.EventQueue.Close(); err != nil {
		return err
	}
	q.f.unref()
	return nil
}

func (f *fabric) OpenWait(attr core.WaitAttr) (core.WaitSet, error) {
	w, err := cq.NewWaitSet(attr)
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (f *fabric) TryWait(objs ...core.Object) error { return cq.TryWait(objs...) }

// eventQueueOf returns the queue of this package's making in q.
func eventQueueOf(q core.EventQueue) (*eventQueue, error) {
	e, ok := q.(*eventQueue)
	if !ok {
		return nil, opError("fi_ep_bind", "", noPeer, core.ErrInval, "the event queue belongs to another provider")
	}
	return e, nil
}
