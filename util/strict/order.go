package strict

import (
	"errors"

	"gofabric/core"
)

// This file has operations without ordering: with manual progress one operation may wait until the next call, and
// let the next one overtake it.

// ordered posts a transmit, now or later.
func (s *state) ordered(t *transfer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.held
	if first != nil && (t.flags&core.OpFence != 0 || s.promised(first, t) || s.d.h.chance(2)) {
		if err := s.releaseLocked(); err != nil {
			return err
		}
		first = nil
	}
	if first == nil && s.mayHold(t) && s.d.h.chance(2) {
		s.d.track(t) // counts as under way
		s.held = t
		return nil
	}
	err := t.post()
	if first != nil && err == nil {
		_ = s.releaseLocked() // on ErrAgain it stays held
	}
	return err
}

// mayHold reports whether a transfer may be held back: only if progress needs calls of the application, which must
// not notice that the arguments are used later.
func (s *state) mayHold(t *transfer) bool {
	manual := s.info.Domain.DataProgress == core.ProgressManual
	return manual && s.info.EP.Type != core.EPTypeMsg && t.tracked && t.message() && t.flags&(core.OpFence|core.OpInject) == 0
}

// promised reports whether the application asked for an order between two operations (fi_endpoint(3), msg_order).
func (s *state) promised(first, second *transfer) bool {
	if first.Addr != second.Addr || !first.message() {
		return first.Addr == second.Addr
	}
	bit := core.OrderSAS
	switch second.Call.Op() {
	case core.OpRead, core.OpFetchAtomic, core.OpCompareAtomic:
		bit = core.OrderRAS
	case core.OpWrite, core.OpAtomic:
		bit = core.OrderWAS
	}
	return s.info.Tx.MsgOrder&bit != 0
}

// release posts the transfer that is held back.
func (s *state) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.releaseLocked() // on ErrAgain it stays held
}

func (s *state) releaseLocked() error {
	t := s.held
	if t == nil {
		return nil
	}
	err := t.postBelow()
	if err == core.ErrAgain {
		return err
	}
	s.held = nil
	if err != nil {
		s.d.end(t)
		s.refused(t, err)
	}
	return nil
}

// refused reports an operation that was accepted, but failed when it was posted below.
func (s *state) refused(t *transfer, err error) {
	no := core.ErrIO
	errors.As(err, &no)
	// A kind of transfer has the same bit among capabilities and completion flags.
	entry := core.CQEntry{Ctx: t.Ctx, Flags: core.CompFlags(needs[t.Call.Op()].caps) | core.CompSend}
	s.tx.q.mu.Lock()
	s.tx.q.insert(item{err: &core.CQErrEntry{CQEntry: entry, Err: no, Detail: t.Call.String() + ": " + err.Error(), SrcAddr: core.AddrNotAvail}})
	s.tx.q.mu.Unlock()
}

// dropHeld posts the transfer that is held back, or drops it, before the endpoint closes.
func (s *state) dropHeld() {
	s.release()
	s.mu.Lock()
	s.held = nil
	s.mu.Unlock()
}
