package mr

import (
	"syscall"

	"gofabric/core"
)

// PersistentCaps are the capabilities of endpoints whose regions can be persistent memory: none, since Windows has
// no msync.
const PersistentCaps = core.Caps(0)

// msync fails: FlushViewOfFile does not wait for the disk, and FlushFileBuffers needs the file.
func msync(_, _ uintptr) syscall.Errno { return syscall.ENOSYS }
