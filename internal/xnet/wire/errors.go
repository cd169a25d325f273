package wire

import "errors"

// What decoding may find wrong. ErrShort asks for more bytes; after any other
// error the stream cannot be read further and the connection must be closed,
// because where the next header starts is unknown.
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
