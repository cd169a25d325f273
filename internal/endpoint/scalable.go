package endpoint

import (
	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/xnet/engine"
)

// Base is the provider's endpoint below a scalable endpoint. It embeds Reliable. The contexts share its
// connections.
type Base interface {
	Whole
	Common() *Endpoint          // Endpoint's method
	Context() *engine.RxContext // Receiver's method
}

// Scalable is a scalable endpoint (core.ScalableDriver) over any provider's endpoint. The lock guards all of it.
type Scalable struct {
	Base
	e      *Endpoint          // the base's
	way    Router             // the base's Router
	tx, rx []*scalableContext // by index; nil where no context is open
	rxs    []*engine.RxContext
}

// NewScalable makes a scalable endpoint of b, which has just been made. Its Info sets the number of contexts. On
// failure it closes b. Not locked.
func NewScalable(b Base) (core.ScalableDriver, error) {
	e := b.Common()
	ntx, nrx := max(e.info.EP.TxCtxCnt, 1), max(e.info.EP.RxCtxCnt, 1)
	if max(ntx, nrx) > MaxContexts {
		b.Close()
		return nil, e.Refuse("fi_scalable_ep", NoPeer, core.ErrInval, "there are at most 16 transmit and receive contexts")
	}
	s := &Scalable{Base: b, e: e, tx: make([]*scalableContext, ntx), rx: make([]*scalableContext, nrx)}
	e.prog.Lock()
	defer e.prog.Unlock()
	e.scalable = true
	s.way, e.tx.r, e.recv.ready = e.tx.r, refusal{}, refuse // the scalable endpoint itself transfers nothing
	s.rxs = append(s.rxs, b.Context())
	for range nrx - 1 {
		s.rxs = append(s.rxs, engine.NewRxContext(&e.d.pool, nil))
	}
	for _, rx := range s.rxs {
		e.d.cfg.Limits.Apply(rx, e.info.Rx)
		rx.Sink = RxSink{Endpoint: e} // it has no queue: completions are dropped until a context is open
	}
	engine.Group(s.rxs)
	return s, nil
}

// refusal is the Router of endpoints that do not transmit.
type refusal struct{}

func (refusal) Route(core.FIAddr) (*engine.Conn, error) { return nil, core.ErrNoSys }
func (refusal) Posted(*engine.Conn, bool) *batch.Stream { return nil }

// refuse is the ready function of endpoints that do not receive.
func refuse() error { return core.ErrNoSys }

// Bind binds an address vector or an event queue. Queues and counters are bound to the contexts
// (fi_scalable_ep_bind, fi_endpoint(3)).
func (s *Scalable) Bind(obj any, flags core.BindFlags) error {
	switch obj.(type) {
	case *AddressVector, *EventQueue:
		return s.Base.Bind(obj, flags)
	}
	return s.e.Refuse("fi_scalable_ep_bind", NoPeer, core.ErrInval, "a scalable endpoint takes an address vector; bind queues and counters to its contexts")
}

// Cancel fails, because operations belong to contexts.
func (s *Scalable) Cancel(core.OpContext) error { return core.ErrNoSys }

// Alias fails, because a scalable endpoint transfers no data. Its contexts have aliases.
func (s *Scalable) Alias(_ core.BindFlags, _ core.OpFlags) (core.EndpointDriver, error) {
	return nil, s.e.Refuse("fi_ep_alias", NoPeer, core.ErrNoSys, "a scalable endpoint has no aliases: open an alias of one of its contexts")
}

// Enable accepts connections of peers, and starts the transmit contexts that are enabled (fi_enable(3)).
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

// Close closes the endpoint. It fails with ErrBusy while a context is open (fi_close(3)).
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
