package workspace

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"gofabric/test/need"
)

// inside is the variable that TestWorkspace sets for the tests that it runs.
const inside = "GOFABRIC_WORKSPACE"

const root = ".."

// modules returns the folders of go.work except the root, relative to the root.
func modules(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(text)) {
		if l = strings.TrimSpace(l); strings.HasPrefix(l, "./") {
			list = append(list, l)
		}
	}
	return list
}

// TestWorkspace runs go test for the other modules, with -short and -race if it was started with them. The log has
// the names of packages that passed.
func TestWorkspace(t *testing.T) {
	if os.Getenv(inside) != "" {
		t.Skip("this is a test that TestWorkspace runs")
	}
	if work := strings.TrimSpace(output(t, "env", "GOWORK")); work == "" || work == "off" {
		t.Skip("the go command uses no workspace (go env GOWORK)")
	}
	noteSources(t)
	args := []string{"test", "-p", strconv.Itoa(runtime.GOMAXPROCS(0))}
	if testing.Short() {
		args = append(args, "-short")
	}
	if need.Raced {
		args = append(args, "-race")
	}
	if end, ok := t.Deadline(); ok {
		args = append(args, "-timeout", time.Until(end).String())
	}
	// A count of 1 is not distinguishable from the default.
	if f := flag.Lookup("test.count"); f != nil && f.Value.String() != "1" {
		args = append(args, "-count", f.Value.String())
	}
	for _, m := range modules(t) {
		args = append(args, m+"/...")
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Run(); err != nil {
		t.Errorf("go %s: %v", strings.Join(args, " "), err)
	}
}

// output runs the go command.
func output(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %v: %v", args, err)
	}
	return string(out)
}

// noteSources reads all files of the workspace, so that go test's cache forgets the result of TestWorkspace when one
// of them changes. The tests that it runs have their own cache entries.
func noteSources(t *testing.T) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if err == nil && d.Type().IsRegular() {
			if _, err = os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				return nil // an editor's file that was there a moment ago
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
