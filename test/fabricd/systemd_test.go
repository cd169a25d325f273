package fabricd

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
	"gofabric/internal/telemetry"
	"gofabric/internal/telemetry/report"
	"gofabric/test/need"
	"gofabric/test/program"
	"gofabric/test/wait"
)

// supervisor acts as systemd: it holds the socket, and receives the daemon's notifications (sd_notify(3)).
type supervisor struct {
	t      *testing.T
	dir    string
	api    *os.File
	notify *net.UnixConn
}

func newSupervisor(t *testing.T) *supervisor {
	t.Helper()
	s := &supervisor{t: t, dir: newDir(t)}
	l, err := net.Listen("unix", filepath.Join(s.dir, "api.sock"))
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	defer l.Close()
	if s.api, err = l.(*net.UnixListener).File(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.api.Close() })
	s.notify, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(s.dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.notify.Close() })
	return s
}

// start starts the daemon with the socket as descriptor 3. LISTEN_PID is the daemon's process (sd_listen_fds(3)).
func (s *supervisor) start(args ...string) *process {
	s.t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{"-c", `export LISTEN_PID=$$; exec "$0" "$@"`, binary, "run", "--dir", s.dir}, args...)...)
	cmd.ExtraFiles = []*os.File{s.api}
	cmd.Env = append(os.Environ(), "LISTEN_FDS=1",
		"NOTIFY_SOCKET="+filepath.Join(s.dir, "notify"), "WATCHDOG_USEC=300000")
	return startCommand(s.t, s.dir, cmd)
}

// hear waits for a notification that contains what.
func (s *supervisor) hear(what string) {
	s.t.Helper()
	_ = s.notify.SetReadDeadline(wait.End())
	buf := make([]byte, 4096)
	for {
		n, err := s.notify.Read(buf)
		if err != nil {
			s.t.Fatalf("the daemon did not send %s: %v", what, err)
		}
		if strings.Contains(string(buf[:n]), what) {
			return
		}
	}
}

// TestSystemd checks that a client that connects while the daemon is down is served when it runs again, and that the
// daemon sends its notifications.
func TestSystemd(t *testing.T) {
	s := newSupervisor(t)
	c := client(t, s.dir)
	served := make(chan error, 1)
	go func() {
		served <- c.Do(within(t, time.Minute), "PUT", api.NamePath("early"), api.Registration{Address: "1"}, nil)
	}()
	p := s.start()
	s.hear("READY=1")
	if err := <-served; err != nil {
		t.Errorf("a client that connected before the daemon started: %v", err)
	}
	s.hear("WATCHDOG=1")
	p.Signal(syscall.SIGHUP)
	s.hear("RELOADING=1\nMONOTONIC_USEC=")
	s.hear("READY=1")
	p.Kill()
	go func() { served <- c.Do(within(t, time.Minute), "GET", api.NamePath("early"), nil, nil) }()
	p = s.start()
	if err := <-served; err != nil {
		t.Errorf("a client that connected between two daemons: %v", err)
	}
	p.Stop()
	s.hear("STOPPING=1")
	if _, err := os.Stat(filepath.Join(s.dir, "api.sock")); err != nil {
		t.Errorf("the daemon removed systemd's socket: %v", err)
	}
}

