package program

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gofabric/internal/tcpport"
	"gofabric/test/need"
)

// TestExpect checks that lines are found in their order, in any pieces, and each once.
func TestExpect(t *testing.T) {
	p := Start(t, exec.Command("sh", "-c",
		"echo one; printf tw; sleep 0.01; echo o >&2; echo one more; exec sleep 100"))
	p.Expect("one")
	p.Expect("two")
	p.Expect("one")
	if got := p.String(); got != "one\ntwo\none more\n" || !p.Running() {
		t.Errorf("printed %q, running: %v", got, p.Running())
	}
	if line, err := p.Next(time.Millisecond); err != ErrSilent {
		t.Errorf("it prints more: %q, %v", line, err)
	}
}

// TestTalk checks that each line is answered, in order, and that silence, the end of the program and a failure have
// different errors.
func TestTalk(t *testing.T) {
	p := Talk(t, exec.Command("sh", "-c", "while read a b; do echo $b $a; done"))
	if _, err := p.Next(0); err != ErrSilent {
		t.Errorf("before the first command: %v", err)
	}
	p.Tell("one 2")
	p.Tell("three four")
	if a, b := p.Line(), p.Line(); a != "2 one" || b != "four three" {
		t.Errorf("it prints %q and %q", a, b)
	}
	p.HangUp()
	if _, err := p.Next(0); err == nil || err == ErrSilent {
		t.Errorf("after its end: %v", err)
	}
	p = Talk(t, exec.Command("sh", "-c", "read a; printf 'last\nhalf'; exit 3"))
	p.Tell("go")
	if line := p.Expect("as"); line != "last" {
		t.Errorf("it prints %q", line)
	}
	if _, err := p.Next(patience); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("after a failure: %v", err)
	}
}

// TestBuild builds a command, and builds it again from the cache.
func TestBuild(t *testing.T) {
	for range 2 {
		dir := t.TempDir()
		if err := Build(dir, "gofabric/cmd/ofi"); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(filepath.Join(dir, "ofi"), "info", "--version").CombinedOutput(); err != nil ||
			!strings.Contains(string(out), "libfabric") {
			t.Errorf("%v\n%s", err, out)
		}
	}
	if err := Build(t.TempDir(), "gofabric/core"); err == nil {
		t.Error("a package that is not a command was built")
	}
}

