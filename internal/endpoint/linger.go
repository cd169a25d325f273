package endpoint

import (
	"time"

	"gofabric/core"
	"gofabric/internal/mono"
)

// LingerParam is the variable of a provider that says otherwise.
func LingerParam(provider string) core.Param {
	return core.Param{Provider: provider, Name: "linger", Type: core.ParamInt, Default: "10000",
		Help: "how long closing an endpoint waits for peers to take what was sent, milliseconds (0: what is not transmitted at once is lost)"}
}

// Steps between looks at what a closing endpoint waits for. The system tells nobody when a peer has acknowledged the last byte.
const (
	lingerFirst = 20 * time.Microsecond
	lingerMost  = time.Millisecond
)

// farewell is how long a closing endpoint waits for peers that have all that was sent, but not the word that nothing follows.
const farewell = time.Second

// Drainer is one connection, or all of an endpoint, that is drained before it closes.
type Drainer interface {
	// BeginDrain transmits what is queued, and tells peers that nothing follows.
	BeginDrain()
	// Drained reports that peers have what the application takes to be sent; with all, that they know that nothing follows.
	Drained(all bool) bool
}

// LetGo drains d and makes progress until that is done, or for as long as OptLinger allows: an endpoint of the same domain, or of the same thread, may be the
// peer. It fails when something is not delivered that the application takes to be sent. Locked; it releases the lock meanwhile.
func (e *Endpoint) LetGo(d Drainer) error {
	d.BeginDrain()
	now := mono.Now()
	end, soon := now.Add(e.linger), now.Add(min(e.linger, farewell))
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
	return e.Refuse("fi_close", NoPeer, core.ErrTimedOut, "a peer has not taken all that was sent within "+e.linger.String()+", and loses the rest; see OptLinger")
}
