package dropin

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gofabric/test/need"
	"gofabric/test/program"
)

// This file builds the library and the C programs, and runs programs on it.

// work is the folder of all that is built.
var work string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "dropin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	work = dir
	return m.Run()
}

// needs skips or fails a test if a program is missing (package need).
func needs(t *testing.T, programs ...string) {
	t.Helper()
	need.Programs(t, "gcc make libfabric-dev libfabric-bin", programs...)
}

var built = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("make", "-C", "../../cmd/libfabric", "BUILD="+work).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("make: %w\n%s", err, out)
	}
	return filepath.Join(work, "libfabric.so.1"), nil
})

// library returns the path of the library. The first call builds it.
func library(t *testing.T) string {
	t.Helper()
	needs(t, "gcc", "make")
	lib, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// onOurs returns the environment of a program that runs on the library.
func onOurs(t *testing.T) []string {
	t.Helper()
	lib := library(t)
	return []string{"LD_LIBRARY_PATH=" + filepath.Dir(lib), "DROPIN_LIBRARY=" + lib}
}

// onSystem is the environment of a program that runs on the system's library.
var onSystem = slices.Clip([]string{"LD_LIBRARY_PATH="})

// loads checks that a program with this environment loads the library.
func loads(t *testing.T, program string) {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env = append(append(os.Environ(), onOurs(t)...), "LD_TRACE_LOADED_OBJECTS=1")
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "libfabric.so.1 => "+library(t)+" ") {
		t.Fatalf("%s does not load %s: %v\n%s", program, library(t), err, out)
	}
}

// start starts a program and kills it when ctx ends. env is added to the test's own environment.
func start(ctx context.Context, t *testing.T, env []string, path string, args ...string) *program.Program {
	t.Helper()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), env...)
	return program.Start(t, cmd)
}

// runLimit is the time limit of a program.
const runLimit = 60 * time.Second

// finish runs a program until it ends and returns its output. The program must succeed.
func finish(t *testing.T, env []string, path string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	p := start(ctx, t, env, path, args...)
	if err := p.Wait(); err != nil {
		t.Fatalf("%s %s: %v", filepath.Base(path), strings.Join(args, " "), err)
	}
	return p.String()
}

// headers checks whether the system has libfabric's headers.
var headers = sync.OnceValue(func() error {
	return exec.Command("gcc", "-E", "-include", "rdma/fabric.h", "-x", "c", os.DevNull).Run()
})

var compiled sync.Map // name and flags of a C program: func() (string, error)

// compile returns the path of a program of testdata, built with the system's headers and library. flags are passed to
// the compiler.
func compile(t *testing.T, name string, flags ...string) string {
	t.Helper()
	needs(t, "gcc")
	if err := headers(); err != nil {
		need.Missing(t, "there is no rdma/fabric.h: apt install libfabric-dev (%v)", err)
	}
	key := name + strings.Join(flags, "")
	build, _ := compiled.LoadOrStore(key, sync.OnceValues(func() (string, error) {
		dir, err := os.MkdirTemp(work, "c")
		if err != nil {
			return "", err
		}
		path := filepath.Join(dir, name)
		args := append([]string{"-g", "-O1", "-Wall", "-Werror", "-Wno-deprecated-declarations", "-Itestdata", "-o",
			path, "testdata/" + name + ".c"}, flags...)
		src, err := os.ReadFile("testdata/" + name + ".c")
		if err != nil {
			return "", err
		}
		if bytes.Contains(src, []byte(`"pair.h"`)) {
			args = append(args, "testdata/pair.c")
		}
		if out, err := exec.Command("gcc",
			append(args, "-lfabric", "-ldl", "-lpthread")...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("gcc: %w\n%s", err, out)
		}
		return path, nil
	}))
	path, err := build.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
