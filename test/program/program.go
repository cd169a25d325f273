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

// patience is how long a program may take to say something or to end; it is only waited for when something is broken, or the machine has no time.
// Tests of this package change it.
var patience = 90 * time.Second

// Program is one that has been started.
type Program struct {
	Cmd  *exec.Cmd
	t    testing.TB
	in   io.WriteCloser // of one that is talked to
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
	p.start()
	return p
}

// Talk starts a program that Tell tells what to do. What it answers is on its standard output; the other stream is shown at once, unless cmd says where it goes.
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
		cmd.WaitDelay = 5 * time.Second // for those that it has started and that still hold its streams
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

// ErrSilent says that a program has not printed a line in time.
var ErrSilent = errors.New("it says nothing")

// Next waits for the next line, for no longer than it is told. The error is ErrSilent, or says how the program has ended.
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
		select { // what has happened counts, however short the limit
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
		p.Blame("should have said something, but %v", err)
	}
	return line
}

// Expect waits until the program prints a line with words in it, after the lines that were waited for before, and returns it.
func (p *Program) Expect(words string) string {
	p.t.Helper()
	for end := time.Now().Add(patience); ; {
		left := time.Until(end)
		line, err := p.Next(left)
		switch {
		case err != nil:
			p.Blame("should have said %q, but %v", words, err)
		case strings.Contains(line, words):
			return line
		case left < 0:
			p.Blame("should have said %q, and says other things without end", words)
		}
	}
}

// Tell sends a line to a program that is talked to and has not ended.
func (p *Program) Tell(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.Blame("is told %s: %v", line, err)
	}
}

// Blame ends the test for what a program does not do. If it has not ended, it is made to say what it does instead.
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

// Mute says that what the program has printed explains nothing: a test that fails does not show it.
func (p *Program) Mute() { p.mute = true }

// Done is closed when the program has ended.
func (p *Program) Done() <-chan struct{} { return p.done }

// Wait waits for the program's end, and returns how it was.
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
	if !p.Running() {
		p.Blame("has ended by itself, with %v", p.err)
	}
	p.Signal(syscall.SIGTERM)
	p.Ends()
}

// End sends a program that may have ended a signal, and waits for its end, however that is; late, it is killed.
func (p *Program) End(by syscall.Signal) {
	_ = p.Cmd.Process.Signal(by)
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		p.Kill()
	}
}

// HangUp ends a program that is talked to by ending its input, and wants it to end well. What it has not been asked for is not looked at.
func (p *Program) HangUp() {
	p.t.Helper()
	_ = p.in.Close() // it may have ended
	p.Ends()
}

// Ends waits for the program's end, and wants it to be a good one.
func (p *Program) Ends() {
	p.t.Helper()
	if err := p.Wait(); err != nil {
		p.t.Errorf("%s ended with %v", p.Cmd, err)
	}
}
