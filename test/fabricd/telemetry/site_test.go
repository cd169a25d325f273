//go:build linux

package telemetry

import (
	"bufio"
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
)

// patience is how long anything here may take; it is only waited for when something is broken.
const patience = 60 * time.Second

// program is fabricd.
var program string

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
	program = filepath.Join(dir, "fabricd")
	if out, err := exec.Command("go", "build", "-o", program, "gofabric/cmd/fabricd").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v\n%s", err, out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// missing ends a test whose prerequisites are not there.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("GOFABRIC_PEERS") == "required" {
		t.Fatalf("GOFABRIC_PEERS=required, but %s", what)
	}
	t.Skip(what)
}

// site is a fabricd with an emulated fabric of two nodes.
type site struct {
	t   *testing.T
	dir string
	api *api.Client
}

// emulate starts one.
func emulate(t *testing.T, topology string, args ...string) *site {
	t.Helper()
	if _, err := os.Stat("/dev/net/tun"); err != nil || os.Geteuid() != 0 {
		missing(t, "an emulated fabric needs root and /dev/net/tun here")
	}
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
	d := s.command(append([]string{"emulate", file, "--dir", s.dir}, args...)...)
	out := &strings.Builder{}
	d.Stderr = out
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(patience, func() { d.Process.Kill() })
		defer late.Stop()
		if err := d.Wait(); err != nil || t.Failed() {
			t.Errorf("the daemon ended with %v:\n%s", err, out)
		}
	})
	s.until("the daemon answers", func() bool { return c.Do(t.Context(), "GET", "/v1/emulation", nil, nil) == nil })
	return s
}

// command is a fabricd command about the site.
func (s *site) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), fabricd.EnvDir+"="+s.dir)
	return cmd
}

// until waits for something that another process does.
func (s *site) until(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%s: not in %v", what, patience)
		}
	}
}

// ask asks the daemon.
func (s *site) ask(method, path string, in, out any) {
	s.t.Helper()
	if err := s.api.Do(s.t.Context(), method, path, in, out); err != nil {
		s.t.Fatal(err)
	}
}

// scrape is /metrics as text.
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

// stuck says what is stuck, and why, of a process' own.
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

// worker is a process of the test's that works in a node.
type worker struct {
	s    *site
	name string
	in   io.Writer
	out  *bufio.Scanner
}

// work starts one.
func (s *site) work(node, role string, k stack, address string) *worker {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := s.command("exec", node, "--", self)
	cmd.Env = append(cmd.Env, envWork+"="+role+" "+k.name+" "+address, telemetry.EnvName+"="+k.name, telemetry.EnvWatchdog+"=300")
	cmd.Stderr = os.Stderr
	w := &worker{s: s, name: role + " " + k.name}
	if w.in, err = cmd.StdinPipe(); err != nil {
		s.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	w.out = bufio.NewScanner(out)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	return w
}

// hear returns the worker's next word.
func (w *worker) hear(want string) string {
	w.s.t.Helper()
	if !w.out.Scan() {
		w.s.t.Fatalf("%s ended, and should have said %q", w.name, want)
	}
	if got := w.out.Text(); want == "" && !strings.HasPrefix(got, "error") || got == want {
		return got
	}
	w.s.t.Fatalf("%s says %q, and should have said %q", w.name, w.out.Text(), want)
	return ""
}

// tell tells it the next word.
func (w *worker) tell(what string) {
	w.s.t.Helper()
	if _, err := fmt.Fprintln(w.in, what); err != nil {
		w.s.t.Fatalf("%s: %v", w.name, err)
	}
}
