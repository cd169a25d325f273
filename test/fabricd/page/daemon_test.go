//go:build linux

package page

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
)

// patience is how long anything here may take; it is only waited for when something is broken.
const patience = 30 * time.Second

// programs is the folder of fabricd and fi, built once.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gofabric-page-")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", dir+"/", "gofabric/cmd/fabricd", "gofabric/cmd/fi")
	build.Stderr = os.Stderr
	return dir, build.Run()
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := programs(); dir != "" {
		os.RemoveAll(dir)
	}
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

// site is a fabricd that emulates a fabric.
type site struct {
	t    *testing.T
	bin  string
	dir  string
	link string // to the page, as fabricd printed it
	api  *api.Client
}

// emulate starts a fabricd with a topology: the name of a ready one, or a file.
func emulate(t *testing.T, topology string) *site {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "an emulated fabric needs root here")
	}
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, bin: bin, dir: t.TempDir()}
	cmd := exec.Command(filepath.Join(bin, "fabricd"), "emulate", topology, "--dir", s.dir, "--state-dir", "off", "--log-level", "warn", "--seed", "18446744073709551557")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, cmd) })
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(out).ReadString('\n')
		line <- text
		io.Copy(io.Discard, out)
	}()
	select {
	case text := <-line:
		if s.link = regexp.MustCompile(`http://127\.0\.0\.1:\d+/#token=[0-9a-f]{64}`).FindString(text); s.link == "" {
			t.Fatalf("fabricd emulate printed %q, no link", text)
		}
	case <-time.After(patience):
		t.Fatal("fabricd emulate printed nothing")
	}
	if s.api, err = api.Dial(filepath.Join(s.dir, fabricd.API)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.api.Close)
	return s
}

// end ends a program, and wants it to end well.
func end(t *testing.T, cmd *exec.Cmd) {
	cmd.Process.Signal(syscall.SIGTERM)
	stop := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer stop.Stop()
	if err := cmd.Wait(); err != nil {
		t.Errorf("fabricd: %v", err)
	}
}

// fabric is the fabric as the API has it.
func (s *site) fabric() api.Emulation {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	var e api.Emulation
	if err := s.api.Do(ctx, "GET", "/v1/emulation", nil, &e); err != nil {
		s.t.Fatal(err)
	}
	return e
}

// run runs fi in a node until the test ends, again and again: a client may come before its server.
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
			cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "fabricd"), append([]string{"exec", node, "--", filepath.Join(s.bin, "fi")}, args...)...)
			cmd.Env = append(os.Environ(), fabricd.EnvDir+"="+s.dir)
			cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
			cmd.WaitDelay = patience
			cmd.Run() // how it ends does not matter
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
}
