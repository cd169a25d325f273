package netx

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Yield lets other processes that want this processor have it first (sched_yield(2)). It does not enter Go's scheduler: what runs on this thread goes on here.
func Yield() { _, _, _ = syscall.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
