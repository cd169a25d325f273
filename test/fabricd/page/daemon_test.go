//go:build linux

package page

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
	"gofabric/test/need"
	"gofabric/test/program"
)

// patience is the time limit for everything here. Only a failing test waits that long.
const patience = 90 * time.Second

// programs returns the folder of fabricd and ofi, which are built once.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gofabric-page-")
	if err != nil {
		return "", err
	}
	atEnd(func() { os.RemoveAll(dir) })
	return dir, program.Build(dir, "gofabric/cmd/fabricd", "gofabric/cmd/ofi")
})

var (
	undoLock sync.Mutex // tests run in parallel
	undo     []func()
)

// atEnd registers a function that runs after all tests.
func atEnd(f func()) {
	undoLock.Lock()
	defer undoLock.Unlock()
	undo = append(undo, f)
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, f := range undo {
		f()
	}
	os.Exit(code)
}

// site is a fabricd that emulates a fabric.
type site struct {
	t    *testing.T
	bin  string
	dir  string
	link string // to the page, as fabricd printed it
	api  *api.Client
}

// emulate starts a fabricd with a topology: the name of a built-in one, or a file.
func emulate(t *testing.T, topology string) *site {
	t.Helper()
	need.Emulation(t)
	s := newSite(t)
	s.serve("emulate", topology, "--seed", "18446744073709551557")
	return s
}

// plain starts a fabricd without an emulated fabric.
func plain(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.serve("run")
	return s
}

// serve starts the daemon and opens its page.
func (s *site) serve(args ...string) {
	s.t.Helper()
	s.start(s.fabricd(append(args, "--dir", s.dir)...))
	s.link = s.page()
}

// page opens the page with the command fabricd page and returns the link.
func (s *site) page() string {
	s.t.Helper()
	link, err := s.fabricd("page").Output()
	if err != nil {
		s.t.Fatalf("fabricd page: %v", err)
	}
	return strings.TrimSpace(string(link))
}

func newSite(t *testing.T) *site {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, bin: bin, dir: t.TempDir()}
	if s.api, err = api.Dial(filepath.Join(s.dir, fabricd.API)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.api.Close)
	known, err := identity()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.state(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.key(), known.key, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) state() string { return filepath.Join(s.dir, "state") }

func (s *site) key() string { return filepath.Join(s.state(), "tls.key") }

// fabricd returns a fabricd command for this site.
func (s *site) fabricd(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, "fabricd"), args...)
	cmd.Env = append(os.Environ(), fabricd.EnvDir+"="+s.dir)
	return cmd
}

// start starts a daemon and ends it with the test.
func (s *site) start(cmd *exec.Cmd) {
	s.t.Helper()
	d := s.begin(cmd)
	s.t.Cleanup(func() { s.end(d) })
}

// begin starts a daemon and waits until it is ready.
func (s *site) begin(cmd *exec.Cmd) *program.Program {
	s.t.Helper()
	d := program.Start(s.t, cmd)
	d.Expect("msg=ready")
	return d
}

// end stops a daemon. It must exit with status 0, and its log must contain neither complaints nor the token.
func (s *site) end(d *program.Program) {
	s.t.Helper()
	d.Stop()
	_, token, _ := strings.Cut(s.link, "token=")
	for line := range strings.Lines(d.String()) {
		if strings.Contains(line, "level=ERROR") || token != "" && strings.Contains(line, token) {
			s.t.Errorf("the log contains %s", line)
		}
	}
}

// ask sends a request to the daemon without the page.
func (s *site) ask(method, path string, in, out any) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	if err := s.api.Do(ctx, method, path, in, out); err != nil {
		s.t.Fatal(err)
	}
}

// fabric returns the fabric as the API reports it.
func (s *site) fabric() (e api.Emulation) {
	s.t.Helper()
	s.ask("GET", "/v1/emulation", nil, &e)
	return e
}

// change changes a link.
func (s *site) change(link string, c api.LinkChange) {
	s.t.Helper()
	s.ask("PATCH", "/v1/emulation/links/"+link, c, nil)
}

// run runs ofi in a node until the test ends. It repeats the command, because a client may start before its server.
func (s *site) run(node string, args ...string) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	s.t.Cleanup(func() {
		cancel()
		ended.Wait()
	})
	ended.Go(func() {
		for ctx.Err() == nil {
			cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "fabricd"),
				append([]string{"exec", node, "--", filepath.Join(s.bin, "ofi")}, args...)...)
			cmd.Env = append(os.Environ(), fabricd.EnvDir+"="+s.dir)
			cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
			cmd.WaitDelay = patience
			cmd.Run() // the exit status does not matter
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
}
