package fabricd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
	"gofabric/test/need"
	"gofabric/test/program"
	"gofabric/test/wait"
)

var sockets = []string{fabricd.API, fabricd.Stats}

const (
	other     = 65532                 // a uid
	envHammer = "FABRICD_TEST_HAMMER" // a folder; this process connects to its sockets until its input ends
)

func init() { roles = append(roles, asHammer, asOccupant) }

// asHammer runs a process that keeps trying to connect, and prints each error once. It reports whether this process
// has that role.
func asHammer() bool {
	dir := os.Getenv(envHammer)
	if dir == "" {
		return false
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = os.Stdin.Read(make([]byte, 1))
	}()
	seen, said := map[string]bool{}, false
	for {
		for _, name := range sockets {
			conn, err := net.Dial("unix", filepath.Join(dir, name))
			what := "connected"
			if err == nil {
				conn.Close()
			} else if errno := syscall.Errno(0); errors.As(err, &errno) {
				what = unix.ErrnoName(errno)
			} else {
				what = err.Error()
			}
			seen[what] = true
		}
		if !said {
			said = true
			fmt.Println("ready")
		}
		select {
		case <-ended:
			for what := range seen {
				fmt.Println("saw", what)
			}
			fmt.Println("end")
			return true
		default:
		}
	}
}

// myself returns a copy of the test's program that other users may run.
func myself(t *testing.T) string {
	t.Helper()
	need.Root(t, "a test with several users")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self) // other users cannot read the test's own folder
	if err != nil {
		t.Fatal(err)
	}
	path := newDir(t) + "/client"
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// asOther returns a command that runs the test's program as another user.
func asOther(path string, env ...string) *exec.Cmd {
	cmd := exec.Command(path)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: other, Gid: other}}
	return cmd
}

// umask returns a command that runs with a umask.
func umask(mask string, command ...string) *exec.Cmd {
	return exec.Command("/bin/sh", append([]string{"-c", "umask " + mask + ` && exec "$0" "$@"`}, command...)...)
}

// TestSocketModes stops the daemon for a while before each listen(2). With any umask the socket has its mode by then.
func TestSocketModes(t *testing.T) {
	strace := need.Programs(t, "strace", "strace")
	before := map[string]int{} // how often the test saw a socket before the daemon listened
	for _, mask := range []string{"0000", "0022", "0077"} {
		dir := newDir(t)
		cmd := umask(mask, strace, "-D", "-f", "-qq", "-o", "/dev/null",
			"--inject=listen:delay_enter=200000", binary, "run", "--dir", dir)
		p := &process{program.Start(t, cmd), t, dir}
		for _, name := range sockets {
			var info os.FileInfo
			p.Until("the socket "+name, func() (there bool) {
				var err error
				info, err = os.Lstat(filepath.Join(dir, name))
				return err == nil
			})
			if conn, err := net.Dial("unix", filepath.Join(dir, name)); err == nil {
				conn.Close() // the test was late
			} else if errors.Is(err, unix.ECONNREFUSED) {
				before[name]++
			} else {
				t.Errorf("umask %s: connecting to %s: %v", mask, name, err)
			}
			if mode := info.Mode().Perm(); mode != 0o666 {
				t.Errorf("umask %s: %s has mode %o before it listens", mask, name, mode)
			}
		}
		p.Expect("msg=ready")
		p.Kill()
	}
	for _, name := range sockets {
		if before[name] == 0 {
			t.Errorf("the test never saw %s before the daemon listened", name)
		}
	}
}

// TestConnectMeanwhile has another user try to connect all the time while daemons start, are killed, start and end.
// Either there is no socket, no daemon listens, or the user is connected. It is never refused for the mode of the
// socket.
func TestConnectMeanwhile(t *testing.T) {
	dir := newDir(t)
	hammer := program.Talk(t, asOther(myself(t), envHammer+"="+dir))
	if line := hammer.Line(); line != "ready" {
		t.Fatal(line)
	}
	for range 5 {
		startCommand(t, dir, umask("0022", binary, "run", "--dir", dir)).Kill()
		startCommand(t, dir, umask("0077", binary, "run", "--dir", dir)).Stop()
	}
	hammer.HangUp()
	connected := false
	for line := range strings.Lines(hammer.String()) {
		switch line = strings.TrimSpace(line); line {
		case "ready", "end", "saw ENOENT", "saw ECONNREFUSED", "saw EAGAIN": // EAGAIN: too many at once
		case "saw connected":
			connected = true
		default:
			t.Errorf("connecting %s", line)
		}
	}
	if !connected {
		t.Errorf("the other user never connected: %s", hammer)
	}
}

// refuses runs a daemon that must refuse to start.
func refuses(t *testing.T, says string, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(within(t, 20*time.Second), binary,
		append([]string{"run"}, args...)...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), says) {
		t.Errorf("%v: %v, %q; want %q", args, err, out, says)
	}
}

