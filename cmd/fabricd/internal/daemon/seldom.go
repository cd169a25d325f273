package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Seldom logs what other users can cause as often as they like: at most seldomLines in seldomTime, so that they fill no disk; the next line says how many were left out.
type Seldom struct {
	mu    sync.Mutex
	since time.Time
	lines int
	left  int
}

const (
	seldomLines = 20
	seldomTime  = 10 * time.Second
)

// Log logs a line, or leaves it out.
func (s *Seldom) Log(log *slog.Logger, level slog.Level, message string, args ...any) {
	if !log.Enabled(context.Background(), level) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.since) >= seldomTime {
		s.since, s.lines = now, 0
	}
	if s.lines++; s.lines > seldomLines {
		s.left++
		return
	}
	if s.left > 0 {
		args, s.left = append(args, "left_out", s.left), 0
	}
	log.Log(context.Background(), level, message, args...)
}
