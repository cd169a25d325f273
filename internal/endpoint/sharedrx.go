package endpoint

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// SharedRx is a shared receive context (fi_srx_context(3)). It implements engine.Sink for completions without a
// connection, and for all completions when it has queues of its own.
type SharedRx struct {
	Receiver
	NoConnections
	eps     []*Endpoint
	opFlags core.OpFlags
	own     *Endpoint // holds the context's own queues; nil if it has none
	never   bool      // always false: no selective completion while no endpoint is bound
	dead    bool
}

// OpenSRX opens a shared receive context (fi_srx_context(3)).
func (d *Domain) OpenSRX(attr *core.RxAttr) (core.SRXDriver, error) {
	s, err := OpenSharedRx(d, attr)
	if err != nil {
		return nil, err // and not a typed nil, which would compare unequal to nil
	}
	return s, nil
}

// OpenSharedRx opens a shared receive context on d with the operation flags and the size of attr. A nil attr means
// the defaults.
func OpenSharedRx(d *Domain, attr *core.RxAttr) (*SharedRx, error) {
	if attr == nil {
		attr = &core.RxAttr{}
	}
	if attr.OpFlags&^RxOpFlags != 0 {
		return nil, d.cfg.Names.Error("fi_srx_context", d.Name(), NoPeer, core.ErrBadFlags, "not a flag of receives: "+(attr.OpFlags&^RxOpFlags).String())
	}
	s := &SharedRx{opFlags: attr.OpFlags}
	rx := engine.NewRxContext(&d.pool, s)
	d.cfg.Limits.Apply(rx, attr)
	s.Receiver = Receiver{dom: d, rx: rx, ready: s.alive, quiet: &s.never, flags: &s.opFlags, sources: true, tagSources: true}
	d.Ref()
	return s, nil
}

// alive is the Receiver's ready function: it refuses receives after Close.
func (s *SharedRx) alive() error {
	if s.dead {
		return core.ErrBadF
	}
	return nil
}

// queues returns the Endpoint that holds the context's own queues, a new one if there is none.
func (s *SharedRx) queues() (*Endpoint, error) {
	s.dom.prog.Lock()
	defer s.dom.prog.Unlock()
	if s.dead || len(s.eps) > 0 {
		return nil, s.dom.cfg.Names.Error("fi_ep_bind", "shared receive context", NoPeer, core.ErrInval, "bind queues to it before it is bound to endpoints")
	}
	if s.own == nil {
		e := &Endpoint{}
		e.InitEndpoint(s.dom, s.dom.info, func(uint64) (netip.AddrPort, netip.AddrPort) { return NoPeer, NoPeer })
		s.own, s.rx.Collect, s.quiet = e, true, &e.rxQuiet
	}
	return s.own, nil
}

// Bind binds a queue or a counter to the context itself (fi_ep_bind(3)).
func (s *SharedRx) Bind(obj any, flags core.BindFlags) error {
	e, err := s.queues()
	if err != nil {
		return err
	}
	switch obj.(type) {
	case *CompletionQueue:
		if flags&core.BindTransmit != 0 {
			return e.Refuse("fi_ep_bind", NoPeer, core.ErrBadFlags, "a receive context takes a completion queue for receives (BindRecv)")
		}
	case *Counter:
		if flags != core.BindRecv {
			return e.Refuse("fi_ep_bind", NoPeer, core.ErrBadFlags, "a shared receive context takes a counter for receives (BindRecv)")
		}
	default:
		return e.Refuse("fi_ep_bind", NoPeer, core.ErrInval, "a shared receive context takes queues and counters of its domain")
	}
	return e.Bind(obj, flags)
}

// Post implements core.SRXDriver.
func (s *SharedRx) Post(op core.Op) error { return s.post(&op) }

// Bound adds an endpoint that uses the context. The context cannot close before Unbound. Locked.
func (s *SharedRx) Bound(ep *Endpoint) {
	s.eps = append(s.eps, ep)
	ep.srx = s
	if s.own == nil {
		s.quiet = &s.eps[0].rxQuiet
	}
}

// Unbound removes an endpoint after its connections have closed. It drops the endpoint's unexpected messages, since
// no queue could report them. Locked.
func (s *SharedRx) Unbound(ep *Endpoint) {
	s.rx.DropWhere(func(sink engine.CompletionSink) bool {
		f, ok := sink.(interface{ Common() *Endpoint })
		return ok && f.Common() == ep
	})
	for i, e := range s.eps {
		if e == ep {
			s.eps = append(s.eps[:i], s.eps[i+1:]...)
			break
		}
	}
	if s.own != nil {
		return
	}
	if s.quiet = &s.never; len(s.eps) > 0 {
		s.quiet = &s.eps[0].rxQuiet
	}
}

// Completed implements engine.Sink for completions without a connection. They go to the queue of the endpoint that
// was bound first, as in libfabric's tcp.
func (s *SharedRx) Completed(c *engine.Completion) {
	if s.own != nil {
		s.own.Completed(c)
	} else if len(s.eps) > 0 {
		s.eps[0].Completed(c)
	}
}

// Replied implements engine.Sink.
func (s *SharedRx) Replied(*engine.Conn) {}

// Sent implements engine.Sink.
func (s *SharedRx) Sent(*engine.Send) {}

// Received implements engine.Sink; see Completed.
func (s *SharedRx) Received(r *engine.RxOp) {
	if s.own != nil {
		s.own.Received(r)
	} else if len(s.eps) > 0 {
		s.eps[0].Received(r)
	}
}

// Cancel cancels a receive posted here (fi_cancel(3)).
func (s *SharedRx) Cancel(ctx core.OpContext) error {
	s.dom.prog.Lock()
	defer s.dom.prog.Unlock()
	if s.rx.Cancel(uint64(ctx)) || s.dom.work.cancel(s.rx, ctx) {
		return nil
	}
	return core.ErrNoEnt
}

// GetOpt is fi_getopt (fi_endpoint(3)).
func (s *SharedRx) GetOpt(opt core.EPOpt) (int, error) {
	s.dom.prog.Lock()
	defer s.dom.prog.Unlock()
	if opt == core.OptMinMultiRecv {
		return s.rx.MinMulti, nil
	}
	return 0, core.ErrNoProtoOpt
}

// SetOpt is fi_setopt (fi_endpoint(3)).
func (s *SharedRx) SetOpt(opt core.EPOpt, value int) error {
	s.dom.prog.Lock()
	defer s.dom.prog.Unlock()
	if opt != core.OptMinMultiRecv {
		return core.ErrNoProtoOpt
	}
	if value < 0 {
		return core.ErrInval
	}
	s.rx.MinMulti = value
	return nil
}

// Close fails with ErrBusy while endpoints are bound (fi_close(3)).
func (s *SharedRx) Close() error {
	s.dom.prog.Lock()
	defer s.dom.prog.Unlock()
	if s.dead {
		return core.ErrBadF
	}
	if len(s.eps) > 0 {
		return s.dom.cfg.Names.Error("fi_close", "shared receive context", NoPeer, core.ErrBusy, "close the endpoints bound to it first")
	}
	s.dead = true
	s.dom.work.drop(s.rx)
	s.rx.Release()
	if s.own != nil {
		s.own.closed = true
		s.own.unref()
	}
	s.dom.Unref()
	return nil
}
