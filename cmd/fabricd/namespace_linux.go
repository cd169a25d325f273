package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/cmd/fabricd/internal/emulate/fabric"
	"gofabric/internal/fabricd"
)

// inOwnNamespace runs this program again in a user namespace in which the user is root. It does not if the user is
// root, or the process is in such a namespace already. inner reports that it ran the program, and that the program
// has ended.
func inOwnNamespace(ctx context.Context, c *daemon.Config) (inner bool, err error) {
	if os.Geteuid() == 0 {
		return false, nil
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), envOwn+"=1", fabricd.EnvDir+"="+c.Dir, "FABRICD_STATE_DIR="+c.StateDir) // the user's folders, not root's
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGTERM,
	}
	runtime.LockOSThread() // the signal follows the death of the thread that started the process (prctl(2), PR_SET_PDEATHSIG)
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return true, fmt.Errorf("no user namespace: %w (run as root, or allow them: sysctl kernel.unprivileged_userns_clone=1 on Debian, "+
			"kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu, user.max_user_namespaces above 0)", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	defer stop()
	return true, exitOf(cmd.Wait())
}

// exitOf returns an exit status for this process from the end of a process that has printed its own error.
func exitOf(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return exitStatus(128 + int(s.Signal())) // as shells do
	}
	return exitStatus(exit.ExitCode())
}

// runProgram starts a program in a node, forwards signals that the program would not get otherwise, and returns when it
// has ended. The end of the fabric ends the program.
func runProgram(cmd *exec.Cmd, ended <-chan struct{}) error {
	signals := make(chan os.Signal, 8)
	catch(signals)
	runtime.LockOSThread() // the program dies with this process, that is, with its thread
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var around chan struct{} // closed when the node is empty
	for {
		select {
		case err := <-done:
			if around != nil {
				<-around
			}
			return exitOf(err)
		case s := <-signals:
			if !fromTerminal(s) {
				_ = cmd.Process.Signal(s)
			}
		case <-ended:
			ended = nil
			fmt.Fprintln(os.Stderr, "fabricd: the fabric has ended, and the program with it")
			around = make(chan struct{})
			go func() {
				defer close(around)
				endAround(cmd.Process)
			}()
		}
	}
}

// endAround ends a program and all other processes in its node, since a daemon that was killed cannot.
func endAround(p *os.Process) {
	node, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", p.Pid))
	if own, ownErr := os.Readlink("/proc/self/ns/net"); err != nil || ownErr != nil || node == own {
		_ = p.Kill() // it is not in the node yet, or has ended
		return
	}
	fabric.EndPrograms(map[string]bool{node: true})
}

// fromTerminal reports whether the terminal sent the signal to the program, too.
func fromTerminal(s os.Signal) bool {
	if s != syscall.SIGINT && s != syscall.SIGQUIT {
		return false
	}
	_, err := unix.IoctlGetTermios(int(os.Stdin.Fd()), unix.TCGETS)
	return err == nil
}
