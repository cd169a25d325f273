package tcp

import (
	"gofabric/core"
	"gofabric/provider/tcp/engine"
)

// sharedRx is a shared receive context of MSG endpoints.
type sharedRx struct {
	receiver
	noConnections
	rx   *engine.RxContext
	eps  []*msgEndpoint
	dead bool
}

func openSRX(d *domain, attr *core.RxAttr) (*sharedRx, error) {
	if attr == nil {
		attr = &core.RxAttr{}
	}
	if attr.OpFlags&^srxOpFlags != 0 {
		return nil, opError("fi_srx_context", d.info.Domain.Name, noPeer, core.ErrBadFlags, "not a flag of receives: "+core.OpFlagsString(attr.OpFlags&^srxOpFlags))
	}
	s := &sharedRx{}
	s.rx = engine.NewRxContext(&d.pool, s)
	configureRx(s.rx, d.s, attr)
	opFlags := attr.OpFlags
	s.receiver = receiver{dom: d, rx: s.rx, sources: true,
		quiet: func() bool { return len(s.eps) > 0 && s.eps[0].rxQuiet },
		ready: func() error {
			if s.dead {
				return core.ErrBadF
			}
			return nil
		},
		flags: func() core.Flags { return opFlags },
	}
	d.refs.Add(1)
	return s, nil
}

// bound and unbound are told which endpoints use the context. Locked.
func (s *sharedRx) bound(ep *msgEndpoint) { s.eps = append(s.eps, ep) }

func (s *sharedRx) unbound(ep *msgEndpoint) {
	for i, e := range s.eps {
		if e == ep {
			s.eps = append(s.eps[:i], s.eps[i+1:]...)
			return
		}
	}
}

// Completed implements engine.Sink for what concerns no connection: it goes to the queue of the first endpoint bound, as natively.
func (s *sharedRx) Completed(c *engine.Completion) {
	if len(s.eps) > 0 {
		s.eps[0].Completed(c)
	}
}

func (s *sharedRx) Replied(*engine.Conn) {}

func (s *sharedRx) Sent(*engine.Send) {}

func (s *sharedRx) Received(r *engine.RxOp) {
	if len(s.eps) > 0 {
		s.eps[0].Received(r)
	}
}

// Cancel cancels a receive posted here.
func (s *sharedRx) Cancel(ctx core.Context) error {
	s.dom.prog.Lock()
	defer s.dom.prog.Unlock()
	if s.rx.Cancel(uint64(ctx)) {
		return nil
	}
	return core.ErrNoEnt
}

func (s *sharedRx) GetOpt(opt core.EPOpt) (int, error) {
	s.dom.prog.Lock()
	defer s.dom.prog.Unlock()
	if opt == core.OptMinMultiRecv {
		return s.rx.MinMulti, nil
	}
	return 0, core.ErrNoProtoOpt
}

func (s *sharedRx) SetOpt(opt core.EPOpt, value int) error {
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

// Close fails with ErrBusy while endpoints are bound.
func (s *sharedRx) Close() error {
	s.dom.prog.Lock()
	defer s.dom.prog.Unlock()
	if s.dead {
		return core.ErrBadF
	}
	if len(s.eps) > 0 {
		return opError("fi_close", "shared receive context", noPeer, core.ErrBusy, "close the endpoints bound to it first")
	}
	s.dead = true
	s.rx.Release()
	s.dom.refs.Add(-1)
	return nil
}
