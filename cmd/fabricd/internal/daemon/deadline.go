package daemon

import (
	"net/http"
	"time"
)

// patience is how long a client may take to send a request, and to take its answer.
const patience = 30 * time.Second

// withDeadlines bounds what a slow client costs: a connection for patience.
func withDeadlines(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Extend(w, 0)
		next.ServeHTTP(w, r)
	})
}

// Extend gives a request that waits or streams time until d from now, and patience. A stream extends before each write.
func Extend(w http.ResponseWriter, d time.Duration) {
	c := http.NewResponseController(w)
	end := time.Now().Add(d + patience)
	_ = c.SetReadDeadline(end)  // a connection without deadlines
	_ = c.SetWriteDeadline(end) // is none of net/http's server
}
