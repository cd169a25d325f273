package atomics

import "unsafe"

// element has the types that memory is used as.
type element interface {
	integer | float | complex64 | complex128
}

// view returns b as a slice of T. b must be aligned for T.
func view[T element](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

// aligned reports whether the addresses of all three buffers are multiples of n. That of a nil buffer is.
func aligned(n uintptr, a, b, c []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(a))) | uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	at |= uintptr(unsafe.Pointer(unsafe.SliceData(c)))
	return at&(n-1) == 0
}

// scratchLen is a multiple of all types' sizes, in bytes.
const scratchLen = 256

// scratch is aligned memory for some elements of target, operand and compare.
type scratch [3][scratchLen / 8]uint64

// load copies the first elements of b, as many as fit, to part i and returns the copy.
func (x *scratch) load(i int, b []byte) []byte {
	part := unsafe.Slice((*byte)(unsafe.Pointer(&x[i])), scratchLen)
	return part[:copy(part, b)]
}
