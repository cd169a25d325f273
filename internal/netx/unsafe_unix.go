//go:build unix && (!linux || fabricbasic)

// The one file with unsafe: arithmetic on buffers that are known by pointer and length.

package netx

import "unsafe"

// buffers returns the list in the form that recvmsg and sendmsg of x/sys take.
func buffers(vec []iovec) [][]byte {
	bufs := make([][]byte, len(vec))
	for i := range vec {
		bufs[i] = unsafe.Slice(vec[i].Base, int(vec[i].Len))
	}
	return bufs
}
