package fabricd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/fabricd/api"
	"gofabric/test/need"
	"gofabric/test/program"
	"gofabric/test/wait"
)

// calls are the system calls with which a daemon changes files and sockets.
var calls = []string{"mkdirat", "write", "pwrite64", "fchmod", "fsync", "fdatasync", "renameat", "ftruncate",
	"unlinkat", "flock", "bind", "listen"}

// known are the files that a daemon leaves in its state folder. A killed daemon also leaves files that the next one
// replaces.
var known = regexp.MustCompile(`^(token(\.new)?|tls\.(key|crt)(\.new)?|directory(/(lock|directory\.db(\.new)?))?)$`)

// registerUntilEnd registers names, one after the other, until the daemon has ended or n are registered. It returns
// those that were acknowledged.
func registerUntilEnd(ctx context.Context, c *api.Client, n int) (names []string, err error) {
	for i := range n {
		name := fmt.Sprint("job/", i)
		if err = c.Do(ctx, "PUT", api.NamePath(name),
			api.Registration{Address: strings.Repeat("x", 1000)}, nil); err != nil {
			return names, err
		}
		names = append(names, name)
	}
	return names, nil
}

// mustKnow checks that a daemon has all these names.
func mustKnow(t *testing.T, dir string, names []string) {
	t.Helper()
	c := client(t, dir)
	for _, name := range names {
		if err := c.Do(wait.Context(t), http.MethodGet, api.NamePath(name), nil, new(api.Name)); err != nil {
			t.Errorf("%s, which was acknowledged: %v", name, err)
		}
	}
}

