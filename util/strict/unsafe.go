package strict

import "unsafe"

// addressOf returns the address of b's first byte. Descriptors are checked against addresses, as in an adapter.
func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
