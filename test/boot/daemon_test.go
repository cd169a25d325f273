package boot

import (
	"os/exec"
	"syscall"
	"testing"

	"gofabric/test/program"
)

// daemon starts a program and ends it with the test.
func daemon(t *testing.T, env []string, name string, args ...string) *program.Program {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := program.Start(t, cmd)
	t.Cleanup(func() { p.End(syscall.SIGTERM) })
	return p
}
