package dgramep

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/queue"
)

// sharedRx is a shared receive context (fi_srx_context(3)): its receives take the datagrams of all endpoints bound
// to it. Package endpoint has its queues, counters and the rest of the interface; this type has the posted
// receives. Its methods are safe for concurrent use.
type sharedRx struct {
	*endpoint.SharedRx
	base   *endpoint.Domain
	posted queue.FIFO[receive] // guarded by the domain's lock, as the fields below
	size   int
	eps    []*dgramEndpoint // enabled endpoints; datagrams for others wait there
	turn   int              // index in eps of the endpoint whose early datagrams come next
	closed bool
}

// OpenSRX opens a shared receive context for DGRAM endpoints of base, with the flags and the size of attr. A nil
// attr gives the defaults (fi_srx_context(3)).
func OpenSRX(base *endpoint.Domain, attr *core.RxAttr) (core.SRXDriver, error) {
	below, err := endpoint.OpenSharedRx(base, attr)
	if err != nil {
		return nil, err
	}
	s := &sharedRx{SharedRx: below, base: base, size: 1024} // the default of an endpoint
	if attr != nil && attr.Size > 0 {
		s.size = attr.Size
	}
	return s, nil
}

// post posts a receive of the buffers in iov.
func (s *sharedRx) post(iov [][]byte, flags core.OpFlags, plain bool, ctx core.OpContext) error {
	if len(iov) > maxIOV {
		return core.ErrInval
	}
	prog := s.base.Progress()
	prog.Lock()
	defer prog.Unlock()
	if s.closed {
		return core.ErrBadF
	}
	if s.posted.Len() >= s.size {
		prog.Pass()
		return core.ErrAgain
	}
	if plain {
		flags = s.DefaultFlags()
	}
	op := s.posted.Add()
	op.ctx, op.silent = ctx, s.SilentRx(flags)
	op.n = copy(op.iov[:], iov)
	s.serve()
	return nil
}

// serve completes the oldest receive with an early datagram of one of the endpoints, which take turns.
func (s *sharedRx) serve() {
	for range s.eps {
		s.turn = (s.turn + 1) % len(s.eps)
		if e := s.eps[s.turn]; e.early.list.Len() > 0 {
			e.serve()
			return
		}
	}
}

// Recv is fi_recv (fi_msg(3)).
func (s *sharedRx) Recv(buf []byte, _ core.Desc, _ core.FIAddr, ctx core.OpContext) error {
	iov := [1][]byte{buf}
	return s.post(iov[:], 0, true, ctx)
}

// TRecv fails: datagrams have no tags.
func (*sharedRx) TRecv([]byte, core.Desc, core.FIAddr, uint64, uint64, core.OpContext) error {
	return core.ErrNoSys
}

// Post implements core.SRXDriver; see receives.receive.
func (s *sharedRx) Post(op core.Op) error {
	switch {
	case op.Call.Tagged():
		return core.ErrNoSys
	case op.Call == core.CallRecv:
		return s.Recv(op.Buf, op.Desc, op.Addr, op.Ctx)
	case op.Flags&^(core.OpCompletion|core.OpMore) != 0:
		return core.ErrBadFlags
	}
	return s.post(op.IOV, op.Flags, op.Call.Default(), op.Ctx)
}

// Cancel cancels a receive posted here (fi_cancel(3)).
func (s *sharedRx) Cancel(ctx core.OpContext) error {
	prog := s.base.Progress()
	prog.Lock()
	defer prog.Unlock()
	for i := range s.posted.Len() {
		if s.posted.At(i).ctx == ctx {
			op := s.posted.Remove(i)
			s.Completed(op.failed(core.ErrCanceled))
			return nil
		}
	}
	return core.ErrNoEnt
}

// GetOpt and SetOpt support no options (fi_getopt(3)).
func (*sharedRx) GetOpt(core.EPOpt) (int, error) { return 0, core.ErrNoProtoOpt }
func (*sharedRx) SetOpt(core.EPOpt, int) error   { return core.ErrNoProtoOpt }

// Close fails with ErrBusy while endpoints are bound. Posted receives end without completions (fi_close(3)).
func (s *sharedRx) Close() error {
	if err := s.SharedRx.Close(); err != nil {
		return err
	}
	prog := s.base.Progress()
	prog.Lock()
	defer prog.Unlock()
	s.closed, s.posted = true, queue.FIFO[receive]{}
	return nil
}

// join makes s take the datagrams of e, including early ones.
func (s *sharedRx) join(e *dgramEndpoint) {
	s.eps = append(s.eps, e)
	e.rx = &s.posted
	for s.posted.Len() > 0 && e.early.list.Len() > 0 {
		e.serve()
	}
}

// leave ends join, if it was called, and Bind.
func (s *sharedRx) leave(e *dgramEndpoint) {
	for i, x := range s.eps {
		if x == e {
			s.eps = append(s.eps[:i], s.eps[i+1:]...)
			break
		}
	}
	s.Unbound(&e.Endpoint)
}

// lost fails the receives when every endpoint has lost its port.
func (s *sharedRx) lost(err error) {
	for _, e := range s.eps {
		if e.lost == nil {
			return
		}
	}
	for s.posted.Len() > 0 {
		op := s.posted.Remove(0)
		s.Completed(op.failed(err))
	}
}
