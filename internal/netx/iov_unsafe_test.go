package netx

import "unsafe"

// flatten reads a list as the kernel would.
func flatten(v *IOV) []byte {
	var b []byte
	for _, e := range v.vec {
		b = append(b, unsafe.Slice(e.Base, int(e.Len))...)
	}
	return b
}
