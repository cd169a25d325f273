package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gofabric/cmd/internal/capture"
	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
	"gofabric/test/need"
	"gofabric/test/program"
	"gofabric/test/wait"
)

// patience is the longest time that a test waits for an expected event.
const patience = 90 * time.Second

// machine runs fabricd's commands against a daemon in a folder of its own.
type machine struct {
	t    *testing.T
	dir  string
	self []string         // the command line that fabricd's arguments follow
	d    *program.Program // nil if no daemon runs
	api  *api.Client
}

// startFabric starts a daemon that emulates the topology what, a name or YAML. before is a command that runs the
// daemon, such as setpriv.
func startFabric(t *testing.T, what string, before ...string) *machine {
	t.Helper()
	need.Emulation(t)
	m := newMachine(t)
	if strings.Contains(what, "\n") {
		file := filepath.Join(m.dir, "topology.yaml")
		if err := os.WriteFile(file, []byte(what), 0o644); err != nil {
			t.Fatal(err)
		}
		what = file
	}
	m.start(append(append(before, m.self...), "emulate", what)...)
	return m
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func newMachine(t *testing.T) *machine {
	dir, err := os.MkdirTemp("", "fabricd") // not t.TempDir, which other users cannot read
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &machine{t: t, dir: dir, self: []string{self}}
}

// start runs the daemon and waits until it answers.
func (m *machine) start(args ...string) {
	m.t.Helper()
	log, err := os.OpenFile(m.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		m.t.Fatal(err)
	}
	defer log.Close()
	d := exec.Command(args[0], args[1:]...)
	d.Env, d.Stderr = m.environ(), log // not a pipe: its reader would wait for the inner of two processes after the outer one was killed
	m.d = program.Start(m.t, d)
	m.t.Cleanup(func() {
		m.end(syscall.SIGTERM)
		if m.t.Failed() {
			m.t.Log(m.log())
		}
	})
	if m.api, err = api.Dial(filepath.Join(m.dir, fabricd.API)); err != nil {
		m.t.Fatal(err)
	}
	m.d.Until("the daemon answers", func() bool {
		return m.api.Do(m.t.Context(), "GET", "/v1/emulation", nil, nil) == nil
	})
}

func (m *machine) logFile() string { return filepath.Join(m.dir, "log") }

func (m *machine) log() string {
	b, err := os.ReadFile(m.logFile())
	if err != nil {
		m.t.Error(err)
	}
	return string(b)
}

func (m *machine) environ() []string {
	return append(os.Environ(), envMain+"=1", fabricd.EnvDir+"="+m.dir)
}

// end ends the daemon if one runs.
func (m *machine) end(s syscall.Signal) {
	m.t.Helper()
	d := m.d
	m.d = nil
	switch {
	case d == nil:
	case s == syscall.SIGKILL:
		d.Kill()
	default:
		d.Stop()
	}
}

// command is a fabricd command that is not started.
func (m *machine) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	m.t.Cleanup(cancel)
	all := append(append([]string{}, m.self...), args...)
	cmd := exec.CommandContext(ctx, all[0], all[1:]...)
	cmd.Env = m.environ()
	return cmd
}

