package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
)

// headerTimeout is how long a client may take to say what it wants.
const headerTimeout = 10 * time.Second

// shutdownTimeout is how long requests may take to end when the daemon does.
const shutdownTimeout = 2 * time.Second

// Daemon is a running fabricd.
type Daemon struct {
	site    *Site
	parts   []Part
	started time.Time
}

// New makes a daemon of parts, which start in this order and close in the opposite one.
func New(c *Config, log *slog.Logger, parts ...Part) *Daemon {
	return &Daemon{
		site:  &Site{Config: c, Log: log, Dir: c.Dir, Mux: http.NewServeMux(), Metrics: prometheus.NewRegistry()},
		parts: parts,
	}
}

// Run starts the parts and serves until ctx ends.
func (d *Daemon) Run(ctx context.Context) (err error) {
	d.started = time.Now()
	if err := os.MkdirAll(d.site.Dir, 0o755); err != nil {
		return fmt.Errorf("the folder of the sockets: %w", err)
	}
	l, err := listen(filepath.Join(d.site.Dir, fabricd.API))
	if err != nil {
		return err
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() { err = errors.Join(err, d.closeParts()) }()
	running := d.parts
	d.parts = nil
	d.site.Mux.HandleFunc("GET /v1/status", d.status)
	for _, p := range running {
		if err := p.Start(ctx, d.site); err != nil {
			return fmt.Errorf("%s: %w", p.Name(), err)
		}
		d.parts = append(d.parts, p)
	}
	server := &http.Server{Handler: d.site.Mux, ConnContext: withCaller, ReadHeaderTimeout: headerTimeout, ErrorLog: slog.NewLogLogger(d.site.Log.Handler(), slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() {
		limit, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		if server.Shutdown(limit) != nil {
			server.Close()
		}
	})
	defer stop()
	d.site.Log.Info("ready", "api", l.Addr().String())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (d *Daemon) status(w http.ResponseWriter, _ *http.Request) {
	s := api.Status{PID: os.Getpid(), Started: d.started}
	for _, p := range d.parts {
		s.Parts = append(s.Parts, p.Name())
	}
	Answer(w, s)
}

func (d *Daemon) closeParts() (err error) {
	for i := len(d.parts) - 1; i >= 0; i-- {
		if e := d.parts[i].Close(); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", d.parts[i].Name(), e))
		}
	}
	return err
}

// listen opens a Unix socket for everybody, in place of one that a dead daemon left behind.
func listen(path string) (net.Listener, error) {
	if conn, err := net.Dial("unix", path); err == nil {
		conn.Close()
		return nil, fmt.Errorf("another fabricd serves %s: stop it, or choose another folder with --dir", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o666); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}
