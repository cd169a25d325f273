package daemon

import (
	"context"
	"log/slog"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
)

// Part is a part of the daemon: the directory, the emulated fabric, ...
type Part interface {
	// Name returns one word, for the log and for GET /v1/status.
	Name() string
	// Start adds the part's routes and collectors to the site and starts its work. It returns when the part can
	// answer requests. ctx ends with the daemon.
	Start(ctx context.Context, s *Site) error
	// Reload applies a changed configuration (SIGHUP). Settings that a running daemon cannot change are logged.
	Reload(c *Config) error
	// Close ends the work and waits for the part's goroutines.
	Close() error
}

// Troubled is a Part that can have a problem while it runs.
type Troubled interface {
	// Trouble returns the current problem, nil if there is none.
	Trouble() error
}

// Site is the common environment of the parts.
type Site struct {
	Config  *Config
	Log     *slog.Logger
	Dir     string // the folder of the sockets
	Mux     *Mux
	Metrics *prometheus.Registry

	served    http.Handler // Mux with its bounds
	inherited inherited
	lock      *os.File        // lock of Dir, while it has this daemon's own sockets
	public    map[string]bool // patterns of Mux
}

// Public adds a route whose answer is the same for all callers and not secret. Over TCP it needs no token.
func (s *Site) Public(pattern string, h http.Handler) {
	s.Mux.Handle(pattern, h)
	s.public[pattern] = true
}

// isPublic reports whether a request is for a route of Public.
func (s *Site) isPublic(r *http.Request) bool {
	_, pattern := s.Mux.Handler(r)
	return s.public[pattern]
}
