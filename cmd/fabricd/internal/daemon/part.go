package daemon

import (
	"context"
	"log/slog"
	"net/http"

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

// Site is what parts have in common.
type Site struct {
	Config  *Config
	Log     *slog.Logger
	Dir     string // the folder of the sockets
	Mux     *http.ServeMux
	Metrics *prometheus.Registry

	inherited inherited
}