// TestEnds ends programs that succeed, that fail, and that have started others.
func TestEnds(t *testing.T) {
	p := Start(t, exec.Command("sh", "-c", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done"))
	p.Expect("up")
	p.Stop()
	if p.Expect("bye"); p.Running() || p.Wait() != nil {
		t.Errorf("it ended with %v", p.Wait())
	}
	p = Start(t, exec.Command("sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.01; done"))
	p.Expect("up")
	go p.Kill()
	p.End(syscall.SIGTERM)
	if p.End(syscall.SIGTERM); p.Running() {
		t.Error("it still runs")
	}
	if err := Start(t, exec.Command("false")).Wait(); err == nil {
		t.Error("false succeeded")
	}
	group := exec.Command("sh", "-c", "sleep 100 & echo $!; wait")
	group.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p = Start(t, group)
	p.Line()
	began := time.Now()
	if p.Kill(); time.Since(began) > time.Minute || strings.TrimSpace(p.String()) == "" {
		t.Errorf("%q kept running and held the stream for %v", p, time.Since(began))
	}
}

// TestPatience checks that every wait for a program ends.
func TestPatience(t *testing.T) {
	before := patience
	patience = 50 * time.Millisecond
	defer func() { patience = before }()
	for _, c := range []struct {
		want, script string
		do           func(p *Program)
	}{
		{"does not end", "exec sleep 100", func(p *Program) { _ = p.Wait() }},
		{"does not end", "exec sleep 100", (*Program).HangUp},
		{"does not end", "trap '' TERM; echo up; while :; do sleep 0.01; done",
			func(p *Program) { p.Next(before); p.Stop() }},
		{"should have printed a line, but it prints nothing", "exec sleep 100", func(p *Program) { p.Line() }},
		{"runs, but not within 50ms: the event", "exec sleep 100", func(p *Program) { p.Until("the event", never) }},
		{`should have printed "up", but it prints nothing`, "echo down; exec sleep 100",
			func(p *Program) { p.Expect("up") }},
	} {
		if said := failureOf(t, c.script, c.do); !strings.HasSuffix(said, c.want) {
			t.Errorf("the test fails with %q, want %q", said, c.want)
		}
	}
}

// never is a condition that is never true.
func never() bool { return false }

// failureOf returns the failure of a test that does something with a program.
func failureOf(t *testing.T, script string, do func(p *Program)) string {
	w := &wary{T: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(Talk(w, exec.Command("sh", "-c", script)))
	}()
	<-done
	return w.said
}

// wary is a test that records its failure.
type wary struct {
	*testing.T
	said string
}

func (w *wary) Errorf(format string, args ...any) { w.said = fmt.Sprintf(format, args...) }

func (w *wary) Fatalf(format string, args ...any) {
	w.Errorf(format, args...)
	runtime.Goexit()
}

// TestFailures checks that a test fails if its program fails, ends early, or does not print what it should, and that a
// program that hangs gets SIGQUIT.
func TestFailures(t *testing.T) {
	const loop = "echo up; while :; do sleep 0.01; done"
	for want, c := range map[string]struct {
		script string
		do     func(p *Program)
	}{
		"ended with exit status 3": {"trap 'exit 3' TERM; " + loop, (*Program).Stop},
		"ended before it was stopped, with exit status 4": {"echo up; exit 4",
			func(p *Program) { _ = p.Wait(); p.Stop() }},
		`should have printed "down", but it ended with exit status 5`: {"echo up; exit 5",
			func(p *Program) { p.Expect("down") }},
		"ended with exit status 6 before the event": {"echo up; exit 6",
			func(p *Program) { p.Until("the event", never) }},
		"should have printed a line, but it ended with <nil>": {"echo up", func(p *Program) { p.Line() }},
		"sleeps": {"trap 'echo in a loop; exit' QUIT; " + loop, func(p *Program) { p.Blame("sleeps") }},
		"does not read the command \"more\": write |1: broken pipe": {"exec 0<&-; " + loop,
			func(p *Program) { p.Tell("more") }},
	} {
		var p *Program
		said := failureOf(t, c.script, func(started *Program) {
			p = started
			p.Expect("up")
			c.do(p)
		})
		if !strings.HasSuffix(said, want) {
			t.Errorf("the test fails with %q, want %q", said, want)
		}
		if want == "sleeps" && !strings.Contains(p.String(), "in a loop") {
			t.Errorf("the program did not get SIGQUIT: %q", p)
		}
	}
}

// TestAwaitListener waits for a server that starts to listen late, and does not wait for one that ends before it
// listens.
func TestAwaitListener(t *testing.T) {
	port := FreePort(t)
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	if _, visible := tcpport.Listening(number); !visible {
		need.Missing(t, "/proc/net/tcp, which lists listening sockets")
	}
	began := make(chan net.Listener, 1)
	time.AfterFunc(20*time.Millisecond, func() {
		l, err := net.Listen("tcp", ":"+port)
		if err != nil {
			t.Error(err)
		}
		began <- l
	})
	Start(t, exec.Command("sleep", "100")).AwaitListener(port)
	if ready, _ := tcpport.Listening(number); !ready {
		t.Error("AwaitListener did not wait")
	}
	if l := <-began; l != nil {
		l.Close()
	}
	Start(t, exec.Command("true")).AwaitListener(port)
	before := patience
	patience = 50 * time.Millisecond
	defer func() { patience = before }()
	said := failureOf(t, "exec sleep 100", func(p *Program) { p.AwaitListener(port) })
	if want := "runs, but no process listens at port " + port + " within 50ms"; !strings.HasSuffix(said, want) {
		t.Errorf("the test fails with %q, want %q", said, want)
	}
}
