package boot

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"gofabric/test/program"
)

// daemon starts a program that the test ends, or end before it.
func daemon(t *testing.T, env []string, name string, args ...string) (end func(syscall.Signal)) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := program.Start(t, cmd)
	end = func(by syscall.Signal) {
		_ = p.Cmd.Process.Signal(by) // it may have ended
		select {
		case <-p.Done():
		case <-time.After(10 * time.Second):
			p.Kill()
		}
	}
	t.Cleanup(func() { end(syscall.SIGTERM) })
	return end
}
