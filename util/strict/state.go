package strict

import (
	"sync"
	"sync/atomic"

	"gofabric/core"
)

// state is the common state of an endpoint and its aliases, or the state of a shared receive context.
type state struct {
	d     *domain
	k     *Kind
	info  *core.Info
	below lower
	ep    core.EndpointDriver   // below; nil for a shared receive context, whose completions go to the queues of endpoints
	at    atomic.Pointer[place] // once it is known

	tx, rx direction
	av     *vector

	enabled, closed atomic.Bool

	mu   sync.Mutex
	held *transfer // accepted, not yet posted below
}

// direction is one direction of an endpoint: transmits or receives.
type direction struct {
	q       *queue
	quiet   bool // selective completion
	counted bool // a counter may report completions before a queue does
	size    int  // largest number of operations under way
	n       int  // number of operations under way; guarded by the domain's mu
}

// dir returns the direction of a transfer.
func (s *state) dir(op *core.Op) *direction {
	if op.Call.Receives() {
		return &s.rx
	}
	return &s.tx
}

// full reports whether the largest number of operations is under way.
func (s *state) full(dir *direction) bool {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return dir.size > 0 && dir.n >= dir.size
}

// started records the success of a call that enables an endpoint.
func (s *state) started(err error) error {
	if err == nil {
		s.enabled.Store(true)
	}
	return err
}
