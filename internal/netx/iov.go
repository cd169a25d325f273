// A reusable list of buffers for gathering sends and scattering receives.

package netx

const (
	// IOVDefault is the capacity of a zero IOV.
	IOVDefault = 64
	// IOVMax is the largest capacity, which is the kernel's limit for one call (IOV_MAX).
	IOVMax = 1024
)

// IOV is a list of buffers that one call sends or fills in order: Append adds buffers, SendV or RecvV passes them to
// the kernel. A connection or domain reuses one IOV without limit: nothing allocates after the first Append. The zero
// IOV is ready for use.
//
// An IOV refers to the buffers and does not copy them. They must not be changed (sending) or read (receiving) until
// Reset. They may be Go memory, which the list keeps alive, or C memory, which its owner must keep alive. An IOV is
// not for concurrent use.
type IOV struct{ vec []iovec }

// NewIOV returns an IOV for up to capacity buffers, between 1 and IOVMax.
func NewIOV(capacity int) *IOV {
	return &IOV{vec: make([]iovec, 0, min(max(capacity, 1), IOVMax))}
}

// Reset empties the list and drops its references to buffers.
func (v *IOV) Reset() {
	clear(v.vec)
	v.vec = v.vec[:0]
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
	if v.vec == nil {
		v.vec = make([]iovec, 0, IOVDefault)
	}
	if len(v.vec) == cap(v.vec) {
		return false
	}
	v.vec = v.vec[:len(v.vec)+1]
	e := &v.vec[len(v.vec)-1]
	e.Base = &b[0]
	e.SetLen(len(b))
	return true
}

// Len is the number of buffers.
func (v *IOV) Len() int { return len(v.vec) }

// Room is the number of buffers that can still be added.
func (v *IOV) Room() int {
	if v.vec == nil {
		return IOVDefault
	}
	return cap(v.vec) - v.Len()
}
