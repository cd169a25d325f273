package strict

import (
	"sync"
	"sync/atomic"

	"gofabric/core"
)

// state is what an endpoint and its aliases share, or a shared receive context has.
type state struct {
	d    *domain
	k    *Kind
	info *core.Info
	post canceler
	ep   core.Endpoint         // below; nil of a shared receive context
	at   atomic.Pointer[place] // once it is known

	shared           bool // a shared receive context
	txq, rxq         *queue
	txQuiet, rxQuiet bool // selective completion
	av               *vector

	txCounted, rxCounted bool // a counter may tell of completions before a queue does
	enabled, closed      atomic.Bool

	tx, rx int // under way; guarded by the domain's mu

	mu   sync.Mutex
	held *call // accepted, and not posted below yet
}

// canceler is an endpoint or a shared receive context.
type canceler interface {
	Cancel(ctx core.Context) error
}

// alive refuses calls on what is closed or not enabled.
func (s *state) alive(op string) error {
	switch {
	case s.closed.Load():
		return s.d.o.misuse(op, core.ErrBadF, "the object is closed. On hardware: its memory is freed, and this is a crash or worse")
	case !s.enabled.Load():
		return s.d.o.misuse(op, core.ErrOpBadState, "the endpoint is not enabled (fi_enable). On hardware: there is no queue yet to post to, and this is a crash or an error")
	}
	return nil
}

// traced says whether completions of a direction come through a queue of this package.
func (s *state) traced(rx bool) bool {
	if rx {
		return s.shared || s.rxq != nil
	}
	return s.txq != nil
}

// depth is how many operations of a direction may be under way.
func (s *state) depth(rx bool) int {
	if rx {
		return s.info.Rx.Size
	}
	return s.info.Tx.Size
}

// underWay counts the operations of a direction.
func (s *state) underWay(rx bool) int {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if rx {
		return s.rx
	}
	return s.tx
}
