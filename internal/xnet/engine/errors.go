package engine

import "errors"

// Errors of calls and of single operations. Operations that end with their connection have the error given to
// Conn.Fail.
var (
	ErrAgain     = errors.New("resource temporarily unavailable")
	ErrTruncated = errors.New("message longer than the posted buffer")
	ErrCanceled  = errors.New("operation canceled")
	ErrNoMessage = errors.New("no matching message")
	ErrState     = errors.New("wrong state for this call")
	ErrTooLong   = errors.New("argument too long")
	ErrInvalid   = errors.New("invalid argument")

	// ErrUnsupported ends an operation that the peer does not have.
	ErrUnsupported = errors.New("operation not supported by the peer")
)

// Reasons for the end of a connection.
var (
	ErrRefused  = errors.New("connection refused by the peer")
	ErrTimeout  = errors.New("the peer did not answer in time")
	ErrProtocol = errors.New("the peer violated the protocol")
	ErrAccess   = errors.New("the peer named memory that it may not access")
	// ErrAuth ends a connect between ends with different authorization keys, or of which only one has a key.
	ErrAuth      = errors.New("the peer has another authorization key, or only one of the ends has one")
	ErrPeerClose = errors.New("the connection ended without a closing message")
	ErrGoodbye   = errors.New("the peer has closed its endpoint")
	ErrClosed    = errors.New("the endpoint is closed")
	ErrPersist   = errors.New("persistent memory could not be written back")
)
