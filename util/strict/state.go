package strict

import (
	"sync"
	"sync/atomic"

	"gofabric/core"
)

// state is what an endpoint and its aliases share, or a shared receive context has.
type state struct {
	d     *domain
	k     *Kind
	info  *core.Info
	below lower
	ep    core.EndpointDriver   // below; nil of a shared receive context, whose completions come to the queues of endpoints
	at    atomic.Pointer[place] // once it is known

	tx, rx direction
	av     *vector

	enabled, closed atomic.Bool

	mu   sync.Mutex
	held *transfer // accepted, and not posted below yet
}

// direction is the transmits or the receives of an endpoint.
type direction struct {
	q       *queue
	quiet   bool // selective completion
	counted bool // a counter may tell of completions before a queue does
	size    int  // how many operations may be under way
	n       int  // how many are; guarded by the domain's mu
}

// dir is the direction of a transfer.
func (s *state) dir(op *core.Op) *direction {
	if op.Call.Receives() {
		return &s.rx
	}
	return &s.tx
}

// full says that no more operations of a direction may be under way.
func (s *state) full(dir *direction) bool {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return dir.size > 0 && dir.n >= dir.size
}

// started notes the success of a call that enables an endpoint.
func (s *state) started(err error) error {
	if err == nil {
		s.enabled.Store(true)
	}
	return err
}
