package boot

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"gofabric/test/program"
)

// start starts size processes and returns their results. Each gets its rank from variables alone.
func start(t *testing.T, size int, vars func(rank int) []string, args ...string) []result {
	t.Helper()
	results := make([]result, size)
	path := rankPath(t)
	var all sync.WaitGroup
	for i := range size {
		cmd := exec.CommandContext(t.Context(), path, args...)
		var out bytes.Buffer
		cmd.Env, cmd.Stdout, cmd.Stderr = clean(vars(i)...), &out, &out
		cmd.WaitDelay = time.Second
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(jobLimit, func() { cmd.Process.Kill() })
		all.Go(func() {
			cmd.Wait()
			timer.Stop()
			results[i] = result{out.String(), cmd.ProcessState.ExitCode()}
		})
	}
	all.Wait()
	return results
}

func joinResults(list []result) result {
	var r result
	for _, one := range list {
		r.out += one.out
		r.code |= one.code
	}
	return r
}

// TestEnvironment starts jobs from plain variables, as scripts and launchers without PMI set them.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	for _, names := range [][2]string{{"GOFABRIC_RANK", "GOFABRIC_SIZE"},
		{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}} {
		t.Run(names[0], func(t *testing.T) {
			root := program.FreeAddress(t)
			vars := func(i int) []string {
				return []string{fmt.Sprintf("%s=%d", names[0], i), names[1] + "=4",
					"GOFABRIC_ROOT=" + root, "GOFABRIC_JOB=j"}
			}
			joinResults(start(t, 4, vars)).wantAll(t, 4, "tcp", "tcp")
		})
	}
}

// TestFolder starts processes that share a folder.
func TestFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	vars := func(i int) []string {
		return []string{fmt.Sprintf("GOFABRIC_RANK=%d", i), "GOFABRIC_SIZE=4",
			"GOFABRIC_BOOT_DIR=" + dir, "GOFABRIC_JOB=j"}
	}
	joinResults(start(t, 4, vars)).wantAll(t, 4, "file", "tcp")
}

// TestKubernetes starts processes with the variables of the pods of an indexed job.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	root := program.FreeAddress(t)
	vars := func(i int) []string {
		return []string{fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i), fmt.Sprintf("HOSTNAME=sim-%d", i),
			"GOFABRIC_SIZE=4", "GOFABRIC_ROOT=" + root}
	}
	joinResults(start(t, 4, vars)).wantAll(t, 4, "kubernetes", "tcp")
}

// TestDies kills a rank. The other ranks get an error that names it, and do not wait for it.
func TestDies(t *testing.T) {
	t.Parallel()
	root := program.FreeAddress(t)
	results := start(t, 4, func(i int) []string {
		return []string{fmt.Sprintf("GOFABRIC_RANK=%d", i), "GOFABRIC_SIZE=4", "GOFABRIC_ROOT=" + root}
	}, "-die", "2", "-quick")
	for i, r := range results {
		if i != 2 && (r.code != 1 || !strings.Contains(r.out, "rank 2") || strings.Contains(r.out, "time-out")) {
			t.Errorf("rank %d: exit status %d\n%s", i, r.code, r.out)
		}
	}
}
