package endpoint

import (
	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/xnet/engine"
)

// MaxContexts is the most transmit and the most receive contexts of a scalable endpoint.
const MaxContexts = 16

// Base is the endpoint of a provider that a scalable endpoint stands on: it embeds Reliable. Its connections are what the contexts
// share.
type Base interface {
	Whole
	Front() *Endpoint           // of Endpoint
	Context() *engine.RxContext // of Receiver
}

// Scalable is a scalable endpoint (core.ScalableDriver) over any provider's endpoint. Everything in it is guarded by the lock.
type Scalable struct {
	Base
	e      *Endpoint          // of the base
	way    Router             // to the connections
	tx, rx []*scalableContext // nil where none is open
	rxs    []*engine.RxContext
}

// NewScalable makes a scalable endpoint of b, which nobody else has seen yet, with as many contexts as its Info says. On failure it closes b. Not locked.
func NewScalable(b Base) (core.ScalableDriver, error) {
	e := b.Front()
	ntx, nrx := max(e.info.EP.TxCtxCnt, 1), max(e.info.EP.RxCtxCnt, 1)
	if max(ntx, nrx) > MaxContexts {
		b.Close()
		return nil, e.Refuse("fi_scalable_ep", NoPeer, core.ErrInval, "there are at most 16 transmit and receive contexts")
	}
	s := &Scalable{Base: b, e: e, tx: make([]*scalableContext, ntx), rx: make([]*scalableContext, nrx)}
	e.prog.Lock()
	defer e.prog.Unlock()
	e.scalable = true
	s.way, e.tx.r, e.recv.ready = e.tx.r, refusal{}, refuse // it transfers nothing itself
	s.rxs = append(s.rxs, b.Context())
	for range nrx - 1 {
		s.rxs = append(s.rxs, engine.NewRxContext(&e.d.pool, nil))
	}
	for _, rx := range s.rxs {
		e.d.cfg.Limits.Apply(rx, e.info.Rx)
		rx.Sink = RxSink{Endpoint: e} // which has no queue: nobody is told before there is somebody
	}
	engine.Group(s.rxs)
	return s, nil
}

// refusal is the way of endpoints that do not transmit.
type refusal struct{}

func (refusal) Route(core.FIAddr) (*engine.Conn, error) { return nil, core.ErrNoSys }
func (refusal) Posted(*engine.Conn, bool) *batch.Stream { return nil }

// refuse refuses receives of endpoints that do not receive.
func refuse() error { return core.ErrNoSys }

// Bind binds an address vector or an event queue: the contexts have queues and counters, and are the endpoint's own (fi_scalable_ep_bind, fi_endpoint(3)).
func (s *Scalable) Bind(obj any, flags core.BindFlags) error {
	switch obj.(type) {
	case *AddressVector, *EventQueue:
		return s.Base.Bind(obj, flags)
	}
	return s.e.Refuse("fi_scalable_ep_bind", NoPeer, core.ErrInval, "a scalable endpoint takes an address vector; bind queues and counters to its contexts")
}

// Cancel fails: operations belong to contexts.
func (s *Scalable) Cancel(core.OpContext) error { return core.ErrNoSys }

// Alias refuses: aliases are for endpoints that transfer data; contexts have them.
func (s *Scalable) Alias(_ core.BindFlags, _ core.OpFlags) (core.EndpointDriver, error) {
	return nil, s.e.Refuse("fi_ep_alias", NoPeer, core.ErrNoSys, "open an alias of a context")
}

// Enable lets peers in, and the contexts that are enabled transmit (fi_enable(3)).
func (s *Scalable) Enable() error {
	if err := s.Base.Enable(); err != nil {
		return err
	}
	s.e.prog.Lock()
	defer s.e.prog.Unlock()
	for _, p := range s.tx {
		if p != nil && p.ready {
			p.start()
		}
	}
	return nil
}

// Close closes the endpoint; its contexts must be closed before (fi_close(3)).
func (s *Scalable) Close() error {
	s.e.prog.Lock()
	for _, list := range [][]*scalableContext{s.tx, s.rx} {
		for _, p := range list {
			if p != nil {
				s.e.prog.Unlock()
				return s.e.Refuse("fi_close", NoPeer, core.ErrBusy, "close its contexts first")
			}
		}
	}
	s.e.prog.Unlock()
	if err := s.Base.Close(); err != nil {
		return err
	}
	s.e.prog.Lock()
	defer s.e.prog.Unlock()
	for _, rx := range s.rxs {
		rx.Release()
	}
	return nil
}
