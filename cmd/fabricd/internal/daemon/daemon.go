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
	headerTimeout   = 10 * time.Second // for a client to send the header
	idleTimeout     = 2 * time.Minute  // for a connection without requests
	maxHeader       = 32 << 10         // bytes
	shutdownTimeout = 2 * time.Second  // for requests to end when the daemon ends
)

// Daemon is a running fabricd.
type Daemon struct {
	Ready func(page *api.Page) // called when requests are answered, with nil if the page was not asked for; may be nil

	site      *Site
	all       []Part
	started   time.Time
	guard     *guard
	listeners *listeners
	identity  *identity
	remote    *remote // --listen; nil: not configured

	pageMu     sync.Mutex
	page       *remote // for browsers of this node; nil: closed
	pageServer *http.Server

	mu    sync.Mutex
	parts []Part // the running parts
}

// New returns a daemon of parts. They start in this order and close in the opposite one.
func New(c *Config, log *slog.Logger, parts ...Part) *Daemon {
	return &Daemon{
		site: &Site{Config: c, Log: log, Dir: c.Dir, Mux: NewMux(), Metrics: prometheus.NewRegistry(), public: map[string]bool{}},
		all:  parts,

		listeners: newListeners(),
		identity:  newIdentity(c.StateDir, log),
	}
}

// Patterns returns the patterns of all requests. It is valid after Ready was called.
func (d *Daemon) Patterns() []string { return d.site.Mux.Patterns() }

// Run starts the parts and serves until ctx ends.
func (d *Daemon) Run(ctx context.Context) (err error) {
	d.started = time.Now()
	log := d.site.Log
	if err := checkState(d.site.Config.StateDir); err != nil {
		return err
	}
	defer d.site.disown()
	d.site.inherited = inherit(d.site.Log)
	l, err := d.site.Listen(fabricd.API)
	if err != nil {
		return err
	}
	defer d.closePage()
	defer d.listeners.close()
	if err := d.open(l); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() { err = errors.Join(err, d.closeParts()) }()
	d.site.Mux.HandleFunc("GET /v1/status", d.status)
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		d.site.Mux.HandleFunc(method+" /v1/page", d.servePage)
	}
	if err := d.startParts(ctx); err != nil {
		return err
	}
	d.site.closeInherited()
	log.Info("ready", "api", l.Addr().String())
	if d.Ready != nil {
		var page *api.Page
		if d.site.Config.Page != "" {
			if page, err = d.where(); err != nil {
				return err
			}
		}
		d.Ready(page)
	}
	notify(log, sd.SdNotifyReady)
	var watchdog sync.WaitGroup
	watchdog.Go(func() { feedWatchdog(ctx, log, d.pulse) })
	defer watchdog.Wait()
	defer cancel()
	defer notify(log, sd.SdNotifyStopping)
	return d.listeners.serve(ctx)
}

// open opens the initial listeners. Requests wait until serve.
func (d *Daemon) open(local net.Listener) error {
	c, log := d.site.Config, d.site.Log
	d.mu.Lock()
	defer d.mu.Unlock()
	d.guard = newGuard(c, os.Getuid(), d.site.Metrics)
	d.site.served = newBulk(os.Getuid()).bounded(d.site.Mux)
	if err := d.listeners.open(d.server(fromNoBrowser(d.site.served)), &guarded{Listener: local, guard: d.guard}); err != nil {
		return err
	}
	if c.Listen != "" {
		r, err := listenRemote(c, d.guard, d.identity)
		if err != nil {
			return err
		}
		if err := d.listeners.open(d.server(r.authorize(d.site)), r.listener); err != nil {
			return err
		}
		d.remote = r
		log.Info("serving over TLS", "address", r.listener.Addr().String(), "link", "fabricd page")
	}
	if c.Page != "" {
		if err := d.openPage(c.Page); err != nil {
			return err
		}
		log.Info("the page's port is open", "address", d.page.listener.Addr().String(), "link", "fabricd page")
	}
	return nil
}

// pulse returns unless a lock of the daemon is held for ever.
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

		DisableGeneralOptionsHandler: true, // * is handled as any other request
		ErrorLog:                     slog.NewLogLogger(d.site.Log.Handler(), slog.LevelDebug),
	}
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

// Reload passes a changed configuration to all parts.
func (d *Daemon) Reload(c *Config) {
	d.mu.Lock()
	defer d.mu.Unlock()
	reloading(d.site.Log)
	defer notify(d.site.Log, sd.SdNotifyReady)
	if d.guard != nil {
		d.guard.set(c)
	}
	if d.remote != nil {
		if err := d.remote.load(c, d.identity); err != nil {
			d.site.Log.Error("tokens and certificate stay as they were", "error", err)
		}
	}
	for _, what := range d.site.Config.fixed(c) {
		d.site.Log.Warn("this setting changes at the next start only", "setting", what)
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
		if t, ok := p.(Troubled); ok {
			if err := t.Trouble(); err != nil {
				s.Troubles = append(s.Troubles, api.Trouble{Part: p.Name(), What: err.Error()})
			}
		}
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
