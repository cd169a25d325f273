package mr

import "unsafe"

// The one place where memory becomes an address.

// addressOf is the virtual address of b's first byte, 0 for nil. Registered memory is on the heap, which Go does not move; it is an address for comparing
// and for telling peers, never made a pointer again.
func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
