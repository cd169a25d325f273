package fabricd

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
	"gofabric/test/program"
)

// binary is the daemon's path.
var binary string

// roles are functions that the test's program may run instead of the tests. Each reports whether this process has its
// role, and if so has run it.
var roles = []func() bool{asOtherUser}

func TestMain(m *testing.M) {
	for _, is := range roles {
		if is() {
			return
		}
	}
	dir, err := os.MkdirTemp("", "fabricd")
	if err != nil {
		panic(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
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

// process is a running daemon.
type process struct {
	*program.Program
	t   *testing.T
	dir string
}

// newDir returns a folder for a daemon's sockets. Its name is short enough for them, and it is open to all users.
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
	return startCommand(t, dir, exec.Command(binary, append([]string{"run", "--dir", dir}, args...)...))
}

func startCommand(t *testing.T, dir string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{program.Start(t, cmd), t, dir}
	p.Expect("msg=ready")
	return p
}

// client returns a client of the daemon in dir.
func client(t *testing.T, dir string) *api.Client {
	t.Helper()
	c, err := api.Dial(filepath.Join(dir, fabricd.API))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// status returns the HTTP status of a request's error.
func status(err error) int {
	var e *api.Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// within returns a context that ends after d.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