// mustBeWhole checks that the daemon's token and certificate exist, and are unchanged if a client may have seen them.
func mustBeWhole(t *testing.T, state, token string) {
	t.Helper()
	now, err := os.ReadFile(filepath.Join(state, "token"))
	if err != nil || len(now) != 65 || token != "" && string(now) != token {
		t.Errorf("the token was %q and is %q, %v", token, now, err)
	}
	key, err := os.ReadFile(filepath.Join(state, "tls.key"))
	crt, crtErr := os.ReadFile(filepath.Join(state, "tls.crt"))
	if err != nil || crtErr != nil || len(crt) == 0 || !strings.HasSuffix(string(key), string(crt)) {
		t.Errorf("key and certificate do not match: %d and %d bytes, %v, %v", len(key), len(crt), err, crtErr)
	}
	for name, mode := range map[string]os.FileMode{"token": 0o600, "tls.key": 0o600, "tls.crt": 0o644} {
		if info, err := os.Stat(filepath.Join(state, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	err = fs.WalkDir(os.DirFS(state), ".", func(path string, _ fs.DirEntry, err error) error {
		if path != "." && !known.MatchString(path) {
			t.Errorf("%s is still there", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestKilledAtEachCall kills the daemon (SIGKILL) at the first, the second, ... call of each kind that changes files:
// while it makes its folder, token, certificate, directory file and sockets, while it registers names, and while it
// restarts. It must restart in time and have what it acknowledged. By default a few of these; with GOFABRIC_MANY all.
func TestKilledAtEachCall(t *testing.T) {
	strace := need.Programs(t, "strace", "strace")
	runs, most := 0, 2
	if need.Many() {
		most = 1000
	}
	for _, call := range calls {
		for n := 1; n <= most; n++ { // strace counts the calls of each thread
			dir := newDir(t)
			state := filepath.Join(dir, "state")
			args := []string{"run", "--dir", dir, "--listen", "127.0.0.1:0"}
			run := func() (names []string, killed bool) {
				cmd := exec.Command(strace,
					append([]string{"-D", "-f", "-qq", "-o", "/dev/null",
						fmt.Sprintf("--inject=%s:signal=KILL:when=%d", call, n), binary}, args...)...)
				p := program.Start(t, cmd)
				p.Until("the daemon is ready, or killed",
					func() bool { return strings.Contains(p.String(), "msg=ready") || !p.Running() })
				if p.Running() {
					names, _ = registerUntilEnd(within(t, 20*time.Second), client(t, dir), 15)
				}
				select {
				case <-p.Done():
				case <-time.After(50 * time.Millisecond): // the daemon is not inside a call that would kill it
				}
				killed = !p.Running()
				p.Kill()
				return names, killed
			}
			names, killed := run()
			runs++
			token, _ := os.ReadFile(filepath.Join(state, "token"))
			more, again := run() // with the files that the killed daemon left
			p := start(t, dir, args[3:]...)
			mustKnow(t, dir, append(names, more...))
			mustBeWhole(t, state, string(token))
			p.Kill()
			os.RemoveAll(dir)
			if t.Failed() {
				t.Fatalf("killed at call %d of %s", n, call)
			}
			if !killed && !again {
				break
			}
		}
	}
	t.Logf("%d daemons were killed twice", runs)
}

// TestFailedAtEachCall makes the first, the second, ... call of each kind fail with which the directory's file is
// written, once in each thread. Either the daemon does not start and prints why, or it refuses the change, does not
// apply it, and continues without help. After a kill and a restart it has what it acknowledged.
func TestFailedAtEachCall(t *testing.T) {
	strace := need.Programs(t, "strace", "strace")
	most := 3
	if need.Many() {
		most = 60
	}
	refused, ended := 0, 0
	for _, fault := range []string{"pwrite64:error=ENOSPC", "pwrite64:error=EIO", "fdatasync:error=EIO",
		"ftruncate:error=ENOSPC", "fsync:error=EIO", "renameat:error=EIO"} {
		call, _, _ := strings.Cut(fault, ":")
		for n := 1; n <= most; n++ {
			dir := newDir(t)
			trace := filepath.Join(dir, "trace")
			p := program.Start(t, exec.Command(strace, "-D", "-f", "-qq", "-o", trace, "--trace="+call,
				fmt.Sprintf("--inject=%s:when=%d", fault, n), binary, "run", "--dir", dir))
			p.Until("the daemon is ready, or prints why not",
				func() bool { return strings.Contains(p.String(), "msg=ready") || !p.Running() })
			if p.Running() {
				refused += registerThroughFaults(t, dir, p)
			} else if said := p.String(); !strings.Contains(said, "input/output error") &&
				!strings.Contains(said, "no space left") {
				t.Errorf("the daemon ended with %s", said)
			} else {
				ended++
			}
			p.Kill()
			text, err := os.ReadFile(trace)
			if err != nil {
				t.Fatal(err)
			}
			if t.Failed() {
				t.Fatalf("%s, call %d", fault, n)
			}
			if !strings.Contains(string(text), "(INJECTED)") {
				break
			}
		}
	}
	t.Logf("%d changes were refused, %d daemons did not start", refused, ended)
	if refused == 0 || ended == 0 {
		t.Errorf("%d changes were refused, %d daemons did not start", refused, ended)
	}
}

// registerThroughFaults registers names with a daemon whose disk fails at times, kills the daemon, and checks the
// names. It returns how many registrations were refused.
func registerThroughFaults(t *testing.T, dir string, p *program.Program) (refused int) {
	t.Helper()
	c := client(t, dir)
	ctx := wait.Context(t)
	var names []string
	for i := range 30 {
		name := fmt.Sprint("job/", i)
		for {
			err := c.Do(ctx, "PUT", api.NamePath(name), api.Registration{Address: strings.Repeat("x", 1000)}, nil)
			if err == nil {
				break
			}
			if status(err) != 503 {
				t.Errorf("%s: %v", name, err)
				return refused
			}
			refused++
			if err := c.Do(ctx, "GET", api.NamePath(name), nil, new(api.Name)); status(err) != 404 {
				t.Errorf("%s, which was refused: %v", name, err)
			}
			time.Sleep(10 * time.Millisecond) // until the daemon tries again
		}
		names = append(names, name)
	}
	if text := run(t, dir, "status"); strings.Contains(text, "trouble") {
		t.Errorf("status says %s", text)
	}
	mustKnow(t, dir, names)
	p.Kill()
	again := start(t, dir)
	mustKnow(t, dir, names)
	again.Kill()
	return refused
}

// TestDiskOfPages runs daemons on disks of a few pages, one more each time, so that each write is once the one that
// finds no room. A daemon starts, or prints why not. After a kill it restarts although there is still no room, and has
// what it acknowledged. When there is room it accepts changes.
func TestDiskOfPages(t *testing.T) {
	need.Root(t, "a small disk")
	sizes := []int{1, 2, 4, 6, 9, 14, 20, 40}
	if need.Many() {
		sizes = nil
		for n := 1; n <= 80; n++ {
			sizes = append(sizes, n)
		}
	}
	started := 0
	for _, pages := range sizes {
		dir := newDir(t)
		state := filepath.Join(dir, "state")
		if err := os.Mkdir(state, 0o700); err != nil {
			t.Fatal(err)
		}
		mount := func(flags uintptr, pages int) {
			if err := unix.Mount("disk", state, "tmpfs", flags,
				fmt.Sprintf("size=%d,mode=700", pages*os.Getpagesize())); err != nil {
				t.Fatal(err)
			}
		}
		mount(0, pages)
		args := []string{"--listen", "127.0.0.1:0"}
		first := program.Start(t, exec.Command(binary, append([]string{"run", "--dir", dir}, args...)...))
		first.Until("the daemon is ready, or prints why not",
			func() bool { return strings.Contains(first.String(), "msg=ready") || !first.Running() })
		var names []string
		var token string
		if first.Running() {
			started++
			var err error
			if names, err = registerUntilEnd(wait.Context(t), client(t, dir), 500); status(err) != 503 {
				t.Errorf("%d pages: %d names, %v", pages, len(names), err)
			}
			text, _ := os.ReadFile(filepath.Join(state, "token"))
			token = string(text)
			first.Kill()
			p := start(t, dir, args...) // there is still no room
			mustKnow(t, dir, names)
			p.Kill()
		} else if said := first.String(); !strings.Contains(said, "no space left") {
			t.Errorf("%d pages: the daemon ended with %s", pages, said)
		}
		mount(unix.MS_REMOUNT, 1000)
		p := start(t, dir, args...)
		mustKnow(t, dir, names)
		mustBeWhole(t, state, token)
		c := client(t, dir)
		// The daemon tries again after a while.
		for err := c.Do(wait.Context(t), "PUT", api.NamePath("after"), api.Registration{Address: "1"},
			nil); err != nil; time.Sleep(10 * time.Millisecond) {
			if status(err) != 503 {
				t.Fatal(err)
			}
			err = c.Do(wait.Context(t), "PUT", api.NamePath("after"), api.Registration{Address: "1"}, nil)
		}
		p.Kill()
		if err := unix.Unmount(state, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Fatalf("a disk of %d pages", pages)
		}
	}
	t.Logf("%d of %d daemons started at once", started, len(sizes))
	if started == 0 || started == len(sizes) {
		t.Errorf("%d of %d daemons started at once", started, len(sizes))
	}
}

// TestFullRunFolder checks that a killed daemon restarts although the folder of its sockets has no room for another
// file.
func TestFullRunFolder(t *testing.T) {
	need.Root(t, "a small disk")
	dir, state := newDir(t), newDir(t)
	if err := unix.Mount("disk", dir, "tmpfs", 0, "nr_inodes=10,mode=755"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	start(t, dir, "--state-dir", state).Kill()
	for i := 0; ; i++ {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); errors.Is(err, unix.ENOSPC) {
			break
		} else if err != nil || i > 10 {
			t.Fatal(i, err)
		}
	}
	start(t, dir, "--state-dir", state)
	mustAnswer(t, client(t, dir))
}

// TestLogEnds checks that the daemon continues when its log has no reader any more, and when the log's disk is full.
func TestLogEnds(t *testing.T) {
	for what, redirect := range map[string]string{"a pipe": "2> >(exec sed -n '/msg=ready/{p;q}')",
		"a full disk": "2>/dev/full"} {
		dir := newDir(t)
		cmd := exec.Command("bash", "-c", `exec "$0" "$@" `+redirect, binary, "run", "--dir", dir,
			"--log-level", "debug", "--state-dir", "off")
		p := program.Start(t, cmd)
		c := client(t, dir)
		for i := range 20 {
			p.Until("the daemon answers",
				func() bool { return c.Do(within(t, 5*time.Second), "GET", "/v1/status", nil, nil) == nil })
			p.Signal(unix.SIGHUP) // the daemon logs the reload
			if i == 0 && what == "a pipe" {
				p.Expect("msg=ready")
			}
		}
		if !p.Running() {
			t.Errorf("%s: the daemon ended: %s", what, p)
		}
		p.Kill()
	}
}
