package boot

import (
	"bytes"
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

	"go.uber.org/goleak"

	"gofabric/test/parallel"
	"gofabric/test/program"
)

// work is the folder of the programs that are built.
var work string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "boot")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	work = dir
	os.Setenv("FABRICD_DIR", dir) // for this process: TestRestart registers names with the daemon there
	parallel.Run(8)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// building returns a function that builds a program once and returns its path.
func building(name, pkg string) func() (string, error) {
	return sync.OnceValues(func() (string, error) { return filepath.Join(work, name), program.Build(work, pkg) })
}

// The program that each test starts, and the daemon.
var (
	rank    = building("rank", "gofabric/test/boot/rank")
	fabricd = building("fabricd", "gofabric/cmd/fabricd")
)

func rankPath(t *testing.T) string {
	t.Helper()
	path, err := rank()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// clean is the environment without the variables of launchers and jobs.
func clean(more ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PMI") && !strings.HasPrefix(v, "SLURM_") && !strings.HasPrefix(v, "OMPI_") &&
			!strings.HasPrefix(v, "GOFABRIC_") && !strings.HasPrefix(v, "FABRICD_") {
			env = append(env, v)
		}
	}
	return append(env, more...)
}

const jobLimit = 60 * time.Second

// result is how a program ended.
type result struct {
	out  string // both streams
	code int    // -1: by a signal
}

// run runs a program until it ends. After a time-out it kills the program with its children and fails the test.
func run(t *testing.T, env []string, name string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), jobLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &out, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%s did not end within %v:\n%s", name, jobLimit, out.Bytes())
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatalf("%s: %v\n%s", name, err, out.Bytes())
	}
	return result{out.String(), cmd.ProcessState.ExitCode()}
}

// wantAll fails the test unless all ranks of a job report success.
func (r result) wantAll(t *testing.T, size int, source, provider string) {
	t.Helper()
	for i := range size {
		if line := fmt.Sprintf("rank %d of %d, source %s, %s: ok\n", i, size, source,
			provider); strings.Count(r.out, line) != 1 {
			t.Errorf("rank %d did not print %q", i, line)
		}
	}
	if r.code != 0 || t.Failed() {
		t.Errorf("exit status %d:\n%s", r.code, r.out)
	}
}
