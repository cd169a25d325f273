package fabricd

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
	"gofabric/test/need"
	"gofabric/test/program"
)

// command returns a fabricd command for the daemon in dir.
func command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), fabricd.EnvDir+"="+dir)
	return cmd
}

// run runs a command that must succeed, and returns its output.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := command(dir, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("fabricd %v: %v, %s", args, err, out)
	}
	return string(out)
}

// TestCommands registers and reads names and values with commands.
func TestCommands(t *testing.T) {
	dir := newDir(t)
	start(t, dir)
	watch := program.Start(t, command(dir, "watch", "--json", "job/"))
	next := func() (e api.Event) {
		t.Helper()
		if err := json.Unmarshal([]byte(watch.Line()), &e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := next(); e.Type != "alive" {
		t.Errorf("the watch begins with %+v", e)
	}
	run(t, dir, "put", "job/1", "fi_sockaddr_in://10.0.0.1:7471", "--lease", "1m")
	run(t, dir, "put", "other/1", "x")
	if e := next(); e.Type != "put" || e.Name != "job/1" || e.Address != "fi_sockaddr_in://10.0.0.1:7471" {
		t.Errorf("the watch prints %+v", e)
	}
	if got := run(t, dir, "get", "job/1"); got != "fi_sockaddr_in://10.0.0.1:7471\n" {
		t.Errorf("get: %q", got)
	}
	if got := run(t, dir, "names"); !strings.Contains(got, "job/1") ||
		!strings.Contains(got, "other/1") || strings.Count(got, "\n") != 3 {
		t.Errorf("names: %s", got)
	}
	var list api.Names
	if err := json.Unmarshal([]byte(run(t, dir, "names", "--json", "job/")), &list); err != nil ||
		len(list.Names) != 1 || list.Names[0].Name != "job/1" {
		t.Errorf("names --json: %+v, %v", list, err)
	}
	put := command(dir, "put", "--kv", "job/config", "-")
	put.Stdin = strings.NewReader("a\x00b\n")
	if out, err := put.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := run(t, dir, "get", "--kv", "--wait", "1s", "job/config"); got != "a\x00b\n" {
		t.Errorf("get --kv: %q", got)
	}
	if got := run(t, dir, "delete", "--prefix", "job/"); got != "1 deleted\n" {
		t.Errorf("delete: %q", got)
	}
	if e := next(); e.Type != "delete" || e.Name != "job/1" {
		t.Errorf("the watch prints %+v", e)
	}
	for _, bad := range [][]string{{"get", "job/1"}, {"get", "a/../b"}, {"put", "x", ""}, {"delete", "job/1"},
		{"put", "x", "y", "--lease", "1ms"}} {
		if out, err := command(dir, bad...).CombinedOutput(); err == nil ||
			!strings.HasPrefix(string(out), "fabricd: ") {
			t.Errorf("fabricd %v: %v, %s", bad, err, out)
		}
	}
	if out, err := command(newDir(t), "names").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "fabricd run") {
		t.Errorf("without a daemon: %v, %s", err, out)
	}
}

// TestStopped checks that commands do not wait for ever for a daemon that does not answer.
func TestStopped(t *testing.T) {
	need.Asked(t, "it takes 20 s")
	t.Parallel()
	dir := newDir(t)
	p := start(t, dir)
	p.Signal(syscall.SIGSTOP)
	for _, args := range [][]string{{"status"}, {"names"}, {"put", "a", "b"}, {"stuck"},
		{"get", "--kv", "--wait", "1s", "a"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			out, err := command(dir, args...).CombinedOutput()
			if took := time.Since(begin); err == nil ||
				!strings.Contains(string(out), "it has not answered for 2") || took > 40*time.Second {
				t.Errorf("after %v: %v, %s", took, err, out)
			}
		})
	}
}