// run runs a fabricd command to its end.
func (m *machine) run(args ...string) (out string, status int) {
	m.t.Helper()
	b, err := m.command(args...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(b), exit.ExitCode()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return string(b), 0
}

// want runs a command that must end with the given status, and print a text.
func (m *machine) want(status int, say string, args ...string) string {
	m.t.Helper()
	out, got := m.run(args...)
	if got != status || !strings.Contains(out, say) {
		m.t.Errorf("fabricd %s: status %d, want %d, and %q:\n%s", strings.Join(args, " "), got, status, say, out)
	}
	return out
}

// state returns the state of the fabric.
func (m *machine) state() (e api.Emulation) {
	m.t.Helper()
	if err := m.api.Do(m.t.Context(), "GET", "/v1/emulation", nil, &e); err != nil {
		m.t.Fatal(err)
	}
	return e
}

// inside returns the processes in a network namespace.
func inside(space string) (all []string) {
	spaces, _ := filepath.Glob("/proc/[0-9]*/ns/net")
	for _, s := range spaces {
		if name, err := os.Readlink(s); err == nil && name == space {
			all = append(all, s)
		}
	}
	return all
}

// TestExec: a program in a node has the node's interfaces, the caller's working folder, and the daemon's folder.
// The command ends with the program's status.
func TestExec(t *testing.T) {
	m := startFabric(t, "star")
	m.want(7, "02:fa:b0:00:00:01\n"+m.dir+"\n", "exec", "n2", "--", "sh", "-c", "cat /sys/class/net/eth0/address; echo $FABRICD_DIR; exit 7")
	m.want(0, "inet 10.77.0.3/24", "exec", "n3", "ip", "addr")
	m.want(137, "", "exec", "n1", "--", "sh", "-c", "kill -9 $$")
	m.want(126, "permission denied", "exec", "n1", "--", "/etc/passwd")
	m.want(127, "executable file not found", "exec", "n1", "no-such-program")
	m.want(1, "no node n9", "exec", "n9", "--", "true")
	m.want(1, "name a program", "exec", "n1", "--")

	cmd := m.command("exec", "n1", "--", "sh", "-c", "trap 'exit 5' TERM; echo up; while :; do sleep 0.01; done")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if n := m.state().Nodes[0].Programs; n != 1 {
		t.Errorf("%d programs run in n1", n)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("the program did not get the signal: %v", err)
	}
	wait.Until(t, "the program ends", func() bool { return m.state().Nodes[0].Programs == 0 })
}

// TestEnd: programs in nodes end with the daemon, both when the daemon ends by itself and when it is killed.
// Programs that other programs left in the background end, too.
func TestEnd(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			m := startFabric(t, "pair")
			cmd := m.command("exec", "n1", "--", "sh", "-c", "setsid sleep 600 >/dev/null 2>&1 </dev/null & trap '' TERM; readlink /proc/self/ns/net; sleep 600")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line := make([]byte, 100)
			n, err := out.Read(line)
			if err != nil {
				t.Fatal(err)
			}
			spaces := []string{strings.TrimSpace(string(line[:n]))}
			left, err := m.command("exec", "n2", "--", "sh", "-c", "readlink /proc/self/ns/net; trap '' TERM HUP; setsid sleep 600 >/dev/null 2>&1 </dev/null &").Output()
			if err != nil {
				t.Fatal(err)
			}
			spaces = append(spaces, strings.TrimSpace(string(left))) // no fabricd exec waits in this namespace
			for _, space := range spaces {
				if len(inside(space)) == 0 {
					t.Fatalf("no process is in %s", space)
				}
			}
			m.end(s)
			if err := cmd.Wait(); err == nil {
				t.Error("the program ended without an error")
			}
			for _, space := range spaces {
				wait.Until(t, "the namespace is empty", func() bool { return len(inside(space)) == 0 })
			}
		})
	}
}

// TestLink: links are shown and changed. An invalid request is refused with an explanation.
func TestLink(t *testing.T) {
	m := startFabric(t, "pair")
	m.want(0, "loss 5%, delay 2ms, jitter 0.1ms, rate 100mbit, queue 50, ecn 20", "link", "n1-n2", "--loss", "5%", "--delay", "2ms", "--jitter", "100us", "--rate", "100mbit", "--queue", "50", "--ecn", "20")
	m.want(0, "burst 1%/25%/100%, dup 1%, reorder 2%, corrupt 0.1%", "link", "n2-n1", "--direction", "ba", "--burst", "1%/25%", "--dup", "1%", "--reorder", "2%", "--corrupt", "0.1%", "--loss", "0", "--delay", "0s", "--jitter", "0s", "--rate", "0", "--queue", "0", "--ecn", "0")
	if e := m.state(); e.Links[0].AB.Faults.Loss != 0.05 || e.Links[0].BA.Faults.Loss != 0 ||
		e.Links[0].BA.Faults.Burst.Enter != 0.01 || e.Links[0].AB.Faults.DelayMS != 2 {
		t.Errorf("%+v", e.Links[0])
	}
	m.want(0, "down", "link", "n1-n2", "--down")
	m.want(0, "NO-CARRIER", "exec", "n1", "--", "ip", "link", "show", "eth0")
	m.want(0, "", "link", "n1-n2", "--up")
	m.want(0, ",LOWER_UP", "exec", "n1", "--", "ip", "link", "show", "eth0")
	m.want(0, "[[n1]]", "partition", "n1")
	m.want(0, "", "partition", "--heal")
	if e := m.state(); len(e.Partitions) != 0 || !e.Links[0].Up {
		t.Errorf("%+v", e)
	}
	m.want(1, "no link n1-n3", "link", "n1-n3", "--loss", "5%")
	m.want(1, "write 5% or 0.05", "link", "n1-n2", "--loss", "5")
	m.want(1, "both, ab or ba", "link", "n1-n2", "--direction", "up", "--loss", "1%")
	m.want(1, "name a link", "link", "--loss", "5%")
	m.want(1, "no node", "partition", "n1,n7")
	m.want(1, "give groups", "partition")
	for body, status := range map[string]int{
		`{"faults":{"loss":1.5}}`: 400, `{"faults":{"los":1}}`: 400, `{`: 400, `{"faults":{"delay_ms":1e300}}`: 400, `{"faults":{"rate_mbit":-1}}`: 400,
		`{"faults":{"queue_packets":1e9}}`: 400, `{"faults":{"loss":0.5,"delay_ms":-1}}`: 400, `{"direction":"x"}`: 400, `{"faults":{"loss":0.05}}`: 0,
	} {
		err := m.api.Do(t.Context(), "PATCH", "/v1/emulation/links/n1-n2", rawJSON(body), nil)
		var refused *api.Error
		if errors.As(err, &refused) != (status != 0) || status != 0 && refused.Status != status {
			t.Errorf("%s: %v", body, err)
		}
	}
	if f := m.state().Links[0].AB.Faults; f.Loss != 0.05 {
		t.Errorf("after refused requests: %+v", f)
	}
}

