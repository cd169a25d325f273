package directory

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/cmd/fabricd/internal/directory/store"
)

// Part is the directory in a daemon.
type Part struct {
	store  store.Store
	fences *fences
	log    *slog.Logger
	ctx    context.Context // ends with the daemon
}

// New returns the part.
func New() *Part { return &Part{} }

// Name implements daemon.Part.
func (p *Part) Name() string { return "directory" }

// Start implements daemon.Part.
func (p *Part) Start(ctx context.Context, s *daemon.Site) (err error) {
	p.log, p.ctx = s.Log.With("part", p.Name()), ctx
	if p.store, err = open(ctx, s.Config, p.log); err != nil {
		return err
	}
	if p.fences, err = newFences(ctx, p.store, p.log); err != nil {
		p.store.Close()
		return err
	}
	p.routes(s.Mux)
	s.Metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fabricd_directory_writable", Help: "1 if the directory accepts changes, 0 if its disk or etcd fails."}, func() float64 {
		if p.Trouble() != nil {
			return 0
		}
		return 1
	}))
	for name, value := range map[string]func() float64{
		"fabricd_directory_entries": func() float64 { return float64(p.store.Usage().Entries) },
		"fabricd_directory_bytes":   func() float64 { return float64(p.store.Usage().Bytes) },
	} {
		s.Metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: "Names, values and arrivals at fences in the directory."}, value))
	}
	return nil
}

func limits(c *daemon.Config) store.Limits {
	return store.Limits{
		User:  store.Usage{Entries: c.EntriesPerUser, Bytes: c.BytesPerUser},
		Total: store.Usage{Entries: c.Entries, Bytes: c.Bytes},
	}
}

// Trouble implements daemon.Troubled.
func (p *Part) Trouble() error { return p.store.Trouble() }

// Reload implements daemon.Part: it applies changed limits.
func (p *Part) Reload(c *daemon.Config) error {
	p.store.SetLimits(limits(c))
	return nil
}

// Close implements daemon.Part.
func (p *Part) Close() error {
	err := p.store.Close() // ends the fences' watch
	p.fences.wait()
	return err
}
