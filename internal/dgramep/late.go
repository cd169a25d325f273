package dgramep

import "gofabric/core"

// Receives that were accepted before the domain's lock was taken (progress.Inlet).

// RecvRoom is how many receives RecvLate takes now, which are never tagged; 0 where the call itself must refuse them. Locked.
func (r *receives) RecvRoom() (room int, tagged bool) {
	e := r.e
	if !e.Enabled() || e.lost != nil || e.srx != nil {
		return 0, false
	}
	return max(e.rxSize-e.posted.Len(), 0), false
}

// RecvLate is Recv for a receive that was accepted while RecvRoom had room for it: what is wrong with it since then, it tells with an error entry. Locked.
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

// RecvRoom is that of an endpoint. Locked.
func (s *sharedRx) RecvRoom() (room int, tagged bool) {
	if s.closed {
		return 0, false
	}
	return max(s.size-s.posted.Len(), 0), false
}

// RecvLate is that of an endpoint. Locked.
func (s *sharedRx) RecvLate(buf []byte, _ core.FIAddr, _ bool, _, _ uint64, ctx core.OpContext) {
	if s.closed {
		return // and nobody to tell
	}
	op := s.posted.Add()
	op.ctx, op.silent = ctx, s.SilentRx(s.DefaultFlags())
	op.iov[0], op.n = buf, 1
	s.serve()
}