// TestForeignFolder checks that the daemon refuses to start, and changes nothing, if another user has made the folder
// or a link to it, if others may write to the folder, or if a file is in the place of a socket.
func TestForeignFolder(t *testing.T) {
	need.Root(t, "a test with several users")
	top := newDir(t)
	if err := os.Chmod(top, 0o777|os.ModeSticky); err != nil { // as /tmp
		t.Fatal(err)
	}
	mine := newDir(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	made, link, open, file := filepath.Join(top, "made"), filepath.Join(top, "link"),
		filepath.Join(top, "open"), filepath.Join(top, "file")
	must(os.Mkdir(made, 0o755))
	must(os.Lchown(made, other, other))
	must(os.Symlink(mine, link))
	must(os.Lchown(link, other, other))
	must(os.Mkdir(open, 0o755))
	must(os.Chmod(open, 0o777))
	must(os.Mkdir(file, 0o755))
	must(os.WriteFile(filepath.Join(file, fabricd.API), []byte("precious"), 0o600))
	refuses(t, fmt.Sprintf("%s belongs to uid %d", made, other), "--dir", made)
	refuses(t, fmt.Sprintf("%s belongs to uid %d", link, other), "--dir", link)
	refuses(t, "other users may write to "+open, "--dir", open)
	refuses(t, "is not a socket", "--dir", file, "--state-dir", "off")
	refuses(t, "the state folder: "+made, "--dir", mine, "--state-dir", made)
	refuses(t, "the state folder: other users may write to "+open, "--dir", mine, "--state-dir", open)
	// A folder may have the lock of the daemon, and what was there before.
	for dir, want := range map[string]int{made: 0, open: 0, mine: 0, file: 2} {
		if names, err := os.ReadDir(dir); err != nil || len(names) != want {
			t.Errorf("%s has %v, %v", dir, names, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(file, fabricd.API)); err != nil || string(text) != "precious" {
		t.Errorf("the file in the place of the socket: %q, %v", text, err)
	}
	for _, dir := range []string{made, link, open} { // clients do not trust them either
		t.Setenv(fabricd.EnvDir, dir)
		start := exec.Command(binary, "status")
		if out, err := start.CombinedOutput(); err == nil || !strings.Contains(string(out), api.ErrNoDaemon.Error()) {
			t.Errorf("fabricd status with %s: %v, %s", dir, err, out)
		}
	}
}

// TestOwnLink checks that the daemon accepts this user's own link to a folder of its own.
func TestOwnLink(t *testing.T) {
	dir := newDir(t)
	link := filepath.Join(newDir(t), "l")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	startCommand(t, link, exec.Command(binary, "run", "--dir", link))
	t.Setenv(fabricd.EnvDir, link)
	if out, err := exec.Command(binary, "status").CombinedOutput(); err != nil {
		t.Errorf("%v, %s", err, out)
	}
}

// TestTwoAtOnce starts several daemons at once in a folder where a killed one has left its sockets. One of them runs.
// The others print why they do not, and take nothing from it. A daemon that is stopped (SIGSTOP) counts as running.
func TestTwoAtOnce(t *testing.T) {
	dir := newDir(t)
	start(t, dir).Kill()
	if _, err := os.Lstat(filepath.Join(dir, fabricd.API)); err != nil {
		t.Fatalf("a killed daemon leaves its socket: %v", err)
	}
	var all []*program.Program
	for range 6 {
		all = append(all, program.Start(t, exec.Command(binary, "run", "--dir", dir, "--state-dir", "off")))
	}
	var winner *program.Program
	wait.Until(t, "one of the daemons is ready, the others have ended", func() bool {
		running := 0
		for _, p := range all {
			if p.Running() {
				running, winner = running+1, p
			}
		}
		return running == 0 || running == 1 && strings.Contains(winner.String(), "msg=ready")
	})
	if winner == nil || !winner.Running() {
		t.Fatal("none of the daemons runs")
	}
	mustAnswer(t, client(t, dir))
	winner.Signal(syscall.SIGSTOP)
	refuses(t, "another fabricd serves", "--dir", dir, "--state-dir", "off")
	winner.Signal(syscall.SIGCONT)
	mustAnswer(t, client(t, dir))
	for _, p := range all {
		if p != winner && !strings.Contains(p.String(), "another fabricd serves") {
			t.Errorf("one of the daemons ended with %s", p)
		}
	}
}

// TestSystemdModes checks that the daemon does not change the modes of systemd's sockets.
func TestSystemdModes(t *testing.T) {
	s := newSupervisor(t)
	path := filepath.Join(s.dir, fabricd.API)
	if err := os.Chmod(path, 0o660); err != nil {
		t.Fatal(err)
	}
	s.start()
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("systemd's socket has mode %v, %v", info.Mode(), err)
	}
	if os.Geteuid() == 0 {
		hammer := program.Talk(t, asOther(myself(t), envHammer+"="+s.dir))
		if line := hammer.Line(); line != "ready" {
			t.Fatal(line)
		}
		hammer.HangUp()
		if said := hammer.String(); !strings.Contains(said, "saw EACCES") {
			t.Errorf("a user without access to the socket: %s", said)
		}
	}
}
