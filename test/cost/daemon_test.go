package cost

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gofabric/internal/fabricd"
	"gofabric/test/program"
)

// patience is the time limit for anything that a daemon or a process does.
const patience = 90 * time.Second

// scrapeEvery is the interval between two scrapes while the daemon runs.
const scrapeEvery = time.Second

// daemon is a fabricd that is started and stopped.
type daemon struct {
	program, dir string

	run  *program.Program // nil: it does not run
	stop chan struct{}    // closed to stop scraping
	done chan struct{}    // closed when scraping has stopped
}

// start runs the daemon. It returns when n processes have registered with it and are in its metrics.
func (d *daemon) start(t *testing.T, n int) {
	t.Helper()
	d.run = program.Start(t, exec.Command(d.program, "run", "--dir", d.dir, "--state-dir", "off", "--log-level",
		"debug", "--log-format", "json"))
	d.run.Mute() // its output is too long
	for came := map[int]bool{}; len(came) < n; {
		var line struct {
			Msg string
			PID int
		}
		said := d.run.Expect("a process connected")
		if err := json.Unmarshal([]byte(said), &line); err != nil {
			t.Fatalf("%v in %s", err, said)
		}
		if line.Msg == "a process connected" {
			came[line.PID] = true
		}
	}
	d.stop, d.done = make(chan struct{}), make(chan struct{})
	first := make(chan struct{})
	go func() {
		defer close(d.done)
		d.scrape(n, first)
	}()
	select {
	case <-first:
	case <-time.After(patience):
		t.Fatal("metrics do not show all processes")
	}
}

// scrape reads the metrics once a second, as Prometheus would. It closes first when it has seen n processes.
func (d *daemon) scrape(n int, first chan struct{}) {
	c := http.Client{Timeout: patience,
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(d.dir, fabricd.API))
		}}}
	defer c.CloseIdleConnections()
	for tick := time.NewTicker(scrapeEvery); ; {
		if r, err := c.Get("http://fabricd/metrics"); err == nil {
			b, _ := io.ReadAll(r.Body)
			r.Body.Close()
			found := strings.Count(string(b), "\ngofabric_operations_total{")
			if first != nil && found >= n {
				close(first)
				first = nil
			}
		}
		select {
		case <-tick.C:
		case <-d.stop:
			tick.Stop()
			return
		}
	}
}

// end stops the daemon and returns when it has ended. Its processes notice that at once.
func (d *daemon) end() {
	close(d.stop)
	<-d.done
	d.run.Stop()
	d.run = nil
}
