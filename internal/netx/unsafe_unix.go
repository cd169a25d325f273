//go:build unix && (!linux || fabricbasic)

// The one file with unsafe: stepping through buffers that are known by pointer and length.

package netx

import "unsafe"

// forward is p+n: the n-th byte of the buffer that p points into.
func forward(p *byte, n int) *byte { return (*byte)(unsafe.Add(unsafe.Pointer(p), n)) }

// buffers is the same list in the form that recvmsg and sendmsg of x/sys take.
func buffers(vec []iovec) [][]byte {
	bufs := make([][]byte, len(vec))
	for i := range vec {
		bufs[i] = unsafe.Slice(vec[i].Base, int(vec[i].Len))
	}
	return bufs
}
