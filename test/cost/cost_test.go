package cost

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gofabric/internal/fabricd"
)

// rounds is how many pairs of runs there are, unless GOFABRIC_COST_ROUNDS says otherwise; each run has one measurement of each test.
const rounds = 11

// allowed is by how much the middle of all pairs may be worse with the daemon.
const allowed = 0.02

// build makes a program of this module.
func build(t *testing.T, name string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", "build", "-o", out, "gofabric/cmd/"+name)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	return out
}

// watched starts a daemon, and scrapes it each second until the test ends. It returns the daemon's folder, and what scrapes have found.
func watched(t *testing.T, program string) (dir string, scrapes func() (n, processes int)) {
	dir = t.TempDir()
	d := exec.Command(program, "run", "--dir", dir, "--state-dir", "off", "--log-level", "error")
	d.Stderr = os.Stderr
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Process.Kill(); d.Wait() })
	c := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, fabricd.API))
	}}}
	t.Cleanup(c.CloseIdleConnections)
	scrape := func() string {
		r, err := c.Get("http://fabricd/metrics")
		if err != nil {
			return ""
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		return string(b)
	}
	for end := time.Now().Add(time.Minute); scrape() == ""; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the daemon does not answer")
		}
	}
	n, processes := 0, 0
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
				n++
				processes = max(processes, strings.Count(scrape(), "\ngofabric_endpoints{"))
			}
		}
	}()
	stopped := false
	end := func() (int, int) {
		if !stopped {
			stopped = true
			close(stop)
			<-done
		}
		return n, processes
	}
	t.Cleanup(func() { end() })
	return dir, end
}

// result is what fi bench --json says of one test.
type result struct {
	Stack, Name, Unit string
	Ours              []struct{ Value float64 }
}

// run measures.
func run(t *testing.T, fi, dir string) []result {
	t.Helper()
	cmd := exec.Command(fi, "bench", "--json", "--stack", "tcp/rdm,udp;ofi_rxd/rdm", "--test", "latency,rate", "--time", "400ms")
	cmd.Env = append(os.Environ(), fabricd.EnvDir+"="+dir)
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []result
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return list
}

// TestCost: latency and rate with the daemon and without.
func TestCost(t *testing.T) {
	if os.Getenv("GOFABRIC_COST") == "" {
		t.Skip("it takes a minute and a quiet machine: set GOFABRIC_COST=1")
	}
	n := rounds
	if v, err := strconv.Atoi(os.Getenv("GOFABRIC_COST_ROUNDS")); err == nil {
		n = v
	}
	fi, daemon := build(t, "fi"), build(t, "fabricd")
	dir, scrapes := watched(t, daemon)
	ratios := map[string][]float64{}
	var names []string
	for i := range n {
		dirs := []string{"off", dir}
		if i%2 == 1 {
			slices.Reverse(dirs)
		}
		values := map[string]map[string]float64{}
		for _, d := range dirs {
			values[d] = map[string]float64{}
			for _, r := range run(t, fi, d) {
				name := fmt.Sprintf("%s %s", r.Stack, r.Name)
				if values[d][name] = r.Ours[0].Value; r.Unit != "us" {
					values[d][name] = 1 / r.Ours[0].Value // times, all of them
				}
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
		for name, off := range values["off"] {
			ratios[name] = append(ratios[name], values[dir][name]/off)
			t.Logf("pair %d: %s %.3f", i, name, values[dir][name]/off)
		}
	}
	if n, processes := scrapes(); n < 2 || processes < 2 {
		t.Fatalf("%d scrapes, of %d processes at most: the daemon has seen nothing", n, processes)
	}
	for _, name := range names {
		r := ratios[name]
		slices.Sort(r)
		middle := r[len(r)/2]
		t.Logf("%-24s with the daemon takes %.3f of the time without (quartiles %.3f, %.3f; %d pairs)", name, middle, r[len(r)/4], r[len(r)*3/4], len(r))
		if middle > 1+allowed && r[len(r)/4] > 1 { // else it is noise: a quarter of the pairs says the opposite
			t.Errorf("%s costs %.1f %%", name, 100*(middle-1))
		}
	}
}
