// Package program builds and runs programs for tests: what they print can be read and waited for at any time, and none outlives its test.
package program

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a program may take to say something or to end; it is only waited for when something is broken.
const patience = 30 * time.Second

// Build builds commands of this module, such as gofabric/cmd/fi, into a folder, without cgo, as they are packed.
func Build(dir string, commands ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-o", dir + "/"}, commands...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", strings.Join(commands, " "), err, out)
	}
	return nil
}

// Program is one that has been started.
type Program struct {
	Cmd  *exec.Cmd
	t    testing.TB
	done chan struct{}
	err  error // valid after done
	mute bool
	Output
}

// Start starts cmd and collects what it prints, on both streams unless cmd says where they go. At the end of the test it is killed, and a test that has failed
// shows what it has printed.
func Start(t testing.TB, cmd *exec.Cmd) *Program {
	t.Helper()
	p := &Program{Cmd: cmd, t: t, done: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = p
	}
	if cmd.Stderr == nil {
		cmd.Stderr = p
	}
	if cmd.WaitDelay == 0 {
		cmd.WaitDelay = 5 * time.Second // for those that it has started and that still hold its streams
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		if p.Kill(); t.Failed() && !p.mute {
			t.Logf("%s printed:\n%s", cmd, p)
		}
	})
	return p
}

// Expect waits until the program prints a line with words in it, after the line that it was expected to print before.
func (p *Program) Expect(words string) {
	p.t.Helper()
	limit := time.After(patience)
	for ended := false; ; {
		found, more := p.next(words)
		if found {
			return
		}
		if ended {
			p.t.Fatalf("%s ended with %v instead of printing %q", p.Cmd, p.err, words)
		}
		select {
		case <-more:
		case <-p.done:
			ended = true
		case <-limit:
			p.t.Fatalf("%s did not print %q", p.Cmd, words)
		}
	}
}

// Mute says that what the program has printed explains nothing: a test that fails does not show it.
func (p *Program) Mute() { p.mute = true }

// Done is closed when the program has ended.
func (p *Program) Done() <-chan struct{} { return p.done }

// Wait waits for the program's end, and returns how it was.
func (p *Program) Wait() error {
	<-p.done
	return p.err
}

// Running reports whether the program has not ended.
func (p *Program) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Signal sends a signal to a program that must be running.
func (p *Program) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%s: %v", p.Cmd, err)
	}
}

// Kill ends the program at once, and its process group if it has one of its own. It may have ended.
func (p *Program) Kill() {
	if a := p.Cmd.SysProcAttr; a != nil && a.Setpgid && p.Running() {
		_ = syscall.Kill(-p.Cmd.Process.Pid, syscall.SIGKILL)
	}
	_ = p.Cmd.Process.Kill()
	<-p.done
}

// Stop ends the program as systemd does, and wants it to end well.
func (p *Program) Stop() {
	p.t.Helper()
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		if p.err != nil {
			p.t.Errorf("%s ended with %v", p.Cmd, p.err)
		}
	case <-time.After(patience):
		p.t.Fatalf("%s does not end", p.Cmd)
	}
}

// Until waits for something that comes about by itself.
func Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// FreeAddress is an address on loopback where nobody listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// FreePort is a port at which nobody listens, at any address.
func FreePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp4", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
