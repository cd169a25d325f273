package engine

// AnySource is the source of messages whose sender is not in the address vector, and of receives that accept any
// sender (FI_ADDR_UNSPEC).
const AnySource = ^uint64(0)

// Kind is the kind of operation that a Completion is about.
type Kind uint8

const (
	KindSend Kind = iota
	KindRecv
	KindRead
	KindWrite
	KindRemoteWrite // a peer wrote here
	KindRemoteRead  // a peer read here
	KindAtomic      // fi_atomic: counts as a write
	KindFetch       // fi_fetch_atomic: counts as a read
	KindCompare     // fi_compare_atomic: counts as a read
	KindColl        // a step of a collective operation, or its end
)

// Completion describes the end of an operation. It is valid only during the call that passes it.
type Completion struct {
	Kind    Kind
	HasData bool  // Data is valid (FI_REMOTE_CQ_DATA)
	Peek    bool  // a message was looked for, not received
	Release bool  // the multi-receive buffer is the application's again
	Silent  bool  // no queue entry was asked for: only counters
	Inject  bool  // posted by an inject call: a queue entry only for an error
	Mark    uint8 // as given when the operation was posted
	Atomic  bool  // of KindRemoteWrite and KindRemoteRead: by an atomic operation
	Ctx     uint64
	Flags   uint64 // as given when the operation was posted
	Len     uint64 // bytes received; of a peek, bytes of the message
	Data    uint64
	Tag     uint64
	Src     uint64
	Buf     []byte // receive buffer
	OLen    uint64 // bytes lost, with ErrTruncated
	Err     error
	Owner   Owner // of the operation
}

// Owner posts operations for the library itself (a collective, deferred work) and gets their ends in place of the
// application. Done must not call the engine; c is borrowed.
type Owner interface{ Done(c *Completion) }

// CompletionSink gets the ends of operations. Its methods must not call the engine.
type CompletionSink interface {
	// Completed reports the end of an operation.
	Completed(c *Completion)
	// Sent and Received replace Completed in the two most frequent cases, without the cost of a Completion: a send
	// that was copied when it was posted, and a message that fits its posted buffer. The argument is borrowed.
	Sent(s *Send)
	Received(r *RxOp)
}

// SinkWrapper is a connection's sink that must report something about the peer even if the completions of receives
// go to another sink (RxContext.Collect). Wrap returns s with that report before it.
type SinkWrapper interface {
	Wrap(s CompletionSink) CompletionSink
}