// TestActivation has systemd's own tool hold the sockets, in another order than the daemon's, and start the daemon
// when a client connects. The daemon serves every socket.
func TestActivation(t *testing.T) {
	activate := need.Programs(t, "systemd", "systemd-socket-activate")
	dir := newDir(t)
	listen := func(name string) string { return "--listen=" + filepath.Join(dir, name) }
	cmd := exec.Command(activate, listen(fabricd.Stats), listen(fabricd.API),
		"--setenv=PATH", binary, "run", "--dir", dir)
	t.Cleanup(program.Start(t, cmd).Stop) // at its end this is the daemon's process
	var early net.Conn
	wait.Until(t, "the tool listens", func() bool {
		var err error
		early, err = net.Dial("unix", filepath.Join(dir, fabricd.Stats))
		return err == nil
	})
	defer early.Close()
	hello := &telemetry.Process{Version: telemetry.Version, Name: "early"}
	if err := report.WriteFrame(early, report.Reply{Process: hello}, report.MaxFrame); err != nil {
		t.Fatal(err)
	}
	var q report.Request
	if err := report.ReadFrame(early, &q, report.MaxRequest); err != nil || q.Seq == 0 {
		t.Errorf("the process that connected before the daemon started: asked %+v, %v", q, err)
	}
	var status api.Status
	if err := client(t, dir).Do(within(t, time.Minute), "GET", "/v1/status", nil, &status); err != nil ||
		status.PID != cmd.Process.Pid {
		t.Errorf("%+v, %v", status, err)
	}
}

// TestReload changes limits while the daemon runs. A file with an error changes nothing.
func TestReload(t *testing.T) {
	dir := newDir(t)
	file := filepath.Join(dir, "fabricd.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("entries: 2\nlog-level: debug\n")
	p := start(t, dir, "--config", file)
	c := client(t, dir)
	put := func(i, want int) {
		t.Helper()
		err := c.Do(within(t, time.Minute), "PUT", api.NamePath(fmt.Sprint("n/", i)),
			api.Registration{Address: "1"}, nil)
		if status(err) != want {
			t.Errorf("name %d: %v, want %d", i, err, want)
		}
	}
	put(1, 0)
	put(2, 0)
	put(3, 507)
	reload := func(text, says string) {
		t.Helper()
		write(text)
		p.Signal(syscall.SIGHUP)
		p.Expect(says)
	}
	reload("entries: 3\n", "msg=reloaded")
	put(3, 0)
	put(4, 507)
	reload("entries: 4\ncolour: red\n", "the configuration stays as it was")
	put(4, 507)
	reload("entries: many\n", "the configuration stays as it was")
	reload("entries: 4\nstate-dir: /nowhere\n", "this setting changes at the next start only")
	p.Expect("msg=reloaded")
	put(4, 0)
	reload("etcd: ['http://127.0.0.1:1']\n", "this setting changes at the next start only\" setting=etcd")
	p.Expect("msg=reloaded")
	reload("log-format: json\n", "this setting changes at the next start only\" setting=log-format")
	p.Expect("msg=reloaded")
}

// TestSettings checks that flags override the environment, that the environment overrides the file, and that invalid
// values are refused.
func TestSettings(t *testing.T) {
	dir := newDir(t)
	file := filepath.Join(dir, "fabricd.yaml")
	if err := os.WriteFile(file, []byte("entries: 1\nbytes: 600\nconnections: 9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "run", "--dir", dir, "--config", file, "--entries", "3")
	cmd.Env = append(os.Environ(), "FABRICD_BYTES=1000000", "FABRICD_ENTRIES=2")
	startCommand(t, dir, cmd)
	c := client(t, dir)
	for i := range 4 {
		err := c.Do(within(t, time.Minute), "PUT", api.NamePath(fmt.Sprint("n/", i)),
			api.Registration{Address: "1"}, nil)
		if (err != nil) != (i == 3) {
			t.Errorf("name %d of 3: %v", i, err)
		}
	}
	for _, bad := range [][]string{
		{"--dir", filepath.Join(dir, strings.Repeat("x", 108))},
		{"--connections", "0"}, {"--entries=-1"}, {"--log-level", "loud"}, {"--log-format", "xml"},
		{"--tls-cert", "x"}, {"--config", "/nowhere"}, {"--listen", "127.0.0.1:0", "--tokens", "/nowhere"},
		{"--etcd", "http://127.0.0.1:1", "--etcd-cert", "x"},
	} {
		out, err := exec.Command(binary, append([]string{"run", "--dir", newDir(t)}, bad...)...).CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), "fabricd: ") {
			t.Errorf("%v: %v, %s", bad, err, out)
		}
	}
}
