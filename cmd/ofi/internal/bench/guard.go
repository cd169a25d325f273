package bench

import (
	"sync"
	"time"
)

// This file ends loops that make no progress.

// limit makes the loops of s fail after d, unless the returned function is called before.
func (s *side) limit(d time.Duration) (stop func()) {
	t := time.AfterFunc(d, func() { s.stop.Store(true) })
	return func() { t.Stop() }
}

// guard ends the loops of the open side, now or when it opens.
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
