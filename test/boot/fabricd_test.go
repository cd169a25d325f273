package boot

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gofabric/test/program"
)

// startFabricd runs a daemon for this test and returns the folder of its sockets.
func startFabricd(t *testing.T) string {
	t.Helper()
	dir := socketDir(t)
	runFabricd(t, dir, filepath.Join(dir, "state"))
	return dir
}

func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fd") // short, because paths of sockets are limited (unix(7))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// runFabricd starts a daemon and waits until it listens.
func runFabricd(t *testing.T, dir, state string) *program.Program {
	t.Helper()
	path, err := fabricd()
	if err != nil {
		t.Fatal(err)
	}
	d := daemon(t, clean(), path, "run", "--dir", dir, "--state-dir", state)
	d.Until("the daemon listens", func() bool {
		conn, err := net.Dial("unix", filepath.Join(dir, "api.sock"))
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return d
}

// TestFabricd starts processes that know rank and size and find each other in fabricd's directory. A job's name serves
// for one run.
func TestFabricd(t *testing.T) {
	t.Parallel()
	dir := startFabricd(t)
	vars := func(i int) []string {
		return []string{fmt.Sprintf("GOFABRIC_RANK=%d", i), "GOFABRIC_SIZE=4", "GOFABRIC_JOB=j", "FABRICD_DIR=" + dir}
	}
	joinResults(start(t, 4, vars)).wantAll(t, 4, "fabricd", "tcp")
	for i, r := range start(t, 4, vars) {
		if r.code != 1 || !strings.Contains(r.out, "joined a job") {
			t.Errorf("the second run, rank %d: exit status %d\n%s", i, r.code, r.out)
		}
	}
}

// TestFabricdPods starts pods that find each other in fabricd's directory.
func TestFabricdPods(t *testing.T) {
	t.Parallel()
	dir := startFabricd(t)
	joinResults(start(t, 4, func(i int) []string {
		return []string{fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i), "GOFABRIC_SIZE=4",
			"GOFABRIC_JOB=run-1", "FABRICD_DIR=" + dir}
	})).wantAll(t, 4, "kubernetes", "tcp")
}

// TestFabricdMissing checks that the error names a rank that does not start.
func TestFabricdMissing(t *testing.T) {
	t.Parallel()
	dir := startFabricd(t)
	for i, r := range start(t, 3, func(i int) []string {
		return []string{fmt.Sprintf("GOFABRIC_RANK=%d", i), "GOFABRIC_SIZE=4", "GOFABRIC_JOB=j", "FABRICD_DIR=" + dir}
	}, "-limit", "1s") {
		if r.code != 1 || !strings.Contains(r.out, "missing: rank 3") {
			t.Errorf("rank %d: exit status %d\n%s", i, r.code, r.out)
		}
	}
}
