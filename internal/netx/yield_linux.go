package netx

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Yield gives the processor to other threads that are ready to run (sched_yield(2)). It does not enter Go's
// scheduler: the calling goroutine continues on this thread.
func Yield() { _, _, _ = syscall.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
