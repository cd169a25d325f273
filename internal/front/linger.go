package front

import (
	"time"

	"gofabric/core"
	"gofabric/internal/mono"
)

// LingerDefault is how long closing an endpoint waits, at most, for peers to have what was sent.
const LingerDefault = 10 * time.Second

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

// SetLinger is OptLinger and the provider's setting. Locked.
func (e *Endpoint) SetLinger(d time.Duration) { e.linger = d }

// Drain makes progress until done reports true, for as long as the endpoint lingers, and reports whether done did. The domain's other users get on meanwhile: an
// endpoint of theirs may be the peer. Locked; it lets go of the lock.
func (e *Endpoint) Drain(done func() bool) bool {
	if done() {
		return true
	}
	end := mono.Now().Add(e.linger)
	for step := lingerFirst; ; step = min(step*2, lingerMost) {
		e.prog.Pass()
		if done() {
			return true
		}
		if mono.Now() >= end {
			return false
		}
		e.prog.Unlock()
		time.Sleep(step)
		e.prog.Lock()
	}
}

// Winder is what a closing endpoint has to let go of: connections, or one.
type Winder interface {
	Wind()
	Drained() bool
}

// LetGo winds w up and waits until it is drained. It fails when something that the application was told is done is not delivered. Locked; it lets go of the lock.
func (e *Endpoint) LetGo(w Winder) error {
	w.Wind()
	if e.linger == 0 || e.Drain(w.Drained) {
		return nil
	}
	return e.Refuse("fi_close", NoPeer, core.ErrTimedOut, "a peer has not taken all that was sent within "+e.linger.String()+", and loses the rest; see OptLinger")
}
