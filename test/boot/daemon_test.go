package boot

import (
	"os/exec"
	"syscall"
	"testing"

	"gofabric/test/program"
)

// daemon starts a program that the test ends, or end before it.
func daemon(t *testing.T, env []string, name string, args ...string) func(syscall.Signal) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := program.Start(t, cmd)
	t.Cleanup(func() { p.End(syscall.SIGTERM) })
	return p.End
}