// rawJSON is a body that is sent unchanged. If it is not valid JSON, it is sent as a string.
type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) {
	if r == "{" {
		return []byte(`"{"`), nil
	}
	return []byte(r), nil
}

// TestSchedule: the events of a file's schedule happen at their times.
func TestSchedule(t *testing.T) {
	m := startFabric(t, "nodes: [a, b]\nlinks: [{between: [a, b]}]\nschedule:\n  - {at: 100ms, link: a-b, direction: ab, loss: 30%}\n  - {at: 200ms, partition: [[a], [b]]}\n"+
		"  - {at: 300ms, link: a-b, up: false}\n  - {at: 400ms, heal: true}\n")
	wait.Until(t, "the schedule is over", func() bool {
		e := m.state()
		return e.Seconds > 0.4 && len(e.Partitions) == 0 && !e.Links[0].Up
	})
	if l := m.state().Links[0]; l.AB.Faults.Loss != 0.3 || l.BA.Faults.Loss != 0 {
		t.Errorf("%+v", l)
	}
	if n := strings.Count(m.log(), "msg=schedule"); n != 4 {
		t.Errorf("%d events are in the log", n)
	}
}

// TestOthers: a user other than root and the daemon's user may read the state, and may not change it.
func TestOthers(t *testing.T) {
	m := startFabric(t, "pair")
	m.lend()
	m.self = append([]string{"setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups"}, m.self...)
	m.want(0, "n1 to n2", "link")
	for _, args := range [][]string{{"link", "n1-n2", "--loss", "5%"}, {"partition", "n1"}, {"capture", "n1-n2", "/tmp/x.pcapng"}, {"exec", "n1", "--", "true"}} {
		m.want(1, "may change the emulated fabric", args...)
	}
}

