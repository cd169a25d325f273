package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/prometheus/client_golang/prometheus"

	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
)

const (
	headerTimeout   = 10 * time.Second // a client may take to say what it wants
	idleTimeout     = 2 * time.Minute  // a connection may do nothing
	maxHeader       = 32 << 10         // bytes
	shutdownTimeout = 2 * time.Second  // requests may take to end when the daemon does
)

// Daemon is a running fabricd.
type Daemon struct {
	Ready func(page string) // is called once requests are answered, with the link to the page, "" if it is not served to this node's browsers; nil: nobody

	site    *Site
	all     []Part
	started time.Time
	guard   *guard
	remote  *remote // over TLS; nil: not asked for
	page    *remote // for browsers of this node; nil: not asked for

	mu    sync.Mutex
	parts []Part // those that run
}

// New makes a daemon of parts, which start in this order and close in the opposite one.
func New(c *Config, log *slog.Logger, parts ...Part) *Daemon {
	return &Daemon{
		site: &Site{Config: c, Log: log, Dir: c.Dir, Mux: http.NewServeMux(), Metrics: prometheus.NewRegistry(), public: map[string]bool{}},
		all:  parts,
	}
}

// Run starts the parts and serves until ctx ends.
func (d *Daemon) Run(ctx context.Context) (err error) {
	d.started = time.Now()
	log := d.site.Log
	if err := os.MkdirAll(d.site.Dir, 0o755); err != nil {
		return fmt.Errorf("the folder of the sockets: %w", err)
	}
	d.site.inherited = inherit(d.site.Log)
	l, err := d.site.Listen("unix", fabricd.API)
	if err != nil {
		return err
	}
	defer l.Close()
	servers, err := d.open(l)
	if err != nil {
		return err
	}
	defer closeAll(servers)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() { err = errors.Join(err, d.closeParts()) }()
	d.site.Mux.HandleFunc("GET /v1/status", d.status)
	d.site.Mux.HandleFunc("GET /v1/page", d.links)
	if err := d.startParts(ctx); err != nil {
		return err
	}
	d.site.closeInherited()
	log.Info("ready", "api", l.Addr().String())
	if d.Ready != nil {
		d.Ready(d.page.link())
	}
	notify(log, sd.SdNotifyReady)
	var watchdog sync.WaitGroup
	watchdog.Go(func() { feedWatchdog(ctx, log, d.pulse) })
	defer watchdog.Wait()
	defer cancel()
	defer notify(log, sd.SdNotifyStopping)
	return serveAll(ctx, servers)
}

// open prepares a server for each side on which the daemon listens.
func (d *Daemon) open(local net.Listener) (map[*http.Server]net.Listener, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.guard = newGuard(d.site.Config, os.Getuid(), d.site.Metrics)
	servers := map[*http.Server]net.Listener{d.server(d.site.Mux): &guarded{Listener: local, guard: d.guard}}
	var err error
	if d.site.Config.Page != "" {
		if d.page, err = listenPage(d.site.Config.Page, d.guard); err != nil {
			return nil, fmt.Errorf("the page: %w", err)
		}
		servers[d.server(d.page.authorize(d.site))] = d.page.listener
		d.site.Log.Info("serving the page", "address", d.page.listener.Addr().String())
	}
	if d.site.Config.Listen != "" {
		if d.remote, err = listenRemote(d.site.Config, d.guard); err != nil {
			closeAll(servers)
			return nil, err
		}
		servers[d.server(d.remote.authorize(d.site))] = d.remote.listener
		d.site.Log.Info("serving over TLS", "address", d.remote.listener.Addr().String(), "link", "fabricd page")
	}
	return servers, nil
}

func closeAll(servers map[*http.Server]net.Listener) {
	for _, l := range servers {
		l.Close()
	}
}

// pulse returns if nobody holds the daemon up for ever.
func (d *Daemon) pulse() {
	d.mu.Lock()
	defer d.mu.Unlock()
}

func (d *Daemon) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           withDeadlines(strict(h)),
		ConnContext:       withCaller,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(d.site.Log.Handler(), slog.LevelDebug),
	}
}

// serveAll serves until ctx ends or one of the servers fails.
func serveAll(ctx context.Context, servers map[*http.Server]net.Listener) error {
	ended := make(chan error, len(servers))
	for s, l := range servers {
		go func() { ended <- s.Serve(l) }()
	}
	var err error
	left := len(servers)
	select {
	case <-ctx.Done():
	case err = <-ended:
		left--
	}
	limit, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	for s := range servers {
		if s.Shutdown(limit) != nil {
			s.Close()
		}
	}
	for ; left > 0; left-- {
		<-ended
	}
	return err
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
	reloading(d.site.Log)
	defer notify(d.site.Log, sd.SdNotifyReady)
	if d.guard != nil {
		d.guard.set(c)
	}
	if d.remote != nil {
		if err := d.remote.load(c); err != nil {
			d.site.Log.Error("tokens and certificate stay as they were", "error", err)
		}
	}
	for what, changed := range map[string]bool{"dir": c.Dir != d.site.Dir, "state-dir": c.StateDir != d.site.Config.StateDir, "listen": c.Listen != d.site.Config.Listen, "page": c.Page != d.site.Config.Page} {
		if changed {
			d.site.Log.Warn("this changes at the next start only", "setting", what)
		}
	}
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
