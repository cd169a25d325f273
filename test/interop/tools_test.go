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

// This file finds and builds the programs that talk to each other.

const envNative = "GOFABRIC_NATIVE_PINGPONG"

// tool is a ping-pong program.
type tool struct {
	name string
	path string
	args []string // before all others
	env  []string // beside the test's own

	provider string // what it calls the provider, if not what we do
}

// ofi is ofi pingpong, built by TestMain.
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
	parallel.Run(4) // they wait for native peers' timers most of their time
	return m.Run()
}

// debian is the system's fi_pingpong.
func debian(t *testing.T) tool {
	t.Helper()
	return tool{name: "fi_pingpong", path: need.Programs(t, "libfabric-bin", "fi_pingpong")}
}

// native2 is the fi_pingpong of a libfabric 2.x, run with the library beside it.
func native2(t *testing.T) tool {
	t.Helper()
	path := os.Getenv(envNative)
	if path == "" {
		// Not even required peers include it: no distribution has it yet, it must be built.
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
