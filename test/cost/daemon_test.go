package cost

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gofabric/internal/fabricd"
)

// patience bounds what a daemon or a process may take for anything.
const patience = 30 * time.Second

// scrapeEvery is how often metrics are asked for while the daemon runs.
const scrapeEvery = time.Second

// daemon is a fabricd that comes and goes.
type daemon struct {
	program, dir string

	cmd   *exec.Cmd // nil: it does not run
	stop  chan struct{}
	done  chan struct{} // both readers have ended
	came  []int         // the processes that registered with it
	count int           // scrapes
}

// start runs the daemon and returns when n processes have registered with it and are in its metrics.
func (d *daemon) start(t *testing.T, n int) {
	t.Helper()
	d.cmd = exec.Command(d.program, "run", "--dir", d.dir, "--state-dir", "off", "--log-level", "debug", "--log-format", "json")
	log, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	came := make(chan int)
	d.came, d.stop, d.done = nil, make(chan struct{}), make(chan struct{}, 2)
	go func() {
		defer func() { d.done <- struct{}{} }()
		read(log, came, d.stop)
	}()
	limit := time.After(patience)
	for len(d.came) < n {
		select {
		case pid := <-came:
			if !slices.Contains(d.came, pid) {
				d.came = append(d.came, pid)
			}
		case <-limit:
			t.Fatalf("of %d processes %v have come", n, d.came)
		}
	}
	first := make(chan struct{})
	go func() {
		defer func() { d.done <- struct{}{} }()
		d.scrape(n, first)
	}()
	select {
	case <-first:
	case <-limit:
		t.Fatalf("metrics do not show all of %v", d.came)
	}
}

// read tells of the processes that the daemon's log says have come, until the log ends.
func read(log io.Reader, came chan<- int, stop <-chan struct{}) {
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var line struct {
			Msg string
			PID int
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.Msg != "a process came" {
			continue
		}
		select {
		case came <- line.PID:
		case <-stop:
		}
	}
}

// scrape asks for metrics, each second, as Prometheus would. It closes first when it has seen n processes.
func (d *daemon) scrape(n int, first chan struct{}) {
	c := http.Client{Timeout: patience, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(d.dir, fabricd.API))
	}}}
	defer c.CloseIdleConnections()
	for tick := time.NewTicker(scrapeEvery); ; {
		if r, err := c.Get("http://fabricd/metrics"); err == nil {
			b, _ := io.ReadAll(r.Body)
			r.Body.Close()
			d.count++
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

// end stops the daemon, and returns when it has gone. Its processes notice that at once.
func (d *daemon) end(t *testing.T) {
	t.Helper()
	close(d.stop)
	d.cmd.Process.Signal(syscall.SIGTERM)
	<-d.done
	<-d.done
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("fabricd: %v", err)
	}
	d.cmd = nil
}
