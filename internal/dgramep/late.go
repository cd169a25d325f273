package dgramep

import "gofabric/core"

// Receives that were accepted before the domain's lock was taken (progress.Inlet).

// RecvRoom returns how many receives RecvLate takes now. They are never tagged. It returns 0 if the call itself
// must refuse them. Locked.
func (r *receives) RecvRoom() (room int, tagged bool) {
	e := r.e
	if !e.Enabled() || e.lost != nil || e.srx != nil {
		return 0, false
	}
	return max(e.rxSize-e.posted.Len(), 0), false
}

// RecvLate is Recv for a receive that was accepted while RecvRoom reported room. An error since then becomes an
// error entry in the queue. Locked.
func (r *receives) RecvLate(buf []byte, _ core.FIAddr, _ bool, _, _ uint64, ctx core.OpContext) {
	e := r.e
	op := receive{ctx: ctx, silent: e.SilentRx(r.defaults()), n: 1}
	op.iov[0] = buf
	if e.lost != nil {
		e.failReceive(&op, e.lost)
		return
	}
	e.posted.Push(op)
	e.serve()
}

// RecvRoom is as an endpoint's. Locked.
func (s *sharedRx) RecvRoom() (room int, tagged bool) {
	if s.closed {
		return 0, false
	}
	return max(s.size-s.posted.Len(), 0), false
}

// RecvLate is as an endpoint's. Locked.
func (s *sharedRx) RecvLate(buf []byte, _ core.FIAddr, _ bool, _, _ uint64, ctx core.OpContext) {
	if s.closed {
		return // closed: no queue for an error entry
	}
	op := s.posted.Add()
	op.ctx, op.silent = ctx, s.SilentRx(s.DefaultFlags())
	op.iov[0], op.n = buf, 1
	s.serve()
}
