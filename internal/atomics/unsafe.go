package atomics

import "unsafe"

// element is what memory is looked at as.
type element interface {
	integer | float | complex64 | complex128
}

// view is b as a slice of T; b is aligned for T.
func view[T element](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

// aligned reports whether all of the buffers can be viewed as slices of T.
func aligned[T element](a, b, c []byte) bool {
	var zero T
	at := uintptr(unsafe.Pointer(unsafe.SliceData(a))) | uintptr(unsafe.Pointer(unsafe.SliceData(b))) | uintptr(unsafe.Pointer(unsafe.SliceData(c)))
	return at&(unsafe.Alignof(zero)-1) == 0
}

// aside holds some elements of buffers that are not aligned.
type aside[T element] struct {
	target, operand, compare [16]T
}

// load copies elements at position at, bytes, of the buffers to the aside.
func (x *aside[T]) load(at int, target, operand, compare []byte) (d, s, c []T) {
	var zero T
	size := int(unsafe.Sizeof(zero))
	n := min((len(target)-at)/size, len(x.target))
	d, s = x.target[:n], x.operand[:n]
	copy(raw(d), target[at:])
	copy(raw(s), operand[at:])
	if compare != nil {
		c = x.compare[:n]
		copy(raw(c), compare[at:])
	}
	return d, s, c
}

// store copies elements back, and returns where the next are.
func (x *aside[T]) store(at int, target []byte, d []T) (next int) {
	return at + copy(target[at:], raw(d))
}

func raw[T element](v []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(zero)))
}
