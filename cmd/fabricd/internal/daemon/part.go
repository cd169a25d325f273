package daemon

import (
	"context"
	"log/slog"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
)

// Part is a piece of the daemon's work: the directory, the emulated fabric, ...
type Part interface {
	// Name is one word, for the log and for GET /v1/status.
	Name() string
	// Start adds the part's routes and collectors to the site, and begins its work. It returns when requests can be answered. ctx ends with the daemon.
	Start(ctx context.Context, s *Site) error
	// Reload takes up a changed configuration (SIGHUP); what cannot change while the daemon runs is logged.
	Reload(c *Config) error
	// Close ends the work and waits for the part's goroutines.
	Close() error
}

// Troubled is a Part that can be in trouble while it runs.
type Troubled interface {
	// Trouble says what is wrong now; nil if nothing is.
	Trouble() error
}

// Site is what parts have in common.
type Site struct {
	Config  *Config
	Log     *slog.Logger
	Dir     string // the folder of the sockets
	Mux     *Mux
	Metrics *prometheus.Registry

	served    http.Handler // Mux, and its bounds
	inherited inherited
	lock      *os.File        // of Dir, while this daemon's own sockets are there
	public    map[string]bool // patterns of Mux
}

// Public adds what is the same for everybody and holds no secret: over TCP too it is served to those who show no token.
func (s *Site) Public(pattern string, h http.Handler) {
	s.Mux.Handle(pattern, h)
	s.public[pattern] = true
}

// isPublic reports whether a request is for something that Public added.
func (s *Site) isPublic(r *http.Request) bool {
	_, pattern := s.Mux.Handler(r)
	return s.public[pattern]
}
