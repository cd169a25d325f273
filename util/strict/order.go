package strict

import (
	"slices"

	"gofabric/core"
)

// Operations without ordering: with manual progress one of them may stay behind until the next call, and let the next one pass.

// ordered posts a transmit, now or later.
func (s *state) ordered(c *call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.held
	if first != nil && (c.flags&core.Fence != 0 || s.promised(first, c) || s.d.o.chance(2)) {
		if err := s.releaseLocked(); err != nil {
			return err
		}
		first = nil
	}
	if first == nil && s.mayHold(c) && s.d.o.chance(2) {
		s.hold(c)
		return nil
	}
	err := s.down(c)
	if first != nil && err == nil {
		_ = s.releaseLocked() // if it has to wait, it stays held
	}
	return err
}

// mayHold: only if the application must call for anything to move, and nobody would notice that the memory of arguments is used later.
func (s *state) mayHold(c *call) bool {
	manual := s.info.Domain.DataProgress == core.ProgressManual
	return manual && s.info.EP.Type != core.EPTypeMsg && c.o != nil && c.message() && c.flags&(core.Fence|core.Inject) == 0
}

// hold keeps a call, which counts as under way. Locked.
func (s *state) hold(c *call) {
	c.iov, c.desc = slices.Clone(c.iov), slices.Clone(c.desc)
	s.d.track(c.o)
	s.held = c
}

// promised reports whether an order between two operations was asked for (fi_endpoint(3), msg_order).
func (s *state) promised(first, second *call) bool {
	if first.peer != second.peer || !first.message() {
		return first.peer == second.peer
	}
	bit := core.OrderSAS
	switch second.kind {
	case read, atomicRead:
		bit = core.OrderRAS
	case write, atomicWrite:
		bit = core.OrderWAS
	}
	return s.info.Tx.MsgOrder&bit != 0
}

// release posts what is held.
func (s *state) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.releaseLocked() // if it has to wait, it stays held
}

func (s *state) releaseLocked() error {
	c := s.held
	if c == nil {
		return nil
	}
	err := c.below(c, c.o.below)
	if err == core.ErrAgain {
		return err
	}
	s.held = nil
	if err != nil {
		s.d.end(c.o)
		s.refused(c, err)
	}
	return nil
}

// refused reports an operation that was accepted, and failed when it was posted.
func (s *state) refused(c *call, err error) {
	no := core.ErrIO
	if e, ok := err.(core.Errno); ok {
		no = e
	}
	e := &core.CQErrEntry{CQEntry: core.CQEntry{Ctx: c.ctx, Flags: core.CapMsg | core.Send}, Err: no, Detail: c.op + ": " + err.Error(), SrcAddr: core.AddrNotAvail}
	if c.tagged {
		e.Flags = core.CapTagged | core.Send
	}
	s.txq.mu.Lock()
	s.txq.insert(item{err: e})
	s.txq.mu.Unlock()
}

// dropHeld posts what is held, or forgets it, before the endpoint closes.
func (s *state) dropHeld() {
	s.release()
	s.mu.Lock()
	s.held = nil
	s.mu.Unlock()
}
