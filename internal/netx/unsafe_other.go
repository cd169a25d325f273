//go:build !linux || fabricbasic

// The one file with unsafe: stepping through buffers that are known by pointer and length.

package netx

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// forward is p+n: the n-th byte of the buffer that p points into.
func forward(p *byte, n int) *byte { return (*byte)(unsafe.Add(unsafe.Pointer(p), n)) }

// buffers is the same list in the form that the portable calls take.
func buffers(vec []unix.Iovec) [][]byte {
	bufs := make([][]byte, len(vec))
	for i := range vec {
		bufs[i] = unsafe.Slice(vec[i].Base, int(vec[i].Len))
	}
	return bufs
}
