package program

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestExpect: lines are found in their order, however they come, and each once.
func TestExpect(t *testing.T) {
	p := Start(t, exec.Command("sh", "-c", "echo one; printf tw; sleep 0.01; echo o >&2; echo one more; sleep 100"))
	p.Expect("one")
	p.Expect("two")
	p.Expect("one")
	if got := p.String(); got != "one\ntwo\none more\n" || !p.Running() {
		t.Errorf("printed %q, running: %v", got, p.Running())
	}
	if found, _ := p.next("one"); found {
		t.Error("a line is found twice")
	}
}

// TestEnds: a program ends well, badly, and together with what it has started.
func TestEnds(t *testing.T) {
	p := Start(t, exec.Command("sh", "-c", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done"))
	p.Expect("up")
	p.Stop()
	if p.Expect("bye"); p.Running() || p.Wait() != nil {
		t.Errorf("it ended with %v", p.Wait())
	}
	if err := Start(t, exec.Command("false")).Wait(); err == nil {
		t.Error("false ended well")
	}
	group := exec.Command("sh", "-c", "sleep 100 & echo $!; wait")
	group.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p = Start(t, group)
	p.Expect("")
	began := time.Now()
	if p.Kill(); time.Since(began) > 3*time.Second || strings.TrimSpace(p.String()) == "" {
		t.Errorf("%q lived on and held the stream for %v", p, time.Since(began))
	}
}
