package fabricd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
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
)

// program is the daemon's path.
var program string

func TestMain(m *testing.M) {
	if asOtherUser() {
		return
	}
	dir, err := os.MkdirTemp("", "fabricd")
	if err != nil {
		panic(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "fabricd")
	build := exec.Command("go", "build", "-o", program, "gofabric/cmd/fabricd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is packed
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v\n%s", err, out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// process is a running daemon.
type process struct {
	t    *testing.T
	dir  string
	cmd  *exec.Cmd
	mu   sync.Mutex
	log  []string
	said chan string // lines of the log
	ends chan error
}

// newDir is a folder for a daemon's sockets, short enough for their names and open to all users.
func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// start runs a daemon and waits until it is ready.
func start(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	return startCommand(t, dir, exec.Command(program, append([]string{"run", "--dir", dir}, args...)...))
}

func startCommand(t *testing.T, dir string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, dir: dir, cmd: cmd, said: make(chan string, 1000), ends: make(chan error, 1)}
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			p.mu.Lock()
			p.log = append(p.log, s.Text())
			p.mu.Unlock()
			select {
			case p.said <- s.Text():
			default: // nobody waits for what it says
			}
		}
		p.ends <- cmd.Wait()
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			p.mu.Lock()
			defer p.mu.Unlock()
			t.Logf("the daemon's log:\n%s", strings.Join(p.log, "\n"))
		}
	})
	p.expect("msg=ready")
	return p
}

// expect waits until the log says something.
func (p *process) expect(what string) {
	p.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case line := <-p.said:
			if strings.Contains(line, what) {
				return
			}
		case err := <-p.ends:
			p.ends <- err
			p.t.Fatalf("the daemon ended with %v instead of saying %q", err, what)
		case <-limit:
			p.t.Fatalf("the daemon did not say %q", what)
		}
	}
}

// kill ends the daemon at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	p.ends <- <-p.ends
}

// stop ends the daemon as systemd does.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case err := <-p.ends:
		p.ends <- err
		if err != nil {
			p.t.Errorf("the daemon ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		p.t.Fatal("the daemon does not end")
	}
}

// client is a client of the daemon in dir.
func client(t *testing.T, dir string) *api.Client {
	t.Helper()
	c, err := api.Dial(filepath.Join(dir, fabricd.API))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// status is of the error that a request ended in.
func status(err error) int {
	var e *api.Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// within bounds a test.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// missing ends a test whose prerequisites are not there.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("GOFABRIC_PEERS") == "required" {
		t.Fatalf("GOFABRIC_PEERS=required, but %s", what)
	}
	t.Skip(what)
}
