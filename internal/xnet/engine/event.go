package engine

import (
	"errors"

	"gofabric/internal/xnet/wire"
)

// What can go wrong with an operation. Failures of a connection carry the error given to Conn.Fail.
var (
	ErrAgain     = errors.New("resource temporarily unavailable")
	ErrTruncated = errors.New("message longer than the posted buffer")
	ErrCanceled  = errors.New("operation canceled")
	ErrNoMessage = errors.New("no matching message")
	ErrState     = errors.New("wrong state for this call")
	ErrTooLong   = errors.New("argument too long")
	ErrInvalid   = errors.New("invalid argument")

	// ErrUnsupported ends an operation that the peer does not understand.
	ErrUnsupported = errors.New("operation not supported by the peer")

	// Reasons for ending a connection.
	ErrRefused  = errors.New("connection refused by the peer")
	ErrTimeout  = errors.New("no answer from the peer in time")
	ErrProtocol = errors.New("peer broke the protocol")
	ErrAccess   = errors.New("peer named memory that it may not access")
	// ErrAuth ends a connect between ends with different authorization keys, or of which one has none.
	ErrAuth      = errors.New("the peer has another authorization key, or only one of the ends has one")
	ErrPeerClose = errors.New("the connection ended without a goodbye")
	ErrGoodbye   = errors.New("the peer has closed its endpoint")
	ErrClosed    = errors.New("endpoint closed")
	ErrPersist   = errors.New("persistent memory could not be written back")
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
	KindAtomic      // fi_atomic: counts as a write does
	KindFetch       // fi_fetch_atomic: counts as a read does
	KindCompare     // fi_compare_atomic: counts as a read does
	KindColl        // a step of a collective operation, or, as the end of one, all of it
)

// Completion tells the end of an operation. It is valid during the call that brings it.
type Completion struct {
	Kind    Kind
	HasData bool  // Data came with the message
	Peek    bool  // no message was received, only looked for
	Release bool  // the multi-receive buffer goes back to the application
	Silent  bool  // no queue entry was asked for; counters only
	Inject  bool  // posted by an inject call: an entry only in case of error
	Mark    uint8 // as given when the operation was posted
	Atomic  bool  // of KindRemoteWrite and KindRemoteRead: it was an atomic operation
	Ctx     uint64
	Flags   uint64 // as given when the operation was posted
	Len     uint64 // bytes received; of a peek, bytes in the message
	Data    uint64
	Tag     uint64
	Src     uint64
	Buf     []byte // where received data went
	OLen    uint64 // bytes lost, with ErrTruncated
	Err     error
	Owner   Owner // of the operation
}

// Owner is who posted an operation for a purpose of the library's own (a collective, deferred work) and takes its end. Done must not call the engine; c is
// borrowed.
type Owner interface{ Done(c *Completion) }

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

// Region is registered memory that wants to know of accesses; nil if nobody does.
type Region interface {
	// RemoteAccess counts an operation of a peer on n bytes of the region.
	RemoteAccess(write bool, n uint64)
	// Persist makes mem, a part of the region, durable, if the region is one of persistent memory (fi_cq(3), FI_COMMIT_COMPLETE).
	Persist(mem []byte) error
}

// Memory checks the peers' claims on local memory.
type Memory interface {
	// Verify returns the memory that (key, addr, length) names if the peer may access it so, or why it may not.
	Verify(key, addr, length uint64, write bool) (mem []byte, region Region, no Refusal)
}

// Config holds the limits of a domain's connections.
type Config struct {
	StageMax       int    // payload up to this many bytes is copied and coalesced
	StageLimit     int    // staged bytes per connection beyond which posts get ErrAgain
	TxDepth        int    // operations per connection that wait for transmission, acknowledgement or data
	RendezvousOver uint64 // tagged messages longer than this ask first, where the peer can (FI_TCP_MAX_SAVED_SIZE)
	// Puller and PullOver make messages of at least PullOver bytes go by reference between processes of this host; a nil Puller: never.
	Puller   Puller
	PullOver int
	// Mover is the transport, if it knows of a better way between processes of one host; nil if not.
	Mover Mover
	// Leaver is asked when the peer wants to part for a while; nil: it is told to stay.
	Leaver Leaver
	// Ender is told when the peer sends no more messages; may be nil.
	Ender Ender
	// AtomicMax is the most bytes of operands, those to compare with included, that an atomic operation can bring to the peer; 0 does not limit it further.
	AtomicMax int
	// NativeAtomics says that the peer is native: atomic operations that would crash it (atomics.Native) fail here.
	NativeAtomics bool
	// Features is what peers are told of us when they connect (wire.FeatureExtended).
	Features uint32
	// Auth is the endpoint's authorization key, which peers must have as well; nil if it has none, and talks only to those without.
	Auth *Auth
	// Prefix, of connections below rxm, appends what rxm would have sent before the payload of a message with a tag in h; nil: such a message is untagged.
	Prefix func(dst []byte, h *wire.Header) []byte
	// Frugal says that what is sent is kept for a while, until the peer has it: then many peers must not hold much each.
	Frugal         bool
	HandshakeNanos int64 // how long a connect or an accepted socket may take
	// InternalMax is how many read responses are queued for a peer before it is not read any more. Two ends that read from each other must each
	// accept what the other may have under way (its TxDepth), or they can wait for each other for ever.
	InternalMax int
}
