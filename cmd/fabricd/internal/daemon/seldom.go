package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Seldom logs messages that users can cause at any rate: at most seldomLines for each user in seldomTime, so that a
// user cannot fill the disk. The next line has the number of omitted ones.
type Seldom struct {
	mu    sync.Mutex
	since time.Time
	users map[int]*said
}

// said counts the lines that were logged for a user in this period, and those that were omitted in all.
type said struct{ lines, left int }

const (
	seldomLines = 50
	seldomTime  = 10 * time.Second
)

// Log logs a line that a user has caused, or omits it.
func (s *Seldom) Log(log *slog.Logger, uid int, level slog.Level, message string, args ...any) {
	if !log.Enabled(context.Background(), level) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.since) >= seldomTime {
		s.since = now
		for uid, u := range s.users {
			if u.lines = 0; u.left == 0 {
				delete(s.users, uid)
			}
		}
	}
	if s.users == nil {
		s.users = map[int]*said{}
	}
	u := s.users[uid]
	if u == nil {
		u = &said{}
		s.users[uid] = u
	}
	if u.lines++; u.lines > seldomLines {
		u.left++
		return
	}
	if u.left > 0 {
		args, u.left = append(args, "left_out", u.left), 0
	}
	log.Log(context.Background(), level, message, args...)
}
