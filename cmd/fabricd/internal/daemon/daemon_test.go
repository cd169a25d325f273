package daemon

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
	"gofabric/test/wait"
)

// echo is a part that answers with the caller of a request.
type echo struct{ closed bool }

func (e *echo) Name() string { return "echo" }
func (e *echo) Start(_ context.Context, s *Site) error {
	s.Mux.HandleFunc("GET /v1/me", func(w http.ResponseWriter, r *http.Request) { Answer(w, CallerOf(r)) })
	return nil
}
func (e *echo) Reload(*Config) error { return nil }
func (e *echo) Close() error         { e.closed = true; return nil }

func TestRun(t *testing.T) {
	dir := t.TempDir()
	part := &echo{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- New(config(dir), slog.New(slog.DiscardHandler), part).Run(ctx) }()
	c, err := api.Dial(filepath.Join(dir, fabricd.API))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	limit := wait.Context(t)
	var s api.Status
	wait.Until(t, "the daemon listens", func() bool { return c.Do(limit, "GET", "/v1/status", nil, &s) == nil })
	if s.PID != os.Getpid() || len(s.Parts) != 1 || s.Parts[0] != "echo" {
		t.Errorf("status: %+v", s)
	}
	var me Caller
	if err := c.Do(limit, "GET", "/v1/me", nil, &me); err != nil || me.UID != os.Getuid() || me.PID != os.Getpid() ||
		me.Remote {
		t.Errorf("the caller is %+v, %v", me, err)
	}
	if err := New(config(dir), slog.New(slog.DiscardHandler)).Run(ctx); err == nil {
		t.Error("a second daemon runs in the same folder")
	}
	cancel()
	if err := <-done; err != nil || !part.closed {
		t.Errorf("Run ended with %v, part closed: %v", err, part.closed)
	}
}

func config(dir string) *Config {
	return &Config{Dir: dir, StateDir: "off", Connections: 100, ConnectionsPerUser: 10}
}
