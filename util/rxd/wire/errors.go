package wire

import "errors"

// Errors of Parse functions. The packet must be dropped.
var (
	ErrShort   = errors.New("rxd: packet ends within its header")
	ErrVersion = errors.New("rxd: unknown protocol version")
	ErrType    = errors.New("rxd: unknown or unexpected packet type")
	ErrFlags   = errors.New("rxd: flags do not fit the packet type")
	ErrSize    = errors.New("rxd: sizes contradict each other")
	ErrIOV     = errors.New("rxd: bad remote segments")
	ErrAddress = errors.New("rxd: not a socket address of IPv4 or IPv6")
	ErrSACK    = errors.New("rxd: bad SACK blocks")
)