// lend copies the program to a file that other users may run.
func (m *machine) lend() {
	b, err := os.ReadFile(m.self[0])
	if err == nil {
		m.self = []string{filepath.Join(m.dir, "fabricd.test")}
		err = os.WriteFile(m.self[0], b, 0o755)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// TestRootless: a user without privileges has a fabric in a user namespace, and runs programs in it. Nothing is
// left when either process is killed.
func TestRootless(t *testing.T) {
	need.Root(t, "acting as another user with access to /dev/net/tun")
	m := newMachine(t)
	m.lend()
	if err := os.Chown(m.dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	user := append([]string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"}, m.self...)
	// The test sets /dev/net/tun up as most systems do, as a device that all users may open. The file system is
	// this process' own.
	const open = "mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200 && exec \"$@\""
	start := func() {
		m.start(append([]string{"unshare", "-m", "sh", "-c", open, "sh"}, append(user, "emulate", "star")...)...)
	}
	start()
	m.self = user
	m.want(3, "10.77.0.2", "exec", "n2", "--", "sh", "-c", "ip addr show eth0; exit 3")
	m.want(0, "loss 5%", "link", "n1-s1", "--loss", "5%")
	m.want(0, "10.77.0.1", append(append([]string{"exec", "n2", "--"}, m.self[len(m.self)-1:]...), "exec", "n1", "--", "ip", "addr", "show", "eth0")...) // from one node into another
	space := strings.TrimSpace(m.want(0, "net:", "exec", "n1", "--", "readlink", "/proc/self/ns/net"))
	var refused *api.Error
	for _, what := range [][2]string{{"DELETE", "/v1/emulation/partition"}, {"PUT", "/v1/page"}} {
		if err := m.api.Do(t.Context(), what[0], what[1], nil, nil); !errors.As(err, &refused) ||
			refused.Status != 403 {
			t.Errorf("%s by root of the outer namespace, which has no rights in the inner one: %v", what, err)
		}
	}
	m.want(0, "https://127.0.0.1:", "page")
	m.want(0, "", "page", "--close")
	var status api.Status
	if err := m.api.Do(t.Context(), "GET", "/v1/status", nil, &status); err != nil {
		t.Fatal(err)
	}
	m.end(syscall.SIGKILL) // the outer process; the inner one ends by itself
	wait.Until(t, "the daemon ends", func() bool { return !exists(fmt.Sprintf("/proc/%d/exe", status.PID)) })
	wait.Until(t, "the namespace is empty", func() bool { return len(inside(space)) == 0 })
	start()
	m.end(syscall.SIGTERM)
}

// TestCapture: a capture has the frames of both directions, in a file that ofi dump reads.
func TestCapture(t *testing.T) {
	m := startFabric(t, "pair")
	file := filepath.Join(m.dir, "c.pcapng")
	cmd := m.command("capture", "n1-n2", file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the capture begins", func() bool { return m.state().Links[0].Capture == file })
	m.want(1, "being captured", "capture", "n1-n2", file+"2")
	m.want(1, "not \"middle\"", "capture", "n1-n2", "--point", "middle", file+"3")
	m.want(1, "no link n1-n3", "capture", "n1-n3", file)
	if exists(file+"2") || exists(file+"3") {
		t.Error("a refused capture leaves a file")
	}
	m.want(1, "being captured", "capture", "n1-n2", file) // and keeps the contents of the file
	const words = "for i in 1 2 3 4 5; do echo hello$i >/dev/udp/10.77.0.2/9; done"
	m.want(0, "", "exec", "n1", "--", "bash", "-c", words)
	wait.Until(t, "all frames pass", func() bool { return m.state().Links[0].AB.Stats.Frames >= 5 })
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r, err := capture.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		p, err := r.Next()
		if err != nil {
			break
		}
		if p.Proto == capture.UDP && p.Dst.Port() == 9 {
			got = append(got, fmt.Sprintf("%v %s", p.Dst.Addr(), strings.TrimSpace(string(p.Payload))))
		}
	}
	if want := "10.77.0.2 hello1,10.77.0.2 hello2,10.77.0.2 hello3,10.77.0.2 hello4,10.77.0.2 hello5"; strings.Join(got, ",") != want {
		t.Errorf("captured %v", got)
	}
	if err := program.Build(m.dir, "gofabric/cmd/ofi"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(filepath.Join(m.dir, "ofi"), "dump", file).CombinedOutput(); err != nil {
		t.Errorf("ofi dump: %v\n%s", err, out)
	}
}

// TestCaptureFull: a capture onto a full disk reports this when it ends. The fabric continues.
func TestCaptureFull(t *testing.T) {
	m := startFabric(t, "pair")
	if err := m.api.Do(t.Context(), "POST", "/v1/emulation/links/n1-n2/capture", api.Capture{File: "/dev/full", Point: "sent"}, nil); err != nil {
		t.Fatal(err)
	}
	const words = "for i in 1 2 3 4 5; do echo hello >/dev/udp/10.77.0.2/9; done"
	m.want(0, "", "exec", "n1", "--", "bash", "-c", words)
	wait.Until(t, "all frames pass", func() bool { return m.state().Links[0].AB.Stats.Frames >= 5 })
	if err := m.api.Do(t.Context(), "DELETE", "/v1/emulation/links/n1-n2/capture", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "no space left") {
		t.Errorf("the end of the capture: %v", err)
	}
	m.want(0, "", "exec", "n1", "--", "bash", "-c", words)
	wait.Until(t, "more frames pass", func() bool { return m.state().Links[0].AB.Stats.Frames >= 10 })
}

// TestNoFabric: commands without a fabric explain how to start one.
func TestNoFabric(t *testing.T) {
	m := newMachine(t)
	m.want(1, "fabricd emulate pair", "link")
	m.want(1, "fabricd emulate pair", "exec", "n1", "--", "true")
	m.want(1, "ready topologies are", "emulate", "no-such.yaml")
	m.want(0, "nodes: [n1, n2, n3, n4]", "topology", "dumbbell")
	m.want(0, "leaf-spine\npair\n", "topology")
}
