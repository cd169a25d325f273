package bench

import (
	"sync"
	"time"
)

// What ends loops that make no progress.

// limit makes the loops of s fail after d; the returned function takes that back.
func (s *side) limit(d time.Duration) (stop func()) {
	t := time.AfterFunc(d, func() { s.stop.Store(true) })
	return func() { t.Stop() }
}

// guard ends the loops of whatever side is open, now or later.
type guard struct {
	mu      sync.Mutex
	side    *side
	stopped bool
}

func (g *guard) set(s *side) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.side = s; s != nil && g.stopped {
		s.stop.Store(true)
	}
}

func (g *guard) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped = true; g.side != nil {
		g.side.stop.Store(true)
	}
}
