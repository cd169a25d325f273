package daemon

import (
	"net/http"
	"time"
)

// patience is the time that a client has to send a request, and to receive its answer.
const patience = 30 * time.Second

// withDeadlines bounds the cost of a slow client: a connection for patience.
func withDeadlines(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Extend(w, 0)
		next.ServeHTTP(w, r)
	})
}

// Extend moves the deadlines of a request that waits or streams to d plus patience from now. A stream calls it
// before each write.
func Extend(w http.ResponseWriter, d time.Duration) {
	c := http.NewResponseController(w)
	end := time.Now().Add(d + patience)
	_ = c.SetReadDeadline(end)  // fails on a connection without deadlines,
	_ = c.SetWriteDeadline(end) // which net/http's server never has
}
