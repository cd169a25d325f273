package wire

import "errors"

// What parsing may find wrong. A packet that cannot be parsed means that the peer is not to be talked to: close the connection.
var (
	ErrShort   = errors.New("rxm: packet ends too early")
	ErrVersion = errors.New("rxm: unknown protocol version")
	ErrOrder   = errors.New("rxm: peer has another byte order")
	ErrType    = errors.New("rxm: unknown packet type")
	ErrOp      = errors.New("rxm: operation does not fit the packet type")
	ErrSize    = errors.New("rxm: sizes contradict each other")
	ErrRanges  = errors.New("rxm: bad ranges of memory")
)
