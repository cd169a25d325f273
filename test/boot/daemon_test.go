package boot

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// daemon starts a program that the test ends, or end before it.
func daemon(t *testing.T, env []string, name string, args ...string) (end func(syscall.Signal)) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.CreateTemp(work, filepath.Base(name))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	out.Close()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	end = func(by syscall.Signal) {
		cmd.Process.Signal(by)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-ended
		}
	}
	t.Cleanup(func() {
		end(syscall.SIGTERM)
		if text, _ := os.ReadFile(out.Name()); t.Failed() {
			t.Logf("%s: %s", name, text)
		}
	})
	return end
}

// until waits for something that comes by itself.
func until(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for end := time.Now().Add(jobLimit); !ready(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s was not ready within %v", what, jobLimit)
		}
	}
}
