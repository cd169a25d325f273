// A reusable list of buffers for gathering sends and scattering receives.

package netx

const (
	// IOVDefault is the capacity of a zero IOV.
	IOVDefault = 64
	// IOVMax is the largest capacity, which is the kernel's limit for one call (IOV_MAX).
	IOVMax = 1024
)

// IOV is a list of buffers that one call sends or fills in order. Append adds buffers, SendV or RecvV passes them
// to the kernel, and Consume drops the bytes that the kernel has sent or filled. A connection or domain reuses one
// IOV without limit: nothing allocates after the first Append. The zero IOV is ready for use.
//
// An IOV refers to the buffers and does not copy them. They must not be changed (sending) or read (receiving) until
// Consume or Reset. They may be Go memory, which the list keeps alive, or C memory, which its owner must keep
// alive. An IOV is not for concurrent use.
type IOV struct {
	vec   []iovec
	head  int // vec[:head] is consumed
	bytes int // left in vec[head:]
}

// NewIOV returns an IOV for up to capacity buffers, between 1 and IOVMax.
func NewIOV(capacity int) *IOV {
	return &IOV{vec: make([]iovec, 0, min(max(capacity, 1), IOVMax))}
}

// Reset empties the list and drops its references to buffers.
func (v *IOV) Reset() {
	clear(v.vec[v.head:])
	v.vec, v.head, v.bytes = v.vec[:0], 0, 0
}

// Append adds a buffer at the end, and reports whether there was room. An empty buffer needs no room. Of a buffer
// longer than iovecMax only the first iovecMax bytes are added.
func (v *IOV) Append(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	if uint64(len(b)) > iovecMax {
		v.Append(b[:iovecMax:iovecMax])
		return false
	}
	if len(v.vec) == cap(v.vec) && !v.makeRoom() {
		return false
	}
	v.vec = v.vec[:len(v.vec)+1]
	e := &v.vec[len(v.vec)-1]
	e.Base = &b[0]
	e.SetLen(len(b))
	v.bytes += len(b)
	return true
}

// makeRoom frees a place by moving the list over its consumed part, or by the first allocation of a zero IOV.
func (v *IOV) makeRoom() bool {
	switch {
	case v.vec == nil:
		v.vec = make([]iovec, 0, IOVDefault)
		return true
	case v.head > 0:
		n := copy(v.vec, v.vec[v.head:])
		clear(v.vec[n:])
		v.vec, v.head = v.vec[:n], 0
		return true
	}
	return false
}

// Len is the number of buffers left.
func (v *IOV) Len() int { return len(v.vec) - v.head }

// Room is the number of buffers that can still be added.
func (v *IOV) Room() int {
	if v.vec == nil {
		return IOVDefault
	}
	return cap(v.vec) - v.Len()
}

// Bytes is the number of bytes left in the list.
func (v *IOV) Bytes() int { return v.bytes }

// Consume drops the first n bytes, where n is the result of SendV or RecvV. It panics if the list holds fewer
// bytes.
func (v *IOV) Consume(n int) {
	if n < 0 || n > v.bytes {
		panic("netx: IOV.Consume out of range")
	}
	v.bytes -= n
	for n > 0 {
		e := &v.vec[v.head]
		size := int(e.Len)
		if n < size {
			e.Base = forward(e.Base, n)
			e.SetLen(size - n)
			return
		}
		n -= size
		*e = iovec{}
		v.head++
	}
	if v.bytes == 0 {
		v.vec, v.head = v.vec[:0], 0
	}
}

// pending returns the part of the list that the next call passes to the kernel.
func (v *IOV) pending() []iovec { return v.vec[v.head:] }
