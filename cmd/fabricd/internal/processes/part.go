package processes

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/internal/fabricd"
	"gofabric/internal/telemetry"
	"gofabric/internal/telemetry/export"
)

// The bounds of memory, and the times in the communication with a process.
const (
	maxProcesses    = 1024
	maxPerUser      = 256
	maxUnidentified = 64                     // connections of one user without a first message
	lookEvery       = 2 * time.Second        // interval of the watchdog
	current         = 500 * time.Millisecond // figures that are younger are not requested again
	answerTime      = 250 * time.Millisecond // wait of a client for new figures
	helloTime       = 5 * time.Second        // for the first word
	silentAfter     = 3 * time.Second        // a process without an answer for this time is silent
	cutAfter        = 60 * time.Second       // and forgotten after this time
)

// part is the daemon.Part.
type part struct {
	log   *slog.Logger
	owner int // the daemon's user
	l     net.Listener
	wg    sync.WaitGroup
	stop  context.CancelFunc
	t     table
	c     counts

	unidentified unidentified
	said         daemon.LogLimiter // of stalls
}

// New returns the part.
func New() daemon.Part { return &part{owner: os.Getuid()} }

// Name implements daemon.Part.
func (p *part) Name() string { return "processes" }

// Start implements daemon.Part.
func (p *part) Start(ctx context.Context, s *daemon.Site) error {
	p.log = s.Log.With("part", p.Name())
	p.t.init()
	l, err := s.Listen(fabricd.Stats)
	if err != nil {
		return fmt.Errorf("the socket of processes: %w", err)
	}
	p.l = l
	ctx, p.stop = context.WithCancel(ctx)
	p.c.register(s.Metrics, &p.t)
	s.Metrics.MustRegister(export.New(p.scraped), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{Namespace: "fabricd"}))
	s.Mux.Handle("GET /metrics", daemon.Bulk(promhttp.HandlerFor(s.Metrics, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn)})))
	s.Mux.HandleFunc("GET /v1/processes", daemon.BulkFunc(p.list))
	s.Mux.HandleFunc("GET /v1/stuck", daemon.BulkFunc(p.stuck))
	p.wg.Go(func() { p.accept(ctx) })
	p.wg.Go(func() { p.watch(ctx) })
	return nil
}

// Reload implements daemon.Part. The part has no settings.
func (p *part) Reload(*daemon.Config) error { return nil }

// Close implements daemon.Part.
func (p *part) Close() error {
	p.stop()
	err := p.l.Close()
	p.t.closeAll()
	p.wg.Wait()
	return err
}

// scraped returns the processes for GET /metrics.
func (p *part) scraped() []*telemetry.Process {
	p.t.refresh(context.Background(), current)
	return p.t.processes()
}

// list answers GET /v1/processes.
func (p *part) list(w http.ResponseWriter, r *http.Request) {
	p.t.refresh(r.Context(), current)
	daemon.Answer(w, p.t.list(daemon.CallerOf(r), p.owner))
}

// stuck answers GET /v1/stuck.
func (p *part) stuck(w http.ResponseWriter, r *http.Request) {
	p.t.refresh(r.Context(), current)
	daemon.Answer(w, p.t.stuck(daemon.CallerOf(r), p.owner))
}
