//go:build linux

// Guest is the first process of the virtual machine that package kernel starts. It prepares the system, runs one
// program after another, and switches the machine off.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"gofabric/test/kernel/plan"
)

func main() {
	defer func() {
		if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
			fmt.Println("power off:", err)
		}
	}()
	if err := prepare(); err != nil {
		fmt.Println(plan.Broken, err)
		return
	}
	if err := work(); err != nil {
		fmt.Println(plan.Broken, err)
	}
}

// prepare mounts the file systems that programs expect, and loads the modules.
func prepare() error {
	for _, m := range []struct{ what, where string }{
		{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}, {"tmpfs", "/run"},
		{"bpf", "/sys/fs/bpf"}, {"debugfs", "/sys/kernel/debug"},
		{"tracefs", "/sys/kernel/tracing"}, {"tmpfs", "/dev/shm"},
	} {
		if err := os.MkdirAll(m.where, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.what, m.where, m.what, 0, ""); err != nil &&
			!errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.ENODEV) {
			return fmt.Errorf("mount %s: %w", m.where, err)
		}
	}
	for _, l := range [][2]string{{"/proc/self/fd", "/dev/fd"}, {"/proc/self/fd/1", "/dev/stdout"}} {
		if err := os.Symlink(l[0], l[1]); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := unix.Sethostname([]byte("guest")); err != nil {
		return err
	}
	if out, err := exec.Command("/bin/ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("ip link set lo up: %w: %s", err, out)
	}
	modules, err := plan.Read(plan.Modules)
	if err != nil {
		return err
	}
	for _, m := range modules {
		if err := load(m[0]); err != nil {
			return fmt.Errorf("module %s: %w", m[0], err)
		}
	}
	return nil
}

// load loads a module into the kernel.
func load(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}

// work runs the commands, each in the folder that is its first word.
func work() error {
	commands, err := plan.Read(plan.Commands)
	if err != nil {
		return err
	}
	for i, c := range commands {
		cmd := exec.Command(c[1], c[2:]...)
		cmd.Dir = c[0]
		cmd.Env = []string{"PATH=/bin", "HOME=/tmp", "GOFABRIC_PEERS=required",
			"GOFABRIC_OFI=/bin/ofi", "GOFABRIC_SLOW=1"}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		cmd.Stderr = cmd.Stdout
		if err := cmd.Start(); err != nil {
			return err
		}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Println(strings.TrimRight(lines.Text(), "\r"))
		}
		said := "ok"
		if err := cmd.Wait(); err != nil {
			said = err.Error()
		}
		fmt.Println(plan.Done, i, said)
	}
	return nil
}
