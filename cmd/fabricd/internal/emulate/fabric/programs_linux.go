package fabric

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// endTimeout is the time that programs in nodes have to end after SIGTERM.
	endTimeout = 2 * time.Second
	// endPoll is the interval of checks for their end.
	endPoll = 10 * time.Millisecond
)

// EndPrograms ends all processes in network namespaces, which are named as in /proc/PID/ns/net. It sends SIGTERM,
// and SIGKILL to processes that remain.
func EndPrograms(spaces map[string]bool) {
	if signal(spaces, unix.SIGTERM) == 0 {
		return
	}
	for end := time.Now().Add(endTimeout); time.Now().Before(end); time.Sleep(endPoll) {
		if signal(spaces, 0) == 0 {
			return
		}
	}
	for end := time.Now().Add(endTimeout); signal(spaces, unix.SIGKILL) > 0 && time.Now().Before(end); time.Sleep(endPoll) {
		continue // a program may have started another process meanwhile
	}
}

// Spaces returns descriptors of the nodes' namespaces. The caller must close them.
func (f *Fabric) Spaces() (files []*os.File, err error) {
	for i, fd := range f.nodes.spaces {
		n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return files, fmt.Errorf("node %s: %w", f.top.Nodes[i].Name, err)
		}
		files = append(files, os.NewFile(uintptr(n), f.top.Nodes[i].Name))
	}
	return files, nil
}

// endPrograms ends all processes in nodes, including those that programs left behind.
func (ns *nodes) endPrograms() {
	spaces := map[string]bool{}
	for _, fd := range ns.spaces {
		if name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil {
			spaces[name] = true
		}
	}
	EndPrograms(spaces)
}

// signal sends a signal to all processes in namespaces, and returns their number.
func signal(spaces map[string]bool, s unix.Signal) (n int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != os.Getpid() && tell(pid, spaces, s) {
			n++
		}
	}
	return n
}

// tell sends a signal to a process if it is in one of the namespaces. A pidfd makes sure that the process is the
// one that was checked.
func tell(pid int, spaces map[string]bool, s unix.Signal) bool {
	path := fmt.Sprintf("/proc/%d/ns/net", pid)
	if name, err := os.Readlink(path); err != nil || !spaces[name] {
		return false
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if name, err := os.Readlink(path); err != nil || !spaces[name] {
		return false
	}
	return unix.PidfdSendSignal(fd, s, nil, 0) == nil
}
