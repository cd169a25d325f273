package mpi

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"gofabric/test/need"
)

// This file builds the library and the programs, each when a test first needs it.

// work is the folder of all that is built.
var work string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "mpi")
	if err == nil {
		work, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	return m.Run()
}

// needOpenMPI skips or fails a test if a program that it needs is not installed (package need).
func needOpenMPI(t *testing.T) {
	t.Helper()
	need.Programs(t, "make gcc openmpi-bin libopenmpi-dev", "mpirun", "ompi_info", "mpicc", "gcc", "make")
}

// library builds the C library.
var library = sync.OnceValues(func() (string, error) {
	return filepath.Join(work, "libfabric.so.1"), build("make", "-C", "../../cmd/libfabric", "BUILD="+work)
})

// node builds the library that changes the host name.
var node = sync.OnceValues(func() (string, error) {
	path := filepath.Join(work, "node.so")
	return path, build("gcc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", path, "testdata/node.c", "-ldl")
})

var programs sync.Map // name to func() (string, error)

// program builds a program of testdata.
func program(name string) (string, error) {
	f, _ := programs.LoadOrStore(name, sync.OnceValues(func() (string, error) {
		path := filepath.Join(work, name)
		return path, build("mpicc", "-Wall", "-Wextra", "-Werror", "-O1", "-pthread", "-o", path,
			filepath.Join("testdata", name+".c"))
	}))
	return f.(func() (string, error))()
}

func build(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

// must returns the path of what was built, or fails the test.
func must(t *testing.T, path string, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
