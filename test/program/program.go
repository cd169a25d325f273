package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a program may take to print a line or to end. Only a failing test or a busy machine waits that
// long. Tests of this package change it.
var patience = 90 * time.Second

// Program is a program that was started.
type Program struct {
	Cmd  *exec.Cmd
	t    testing.TB
	in   io.WriteCloser // nil unless the program reads commands
	done chan struct{}
	err  error // valid after done
	mute bool
	Output
}

// Start starts cmd and collects its output, from both streams unless cmd redirects them. At the end of the test it
// kills the program, and shows its output if the test has failed.
func Start(t testing.TB, cmd *exec.Cmd) *Program {
	t.Helper()
	p := &Program{Cmd: cmd, t: t, done: make(chan struct{})}
	p.start()
	return p
}

// Talk starts a program that reads commands from its input (Tell). Its answers are its standard output. Standard error
// is shown at once, unless cmd redirects it.
func Talk(t testing.TB, cmd *exec.Cmd) *Program {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	p := &Program{Cmd: cmd, t: t, in: in, done: make(chan struct{})}
	p.start()
	return p
}

func (p *Program) start() {
	p.t.Helper()
	cmd := p.Cmd
	if cmd.Stdout == nil {
		cmd.Stdout = p
	}
	if cmd.Stderr == nil {
		cmd.Stderr = p
	}
	if cmd.WaitDelay == 0 {
		cmd.WaitDelay = 5 * time.Second // for children that still hold its streams
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatalf("%s: %v", cmd, err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	p.t.Cleanup(func() {
		if p.Kill(); p.t.Failed() && !p.mute {
			p.t.Logf("%s printed:\n%s", cmd, p)
		}
	})
}

// ErrSilent means that a program has not printed a line in time.
var ErrSilent = errors.New("it prints nothing")

// Next waits for the next line, at most for within. The error is ErrSilent, or tells how the program has ended.
func (p *Program) Next(within time.Duration) (string, error) {
	var limit <-chan time.Time
	for ended := false; ; {
		line, more := p.next()
		if more == nil {
			return line, nil
		}
		if ended {
			return "", fmt.Errorf("it ended with %v", p.err)
		}
		select { // what has happened already counts, with any time limit
		case <-more:
			continue
		case <-p.done:
			ended = true
			continue
		default:
		}
		if within <= 0 {
			return "", ErrSilent
		}
		if limit == nil {
			limit = time.After(within)
		}
		select {
		case <-more:
		case <-p.done:
			ended = true
		case <-limit:
			return "", ErrSilent
		}
	}
}

// Line waits for the next line.
func (p *Program) Line() string {
	p.t.Helper()
	line, err := p.Next(patience)
	if err != nil {
		p.Blame("should have printed a line, but %v", err)
	}
	return line
}

// Expect waits until the program prints a line that contains words, after the lines that were waited for before. It
// returns the line.
func (p *Program) Expect(words string) string {
	p.t.Helper()
	for end := time.Now().Add(patience); ; {
		left := time.Until(end)
		line, err := p.Next(left)
		switch {
		case err != nil:
			p.Blame("should have printed %q, but %v", words, err)
		case strings.Contains(line, words):
			return line
		case left < 0:
			p.Blame("should have printed %q, but keeps printing other lines", words)
		}
	}
}

// Tell sends a command line to a program that was started with Talk and has not ended.
func (p *Program) Tell(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.Blame("does not read the command %q: %v", line, err)
	}
}

// Blame fails and ends the test because of the program. If the program still runs, it gets SIGQUIT, so that it prints
// its goroutines.
func (p *Program) Blame(format string, args ...any) {
	p.t.Helper()
	if p.Running() {
		_ = p.Cmd.Process.Signal(syscall.SIGQUIT) // it may have ended
		select {
		case <-p.done:
		case <-time.After(2 * time.Second):
		}
	}
	p.t.Fatalf("%s "+format, append([]any{p.Cmd}, args...)...)
}

// Mute keeps the program's output out of the report of a failed test, because it would not help.
func (p *Program) Mute() { p.mute = true }

// Done is closed when the program has ended.
func (p *Program) Done() <-chan struct{} { return p.done }

// Wait waits until the program ends, and returns its error.
func (p *Program) Wait() error {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.Blame("does not end")
	}
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

// Signal sends a signal to a program, which must be running.
func (p *Program) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%s: %v", p.Cmd, err)
	}
}

// Kill kills the program, with its process group if it has one of its own. It may have ended.
func (p *Program) Kill() {
	if a := p.Cmd.SysProcAttr; a != nil && a.Setpgid && p.Running() {
		_ = syscall.Kill(-p.Cmd.Process.Pid, syscall.SIGKILL)
	}
	_ = p.Cmd.Process.Kill()
	<-p.done
}

// Stop ends the program as systemd does. It fails the test unless the program exits with status 0.
func (p *Program) Stop() {
	p.t.Helper()
	if !p.Running() {
		p.Blame("ended before it was stopped, with %v", p.err)
	}
	p.Signal(syscall.SIGTERM)
	p.Ends()
}

// End sends a signal to a program, which may have ended, and waits until it ends with any status. After a time-out it
// kills the program.
func (p *Program) End(by syscall.Signal) {
	_ = p.Cmd.Process.Signal(by)
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		p.Kill()
	}
}

// HangUp closes the input of a program that reads commands, and waits until it ends. It fails the test unless the
// program exits with status 0. Output that was not read is ignored.
func (p *Program) HangUp() {
	p.t.Helper()
	_ = p.in.Close() // it may have ended
	p.Ends()
}

// Ends waits until the program ends. It fails the test unless the program exits with status 0.
func (p *Program) Ends() {
	p.t.Helper()
	if err := p.Wait(); err != nil {
		p.t.Errorf("%s ended with %v", p.Cmd, err)
	}
}
