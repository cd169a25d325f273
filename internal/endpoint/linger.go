package endpoint

import (
	"time"

	"gofabric/core"
	"gofabric/internal/mono"
)

// LingerParam is the variable FI_<provider>_LINGER, which changes the default of OptLinger.
func LingerParam(provider string) core.Param {
	return core.Param{Provider: provider, Name: "linger", Type: core.ParamInt, Default: "10000",
		Help: "how long closing an endpoint waits until peers have received what was sent, milliseconds (0: data that cannot be transmitted at once is lost)"}
}

// Interval between two checks of a closing endpoint. It has to poll: no system call waits until a peer has
// acknowledged the last byte.
const (
	lingerFirst = 20 * time.Microsecond
	lingerMost  = time.Millisecond
)

// endAckTimeout is how long a closing endpoint waits for peers that have all data, but have not acknowledged the end of
// the stream.
const endAckTimeout = time.Second

// Drainer is one connection, or all connections of an endpoint, to be drained before the close.
type Drainer interface {
	// BeginDrain transmits the queued data and the end of the stream.
	BeginDrain()
	// Drained reports whether peers have all data that the application considers sent. With all, it reports whether
	// they have the end of the stream, too.
	Drained(all bool) bool
}

// Drain drains d and makes passes until d is drained or OptLinger has elapsed. The passes are needed because the
// peer may be an endpoint of the same domain, or of the same thread. Drain fails when data that the application
// considers sent was not delivered. It is called locked and releases the lock while it sleeps.
func (e *Endpoint) Drain(d Drainer) error {
	d.BeginDrain()
	now := mono.Now()
	end, soon := now.Add(e.linger), now.Add(min(e.linger, endAckTimeout))
	for step := lingerFirst; e.linger > 0; step = min(step*2, lingerMost) {
		if d.Drained(true) {
			return nil
		}
		e.prog.Pass()
		if now = mono.Now(); now >= end || now >= soon && d.Drained(false) {
			break
		}
		e.prog.Unlock()
		time.Sleep(step)
		e.prog.Lock()
	}
	if e.linger == 0 || d.Drained(false) {
		return nil
	}
	return e.Refuse("fi_close", NoPeer, core.ErrTimedOut, "the endpoint was closed, but a peer had not received all data within "+e.linger.String()+", so the rest is lost; see OptLinger")
}
