package engine

import (
	"fmt"

	"gofabric/internal/xnet/wire"
)

// MaxIOV is the most buffers or RMA segments of an operation (XNET_IOV_LIMIT).
const MaxIOV = 4

// Refusal says why memory is not accessed; see wire.Refusal.
type Refusal = wire.Refusal

// Region is registered memory that counts accesses or is persistent. Other memory has a nil Region.
type Region interface {
	// RemoteAccess counts an operation of a peer on n bytes of the region.
	RemoteAccess(write bool, n uint64)
	// Persist writes mem, a part of the region, back to persistent memory, if the region is such memory
	// (fi_cq(3), FI_COMMIT_COMPLETE).
	Persist(mem []byte) error
}

// Memory checks peers' accesses to local memory.
type Memory interface {
	// Verify returns the memory at (key, addr, length) if the peer may access it, or the reason why it may not.
	Verify(key, addr, length uint64, write bool) (mem []byte, region Region, no Refusal)
}

// countRegions calls each region once with the number of bytes accessed in it.
func countRegions(regions [MaxIOV]Region, iov []wire.RMAIov, write bool) {
	for i := range iov {
		r := regions[i]
		if r == nil {
			continue
		}
		n := iov[i].Len
		for k := i + 1; k < len(iov); k++ {
			// Several ranges in one region count as one access.
			if regions[k] == r {
				n += iov[k].Len
				regions[k] = nil
			}
		}
		r.RemoteAccess(write, n)
	}
}

// persist writes ranges of regions back to persistent memory. It reports whether that succeeded.
func persist(regions *[MaxIOV]Region, mem [][]byte) bool {
	for i, m := range mem {
		if r := regions[i]; r != nil && len(m) > 0 && r.Persist(m) != nil {
			return false
		}
	}
	return true
}

// RefusedError is the error of an operation that the peer has refused. The connection continues.
type RefusedError struct {
	Why  Refusal
	Kind Kind        // of the operation
	Get  bool        // a fetching atomic operation that changes nothing (FI_ATOMIC_READ)
	Mem  wire.RMAIov // the RMA segment that was wrong
}

// access names the access rights that the operation needs.
func (e *RefusedError) access() string {
	switch {
	case e.Kind == KindRead || e.Get:
		return "FI_REMOTE_READ"
	case e.Kind == KindFetch || e.Kind == KindCompare:
		return "FI_REMOTE_READ and FI_REMOTE_WRITE"
	}
	return "FI_REMOTE_WRITE"
}

// Error says what was wrong with the operation.
func (e *RefusedError) Error() string {
	m := &e.Mem
	switch e.Why {
	case wire.RefusedKey:
		return fmt.Sprintf("refused by the peer: it has no open memory region with the key %#x", m.Key)
	case wire.RefusedRights:
		return fmt.Sprintf("refused by the peer: its memory region with the key %#x was not registered for %s", m.Key, e.access())
	case wire.RefusedRange:
		return fmt.Sprintf("refused by the peer: its memory region with the key %#x does not hold all of the %d bytes at %#x",
			m.Key, m.Len, m.Addr)
	case wire.RefusedPersist:
		return fmt.Sprintf("the peer could not make its memory region with the key %#x persistent", m.Key)
	case wire.RefusedOp:
		return "refused by the peer: it does not know this atomic operation on this datatype"
	}
	return fmt.Sprintf("refused by the peer for a reason that this version does not know (%v)", e.Why)
}

// sum is the length of all buffers together, in bytes.
func sum(iov [][]byte) uint64 {
	n := 0
	for _, b := range iov {
		n += len(b)
	}
	return uint64(n)
}

// join appends all of iov to b.
func join(b []byte, iov [][]byte) []byte {
	for _, p := range iov {
		b = append(b, p...)
	}
	return b
}
