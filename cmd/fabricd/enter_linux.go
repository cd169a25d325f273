package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"gofabric/cmd/fabricd/internal/emulate"
	"gofabric/internal/fabricd/api"
)

// newEnterCommand is the second half of exec: a process that enters a node and executes the program. It is not for
// users.
func newEnterCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:    "enter -- program [args]",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE:   func(_ *cobra.Command, args []string) error { return enter(file, args) },
	}
	cmd.Flags().StringVar(&file, "net", "", "file of the network namespace to enter (default: the process is already in it)")
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// newKeepCommand is the process beside fabricd emulate that cleans up if fabricd is killed. It is not for users.
func newKeepCommand() *cobra.Command {
	return &cobra.Command{Use: emulate.KeeperCommand, Hidden: true, Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return emulate.Keep() }}
}

// enter moves this thread into the namespace and executes the program.
func enter(file string, args []string) error {
	runtime.LockOSThread()
	if file != "" {
		fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("the node's namespace: %w", err)
		}
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("cannot enter the node: %w (run it as the user that runs fabricd emulate, or as root)", err)
		}
	}
	showInterfaces()
	path, err := exec.LookPath(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, "fabricd:", err)
		if errors.Is(err, os.ErrPermission) {
			return exitStatus(126) // as shells do
		}
		return exitStatus(127)
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, args, os.Environ()))
}

// showInterfaces makes /sys show the node's interfaces, as ip-netns(8) does. Where that is not allowed, /sys shows
// the host's.
func showInterfaces() {
	if unix.Unshare(unix.CLONE_NEWNS) != nil || unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, "") != nil {
		return
	}
	_ = unix.Mount("node", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
}

// entering returns the command that executes the program in a node. Only a process with a single thread can enter a
// user namespace (setns(2)). A Go program has several, so the command uses nsenter(1).
func entering(p *api.Program, args []string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if p.User == "" || sameFile(p.User, "/proc/self/ns/user") { // a process cannot enter its own user namespace (setns(2))
		return exec.Command(self, append([]string{"enter", "--net", p.Net, "--"}, args...)...), nil
	}
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return nil, errors.New("without root's rights a node is entered by nsenter, which is not installed (Debian's package util-linux)")
	}
	return exec.Command(nsenter, append([]string{"--preserve-credentials", "--user=" + p.User, "--net=" + p.Net, "--", self, "enter", "--"}, args...)...), nil
}

// sameFile reports whether two paths refer to one file, here to one namespace.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// catch sends signals to c that would otherwise end this process before the program that it waits for.
func catch(c chan<- os.Signal) {
	signal.Notify(c, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
}
