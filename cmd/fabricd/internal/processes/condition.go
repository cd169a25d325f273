package processes

import (
	"bytes"
	"fmt"
	"os"
)

// condition returns the kernel's state of a process that does not answer (proc(5), /proc/PID/stat), "" if it is not
// available.
func condition(pid int) string {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" ")) // the process name may contain any character
	if len(rest) == 0 {
		return "is it stopped?"
	}
	switch rest[0] {
	case 'T':
		return "it was stopped by a signal"
	case 't':
		return "a debugger has stopped it"
	case 'D':
		return "it waits in the kernel, for a disk for example"
	case 'Z', 'X':
		return "it has ended"
	case 'R':
		return "it runs, or waits for a processor"
	}
	return "it sleeps; the machine may be short of memory, or the process may be frozen (cgroup)"
}
