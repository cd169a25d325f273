package wire

import "errors"

// Errors of Parse functions. The connection must be closed: a stream of packets cannot continue behind one that is
// not understood.
var (
	ErrShort   = errors.New("rxm: packet ends too early")
	ErrVersion = errors.New("rxm: unknown protocol version")
	ErrOrder   = errors.New("rxm: peer has another byte order")
	ErrType    = errors.New("rxm: unknown packet type")
	ErrOp      = errors.New("rxm: operation does not fit the packet type")
	ErrSize    = errors.New("rxm: sizes contradict each other")
	ErrRanges  = errors.New("rxm: bad ranges of memory")
)
