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
	"sync"
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
	all     []Part
	started time.Time

	mu    sync.Mutex
	parts []Part // those that run
}

// New makes a daemon of parts, which start in this order and close in the opposite one.
func New(c *Config, log *slog.Logger, parts ...Part) *Daemon {
	return &Daemon{
		site: &Site{Config: c, Log: log, Dir: c.Dir, Mux: http.NewServeMux(), Metrics: prometheus.NewRegistry()},
		all:  parts,
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
	d.site.Mux.HandleFunc("GET /v1/status", d.status)
	if err := d.startParts(ctx); err != nil {
		return err
	}
	server := &http.Server{Handler: withDeadlines(d.site.Mux), ConnContext: withCaller, ReadHeaderTimeout: headerTimeout, ErrorLog: slog.NewLogLogger(d.site.Log.Handler(), slog.LevelDebug)}
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

func (d *Daemon) startParts(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.all {
		if err := p.Start(ctx, d.site); err != nil {
			return fmt.Errorf("%s: %w", p.Name(), err)
		}
		d.parts = append(d.parts, p)
	}
	return nil
}

// Reload gives all parts a changed configuration.
func (d *Daemon) Reload(c *Config) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.parts {
		if err := p.Reload(c); err != nil {
			d.site.Log.Error("reload", "part", p.Name(), "error", err)
		}
	}
	d.site.Log.Info("reloaded")
}

func (d *Daemon) status(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := api.Status{PID: os.Getpid(), Started: d.started}
	for _, p := range d.parts {
		s.Parts = append(s.Parts, p.Name())
	}
	Answer(w, s)
}

func (d *Daemon) closeParts() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := len(d.parts) - 1; i >= 0; i-- {
		if e := d.parts[i].Close(); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", d.parts[i].Name(), e))
		}
	}
	d.parts = nil
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
