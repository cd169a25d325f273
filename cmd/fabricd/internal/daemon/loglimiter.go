package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// LogLimiter logs messages that users can cause at any rate: at most logLines for each user in logPeriod, so that a
// user cannot fill the disk. The next line has the number of omitted ones.
type LogLimiter struct {
	mu    sync.Mutex
	since time.Time
	users map[int]*userLines
}

// userLines counts the lines that were logged for a user in this period, and those that were omitted in all.
type userLines struct{ lines, left int }

const (
	logLines  = 50
	logPeriod = 10 * time.Second
)

// Log logs a line that a user has caused, or omits it.
func (s *LogLimiter) Log(log *slog.Logger, uid int, level slog.Level, message string, args ...any) {
	if !log.Enabled(context.Background(), level) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.since) >= logPeriod {
		s.since = now
		for uid, u := range s.users {
			if u.lines = 0; u.left == 0 {
				delete(s.users, uid)
			}
		}
	}
	if s.users == nil {
		s.users = map[int]*userLines{}
	}
	u := s.users[uid]
	if u == nil {
		u = &userLines{}
		s.users[uid] = u
	}
	if u.lines++; u.lines > logLines {
		u.left++
		return
	}
	if u.left > 0 {
		args, u.left = append(args, "left_out", u.left), 0
	}
	log.Log(context.Background(), level, message, args...)
}
