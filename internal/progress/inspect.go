package progress

import "sync"

// Inspections: a caller from outside, such as telemetry, reads a domain's state without delaying the threads that use
// the domain.

// pendingInspect asks for the functions of Inspect to be called.
const pendingInspect = 1 << 28

// inspections are the calls of Inspect that wait.
type inspections struct {
	mu   sync.Mutex
	list []inspection
}

type inspection struct {
	f    func()
	done chan struct{}
}

// Inspect arranges one call of f with the lock held, and returns after it. The caller makes it, or, if the lock is
// held, its holder does on unlocking, so that no goroutine waits for the lock (Unlock). f should be short and must
// not unlock. It is called on a closed Engine, too. Not locked.
func (e *Engine) Inspect(f func()) {
	v := inspection{f, make(chan struct{})}
	e.inspections.mu.Lock()
	e.inspections.list = append(e.inspections.list, v)
	e.inspections.mu.Unlock()
	e.pending.Or(pendingInspect)
	e.runPending()
	<-v.done
}

// runInspections calls the functions of all waiting inspections. Locked.
func (e *Engine) runInspections() {
	e.inspections.mu.Lock()
	list := e.inspections.list
	e.inspections.list = nil
	e.inspections.mu.Unlock()
	for _, v := range list {
		v.f()
		close(v.done)
	}
}
