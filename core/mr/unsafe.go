package mr

import "unsafe"

// This file is the only place where memory becomes an address.

// addressOf returns the virtual address of b's first byte, 0 for nil. Registered memory is on the heap, which Go
// does not move. The address is only compared and sent to peers. It never becomes a pointer again.
func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
