package daemon

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Requests with long bodies, and those with long answers, hold memory until a slow client is done. So only few of
// them run at a time, of all users and of each. Others wait up to bulkWait.
const (
	bulkOfUser  = 16
	bulkOfAll   = 64
	bulkWait    = 10 * time.Second
	maxSmall    = 64 << 10 // bytes of a body that is not long
	bulkMessage = "%s has too many long requests in progress, or clients that read their answers slowly"
)

// bulk counts these requests.
type bulk struct {
	uid int // user id of the daemon
	all chan struct{}

	mu    sync.Mutex
	users map[int]*share
}

// share is the share of one user, while the user has requests that run or wait.
type share struct {
	slots chan struct{}
	uses  int
}

func newBulk(uid int) *bulk {
	return &bulk{uid: uid, all: make(chan struct{}, bulkOfAll), users: map[int]*share{}}
}

// enter waits for a place. leave frees it. If there is none in time, refused says whether the user's places or all
// places are taken. Root and the daemon's own user do not need one of all users' places.
func (b *bulk) enter(ctx context.Context, c Caller) (leave func(), refused string) {
	ctx, cancel := context.WithTimeout(ctx, bulkWait)
	defer cancel()
	s := b.use(c.UID)
	if !take(ctx, s.slots) {
		b.unuse(c.UID, s)
		return nil, "this user"
	}
	if c.Root(b.uid) {
		return func() { <-s.slots; b.unuse(c.UID, s) }, ""
	}
	if !take(ctx, b.all) {
		<-s.slots
		b.unuse(c.UID, s)
		return nil, "all users"
	}
	return func() { <-b.all; <-s.slots; b.unuse(c.UID, s) }, ""
}

// take takes a place, and waits for one if necessary. It takes a free place even if the request's context has
// ended, because a client that has sent everything may still read.
func take(ctx context.Context, places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
	}
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (b *bulk) use(uid int) *share {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.users[uid]
	if s == nil {
		s = &share{slots: make(chan struct{}, bulkOfUser)}
		b.users[uid] = s
	}
	s.uses++
	return s
}

func (b *bulk) unuse(uid int, s *share) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.uses--; s.uses == 0 {
		delete(b.users, uid)
	}
}

// run runs a handler when it has a place.
func (b *bulk) run(w http.ResponseWriter, r *http.Request, h http.Handler) {
	leave, refused := b.enter(r.Context(), CallerOf(r))
	if refused != "" {
		Refuse(w, http.StatusServiceUnavailable, "try again", bulkMessage, refused)
		return
	}
	defer leave()
	Extend(w, 0)
	h.ServeHTTP(w, r)
}

type bulkKey struct{}

// bounded bounds requests with long bodies, and those that Bulk marks. CallerOf identifies the user.
func (b *bulk) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength >= 0 && r.ContentLength <= maxSmall {
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), bulkKey{}, b)))
			return
		}
		b.run(w, r, next)
	})
}

// Bulk marks handlers with long answers.
func Bulk(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b, ok := r.Context().Value(bulkKey{}).(*bulk); ok {
			b.run(w, r, h)
			return
		}
		h.ServeHTTP(w, r) // it has a place already
	})
}

// BulkFunc is Bulk for functions.
func BulkFunc(h http.HandlerFunc) http.HandlerFunc { return Bulk(h).ServeHTTP }
