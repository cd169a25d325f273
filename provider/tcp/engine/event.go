package engine

import "errors"

// What can go wrong with an operation. Failures of a connection carry the error given to Conn.Fail.
var (
	ErrAgain     = errors.New("resource temporarily unavailable")
	ErrTruncated = errors.New("message longer than the posted buffer")
	ErrCanceled  = errors.New("operation canceled")
	ErrNoMessage = errors.New("no matching message")
	ErrState     = errors.New("wrong state for this call")
	ErrTooLong   = errors.New("argument too long")

	// Reasons for ending a connection.
	ErrRefused   = errors.New("connection refused by the peer")
	ErrTimeout   = errors.New("no answer from the peer in time")
	ErrProtocol  = errors.New("peer broke the protocol")
	ErrAccess    = errors.New("peer named memory that it may not access")
	ErrPeerClose = errors.New("connection closed by the peer")
	ErrClosed    = errors.New("endpoint closed")
)

// AnySource is the source of messages from, and of receives for, nobody in particular.
const AnySource = ^uint64(0)

// Kind says what a Completion is about.
type Kind uint8

const (
	KindSend Kind = iota
	KindRecv
	KindRead
	KindWrite
	KindRemoteWrite // a peer wrote here
	KindRemoteRead  // a peer read here
)

// Completion tells the end of an operation. It is valid during the call that brings it.
type Completion struct {
	Kind    Kind
	HasData bool // Data came with the message
	Release bool // the multi-receive buffer goes back to the application
	Silent  bool // no queue entry was asked for; counters only
	Inject  bool // posted by an inject call: an entry only in case of error
	Ctx     uint64
	Flags   uint64 // as given when the operation was posted
	Len     uint64 // bytes received; of a peek, bytes in the message
	Data    uint64
	Tag     uint64
	Src     uint64
	Buf     []byte // where received data went
	OLen    uint64 // bytes lost, with ErrTruncated
	Err     error
}

// Sink takes note of what happened. Its methods must not call the engine.
type Sink interface {
	// Completed reports the end of an operation.
	Completed(c *Completion)
	// Sent and Received are Completed for the two commonest ends without the detour over a Completion: a send that was copied as it was posted,
	// and a message that is all in its posted buffer. They borrow their argument.
	Sent(s *Send)
	Received(r *RxOp)
	// Requested reports a connection request on a passive connection: answer with Accept or Reject. data is borrowed.
	Requested(c *Conn, data []byte)
	// Connected reports that the connection is up, at either end; data is the peer's private data at the active end, borrowed.
	Connected(c *Conn, data []byte)
	// Failed reports the end of the connection, once; data is private data that came with a refusal, borrowed.
	Failed(c *Conn, err error, data []byte)
	// Replied reports that the engine queued something of its own (an answer, an acknowledgement): transmit it soon.
	Replied(c *Conn)
	// Resumed reports that the connection takes bytes again after Stalled was true.
	Resumed(c *Conn)
}

// Region is registered memory that wants to know of accesses; nil if nobody counts.
type Region interface {
	RemoteAccess(write bool, n uint64)
}

// Memory checks the peers' claims on local memory.
type Memory interface {
	// Verify returns the memory that (key, addr, length) names if the peer may access it so.
	Verify(key, addr, length uint64, write bool) (mem []byte, region Region, ok bool)
}

// Config holds the limits of a domain's connections.
type Config struct {
	StageMax       int    // payload up to this many bytes is copied and coalesced
	StageLimit     int    // staged bytes per connection beyond which posts get ErrAgain
	TxDepth        int    // operations per connection that wait for transmission, acknowledgement or data
	RendezvousOver uint64 // tagged messages longer than this ask first, where the peer can (FI_TCP_MAX_SAVED_SIZE)
	HandshakeNanos int64  // how long a connect or an accepted socket may take
	// InternalMax is how many read responses are queued for a peer before it is not read any more. Two ends that read from each other must each
	// accept what the other may have under way (its TxDepth), or they can wait for each other for ever.
	InternalMax int
}
