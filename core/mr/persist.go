package mr

import (
	"os"

	"gofabric/core"
)

// Persistent memory (fi_mr(3), FI_RMA_PMEM): files that are mapped into memory.

// Persistent says whether the region was registered as persistent memory.
func (r *Region) Persistent() bool { return r.persistent }

// Persist writes mem, a part of the region, to the file that it maps, and returns when it is there (msync(2), MS_SYNC); nothing if the region is not
// persistent. It may take as long as the storage needs. Locked.
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
