package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gofabric/test/need"
	"gofabric/test/parallel"
	"gofabric/test/program"
)

// This file finds and builds the programs that run against each other.

const envNative = "GOFABRIC_NATIVE_PINGPONG"

// tool is a ping-pong program.
type tool struct {
	name string
	path string
	args []string // they precede the test's own arguments
	env  []string // in addition to the test's own

	provider string // its name for the provider, if different from ours
}

// ofi is ofi pingpong. TestMain builds it.
var ofi tool

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "interop")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := program.Build(dir, "gofabric/cmd/ofi"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ofi = tool{name: "ofi pingpong", path: filepath.Join(dir, "ofi"), args: []string{"pingpong", "--timeout", "20s"}}
	parallel.Run(4) // the tests mostly wait for timers of native peers
	return m.Run()
}

// debian is the system's fi_pingpong.
func debian(t *testing.T) tool {
	t.Helper()
	return tool{name: "fi_pingpong", path: need.Programs(t, "libfabric-bin", "fi_pingpong")}
}

// native2 is the fi_pingpong of a libfabric 2.x. It runs with the library of the same folder.
func native2(t *testing.T) tool {
	t.Helper()
	path := os.Getenv(envNative)
	if path == "" {
		// GOFABRIC_PEERS=required does not include it, because it must be built from source: no distribution has it
		// yet.
		t.Skipf("%s is not set: build libfabric 2.x and set it to its fi_pingpong", envNative)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s: %v", envNative, err)
	}
	n := tool{name: "fi_pingpong 2.x", path: path}
	if lib := filepath.Join(filepath.Dir(path), "..", "lib"); os.Getenv("LD_LIBRARY_PATH") == "" && isDir(lib) {
		n.env = []string{"LD_LIBRARY_PATH=" + lib}
	}
	return n
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
