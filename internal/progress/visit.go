package progress

import "sync"

// Looking at a domain from outside: whoever does must not make those wait who work with it.

// errandVisit is the errand of letting visitors in.
const errandVisit = 1 << 28

// visitors wait for a turn.
type visitors struct {
	mu   sync.Mutex
	list []visitor
}

type visitor struct {
	f    func()
	done chan struct{}
}

// Visit has f called once with the lock held, and returns when it was: by the caller, or, while somebody holds the lock, by them as they unlock, so that nobody
// queues up for it (Unlock). f should be short, and must not unlock. It is called when the Engine is closed, too. Not locked.
func (e *Engine) Visit(f func()) {
	v := visitor{f, make(chan struct{})}
	e.visitors.mu.Lock()
	e.visitors.list = append(e.visitors.list, v)
	e.visitors.mu.Unlock()
	e.errand.Or(errandVisit)
	e.runErrand()
	<-v.done
}

// receive lets all in who wait. Locked.
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
