//go:build unix

package mr

import (
	"golang.org/x/sys/unix"

	"gofabric/core"
)

// PersistentCaps are the capabilities of endpoints whose regions can be persistent memory (fi_mr(3), FI_RMA_PMEM).
const PersistentCaps = core.CapRMAPMem

// msync is msync(2) with MS_SYNC for n bytes at at, the beginning of a page. The address remains a number: no slice
// covers the memory around a region.
func msync(at, n uintptr) unix.Errno {
	for {
		if _, _, err := unix.Syscall(unix.SYS_MSYNC, at, n, unix.MS_SYNC); err != unix.EINTR {
			return err
		}
	}
}
