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

// aligned reports whether all three buffers can be used as slices of T. A nil buffer is aligned.
func aligned[T element](a, b, c []byte) bool {
	var zero T
	at := uintptr(unsafe.Pointer(unsafe.SliceData(a))) | uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	at |= uintptr(unsafe.Pointer(unsafe.SliceData(c)))
	return at&(unsafe.Alignof(zero)-1) == 0
}

// scratch has copies of some elements of buffers that are not aligned.
type scratch[T element] struct {
	target, operand, compare [16]T
}

// load copies elements from byte at of the buffers on, as many as fit.
func (x *scratch[T]) load(at int, target, operand, compare []byte) (d, s, c []T) {
	var zero T
	size := int(unsafe.Sizeof(zero))
	n := min((len(target)-at)/size, len(x.target))
	d, s = x.target[:n], x.operand[:n]
	copy(bytesOf(d), target[at:])
	copy(bytesOf(s), operand[at:])
	if compare != nil {
		c = x.compare[:n]
		copy(bytesOf(c), compare[at:])
	}
	return d, s, c
}

// store copies elements back and returns the position of the next ones.
func (x *scratch[T]) store(at int, target []byte, d []T) (next int) {
	return at + copy(target[at:], bytesOf(d))
}

// bytesOf returns the memory of v as bytes.
func bytesOf[T element](v []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(zero)))
}
