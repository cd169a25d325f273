package core

// Errno is a libfabric error number (fi_errno(3)): Linux's errno values below 256, libfabric's own from 256 on. It
// implements error. Data-transfer calls return constants of this type. errors.Is also matches an Errno with the
// platform's syscall.Errno of the same meaning.
type Errno int

// The errors that libfabric names. Values below 256 are Linux's on every platform.
const (
	ErrPerm         Errno = 1
	ErrNoEnt        Errno = 2
	ErrIntr         Errno = 4
	ErrIO           Errno = 5
	Err2Big         Errno = 7
	ErrBadF         Errno = 9
	ErrAgain        Errno = 11
	ErrNoMem        Errno = 12
	ErrAccess       Errno = 13
	ErrFault        Errno = 14
	ErrBusy         Errno = 16
	ErrNoDev        Errno = 19
	ErrInval        Errno = 22
	ErrMFile        Errno = 24
	ErrNoSpc        Errno = 28
	ErrNoSys        Errno = 38
	ErrNoMsg        Errno = 42
	ErrNoData       Errno = 61
	ErrProto        Errno = 71
	ErrOverflow     Errno = 75
	ErrMsgSize      Errno = 90
	ErrNoProtoOpt   Errno = 92
	ErrOpNotSupp    Errno = 95
	ErrAddrInUse    Errno = 98
	ErrAddrNotAvail Errno = 99
	ErrNetDown      Errno = 100
	ErrNetUnreach   Errno = 101
	ErrConnAborted  Errno = 103
	ErrConnReset    Errno = 104
	ErrNoBufs       Errno = 105
	ErrIsConn       Errno = 106
	ErrNotConn      Errno = 107
	ErrShutdown     Errno = 108
	ErrTimedOut     Errno = 110
	ErrConnRefused  Errno = 111
	ErrHostDown     Errno = 112
	ErrHostUnreach  Errno = 113
	ErrAlready      Errno = 114
	ErrInProgress   Errno = 115
	ErrRemoteIO     Errno = 121
	ErrCanceled     Errno = 125
	ErrKeyRejected  Errno = 129

	ErrOther        Errno = 256
	ErrTooSmall     Errno = 257
	ErrOpBadState   Errno = 258
	ErrAvail        Errno = 259 // an error entry is at the head of the queue: call ReadErr
	ErrBadFlags     Errno = 260
	ErrNoEQ         Errno = 261
	ErrDomain       Errno = 262
	ErrNoCQ         Errno = 263
	ErrCRC          Errno = 264
	ErrTrunc        Errno = 265
	ErrNoKey        Errno = 266
	ErrNoAV         Errno = 267
	ErrOverrun      Errno = 268
	ErrNoRx         Errno = 269
	ErrNoMR         Errno = 270
	ErrFirewallAddr Errno = 271
)

// OpError is the error of a control call: the call, the provider, the local object, the peer, the cause, and what
// to do about it.
type OpError struct {
	Op       string // libfabric's name of the call, such as "fi_connect"
	Provider string // such as "tcp" or "udp;ofi_rxd"
	Object   string // the local object: an interface, an address, a name
	Peer     string // the remote address, if any
	Err      error  // the cause; an Errno or something that wraps one
	Hint     string // what to do next, in a sentence
}

// Unwrap makes errors.Is(err, core.ErrAddrInUse) work.
func (e *OpError) Unwrap() error { return e.Err }
