package emulate

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"gofabric/cmd/fabricd/internal/emulate/fabric"
)

// KeeperCommand is the command of fabricd that calls Keep.
const KeeperCommand = "keep"

// keeper is a process that ends programs in nodes if the daemon is killed. It holds the namespaces, so that no
// others can get their numbers.
type keeper struct {
	cmd    *exec.Cmd
	pipe   *os.File // its end is the end of the daemon
	ending atomic.Bool
	ended  chan struct{}
}

// newKeeper starts the keeper of a fabric.
func newKeeper(f *fabric.Fabric, log *slog.Logger) (*keeper, error) {
	spaces, err := f.Spaces()
	defer func() {
		for _, s := range spaces {
			s.Close() // it belongs to the keeper now
		}
	}()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	k := &keeper{cmd: exec.Command("/proc/self/exe", KeeperCommand), pipe: w, ended: make(chan struct{})}
	k.cmd.ExtraFiles = append([]*os.File{r}, spaces...)
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // not a process of the terminal's signals
	if err := k.cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("the process that ends programs in nodes if this one is killed: %w", err)
	}
	go func() {
		defer close(k.ended)
		if err := k.cmd.Wait(); !k.ending.Load() {
			log.Warn("the process that ends programs in nodes has ended: if fabricd is killed, those programs stay", "error", err)
		}
	}()
	return k, nil
}

// close ends the keeper, which finds no programs then.
func (k *keeper) close() error {
	k.ending.Store(true)
	err := k.pipe.Close()
	<-k.ended
	return err
}

// Keep waits until the daemon that started this process has ended, and ends the programs in its nodes.
func Keep() error {
	signal.Ignore(syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	if _, err := io.Copy(io.Discard, os.NewFile(3, "pipe")); err != nil {
		return fmt.Errorf("only fabricd emulate runs this command: %w", err)
	}
	spaces := map[string]bool{}
	files, err := os.ReadDir("/proc/self/fd")
	for _, f := range files {
		if name, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && strings.HasPrefix(name, "net:[") {
			spaces[name] = true
		}
	}
	if len(spaces) > 0 {
		fabric.EndPrograms(spaces)
	}
	return err
}
