package mr

import (
	"os"

	"gofabric/core"
)

// This file has persistent memory (fi_mr(3), FI_RMA_PMEM): files that are mapped into memory.

// Persistent reports whether the region was registered as persistent memory.
func (r *Region) Persistent() bool { return r.persistent }

// Persist writes mem, a part of the region, to the mapped file, and returns when the storage has it (msync(2),
// MS_SYNC). It does nothing if the region is not persistent. It takes as long as the storage needs. Locked.
func (r *Region) Persist(mem []byte) error {
	if !r.persistent || len(mem) == 0 {
		return nil
	}
	from := addressOf(mem)
	start := from &^ uint64(os.Getpagesize()-1) // msync takes whole pages
	if err := msync(uintptr(start), uintptr(from-start)+uintptr(len(mem))); err != 0 {
		return core.FromSyscall(err)
	}
	return nil
}
