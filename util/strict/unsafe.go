package strict

import "unsafe"

// addressOf is the address of b's first byte: descriptors are checked against addresses, as an adapter does.
func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
