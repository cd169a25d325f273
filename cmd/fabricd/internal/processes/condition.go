package processes

import (
	"bytes"
	"fmt"
	"os"
)

// condition is what the kernel says of a process that does not answer (proc(5), /proc/PID/stat), where it can be asked.
func condition(pid int) string {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" ")) // its name may hold anything
	if len(rest) == 0 {
		return "is it stopped?"
	}
	switch rest[0] {
	case 'T':
		return "it was stopped by a signal"
	case 't':
		return "a debugger has stopped it"
	case 'D':
		return "it waits for a disk, or something else in the kernel"
	case 'Z', 'X':
		return "it has ended"
	case 'R':
		return "it runs, or waits for a processor"
	}
	return "it sleeps; the machine may be short of memory, or the process frozen"
}
