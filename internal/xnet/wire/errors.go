package wire

import "errors"

// Errors of decoding. ErrShort asks for more bytes. After any other error the connection must be closed, because it
// is unknown where the next header begins.
var (
	ErrShort     = errors.New("xnet: need more bytes")
	ErrVersion   = errors.New("xnet: unknown protocol version")
	ErrOp        = errors.New("xnet: unknown operation or message type")
	ErrHeaderLen = errors.New("xnet: header length does not fit the operation")
	ErrSize      = errors.New("xnet: size does not fit the operation")
	ErrIOV       = errors.New("xnet: bad remote segments")
	ErrSeal      = errors.New("xnet: a message by reference with a seal of number or address 0")
	ErrOrder     = errors.New("xnet: unknown byte order mark")
)
