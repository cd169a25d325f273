//go:build linux

package telemetry

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
	"gofabric/internal/telemetry"
	"gofabric/test/need"
	"gofabric/test/program"
)

// patience is the time limit for everything here. Only a failing test waits that long.
const patience = 60 * time.Second

// binary is the path of fabricd.
var binary string

func TestMain(m *testing.M) {
	if what := os.Getenv(envWork); what != "" {
		if err := runWork(what); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	dir, err := os.MkdirTemp("", "gofabric-telemetry-")
	if err != nil {
		panic(err)
	}
	if err := program.Build(dir, "gofabric/cmd/fabricd"); err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "fabricd")
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// site is a fabricd with an emulated fabric of two nodes.
type site struct {
	t   *testing.T
	dir string
	api *api.Client
}

// emulate starts a site.
func emulate(t *testing.T, topology string, args ...string) *site {
	t.Helper()
	need.Emulation(t)
	s := &site{t: t, dir: t.TempDir()}
	file := filepath.Join(s.dir, "topology.yaml")
	if err := os.WriteFile(file, []byte(topology), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := api.Dial(filepath.Join(s.dir, fabricd.API))
	if err != nil {
		t.Fatal(err)
	}
	s.api = c
	t.Cleanup(c.Close)
	d := program.Start(t, s.command(append([]string{"emulate", file, "--dir", s.dir}, args...)...))
	t.Cleanup(d.Stop)
	d.Expect("msg=ready")
	return s
}

// command returns a fabricd command for the site.
func (s *site) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), fabricd.EnvDir+"="+s.dir)
	return cmd
}

// ask sends a request to the daemon.
func (s *site) ask(method, path string, in, out any) {
	s.t.Helper()
	if err := s.api.Do(s.t.Context(), method, path, in, out); err != nil {
		s.t.Fatal(err)
	}
}

// scrape returns /metrics as text.
func (s *site) scrape() string {
	s.t.Helper()
	body, err := s.api.Open(s.t.Context(), http.MethodGet, "/metrics", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer body.Close()
	b, err := io.ReadAll(body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// stuck returns the reasons why operations of a process are stuck.
func (s *site) stuck(name string) (why []string) {
	s.t.Helper()
	var a api.Stuck
	s.ask("GET", "/v1/stuck", nil, &a)
	for _, e := range a.Stuck {
		if e.Name == name {
			why = append(why, e.What+" to "+e.PeerName+" by "+e.Interface+": "+e.State)
		}
	}
	return why
}

// worker is a process of the test that runs in a node.
type worker struct {
	*program.Program
	t    *testing.T
	name string
}

// work starts a worker.
func (s *site) work(node, role string, k stack, address string) *worker {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := s.command("exec", node, "--", self)
	cmd.Env = append(cmd.Env, envWork+"="+role+" "+k.name+" "+address,
		telemetry.EnvName+"="+k.name, telemetry.EnvWatchdog+"=300")
	w := &worker{program.Talk(s.t, cmd), s.t, role + " " + k.name}
	s.t.Cleanup(func() { w.End(syscall.SIGTERM) })
	return w
}

// hear returns the next line of the worker's output.
func (w *worker) hear(want string) string {
	w.t.Helper()
	got := w.Line()
	if strings.HasPrefix(got, "error") || want != "" && got != want {
		w.t.Fatalf("%s prints %q instead of %q", w.name, got, want)
	}
	return got
}
