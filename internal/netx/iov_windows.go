package netx

import "math"

// iovec is a buffer in Winsock's form, a WSABUF. Its length has 32 bits.
type iovec struct {
	Len  uint32
	Base *byte
}

// iovecMax is the longest buffer, bytes.
const iovecMax = math.MaxUint32

// SetLen sets the length, at most iovecMax.
func (v *iovec) SetLen(n int) { v.Len = uint32(n) }
