package progress

import "sync"

// Visits: a caller from outside, such as telemetry, reads a domain's state without delaying the threads that use
// the domain.

// errandVisit asks for the visitors' functions to be called.
const errandVisit = 1 << 28

// visitors are the calls of Visit that wait.
type visitors struct {
	mu   sync.Mutex
	list []visitor
}

type visitor struct {
	f    func()
	done chan struct{}
}

// Visit arranges one call of f with the lock held, and returns after it. The caller makes it, or, if the lock is
// held, its holder does on unlocking, so that no goroutine waits for the lock (Unlock). f should be short and must
// not unlock. It is called on a closed Engine, too. Not locked.
func (e *Engine) Visit(f func()) {
	v := visitor{f, make(chan struct{})}
	e.visitors.mu.Lock()
	e.visitors.list = append(e.visitors.list, v)
	e.visitors.mu.Unlock()
	e.errand.Or(errandVisit)
	e.runErrand()
	<-v.done
}

// receive calls the functions of all visitors that wait. Locked.
func (e *Engine) receive() {
	e.visitors.mu.Lock()
	list := e.visitors.list
	e.visitors.list = nil
	e.visitors.mu.Unlock()
	for _, v := range list {
		v.f()
		close(v.done)
	}
}
