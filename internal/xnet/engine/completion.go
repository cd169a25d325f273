package engine

// AnySource is the source of messages whose sender is not known, and of receives that take messages from any sender
// (FI_ADDR_UNSPEC).
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
	KindAtomic      // fi_atomic: counts as a write
	KindFetch       // fi_fetch_atomic: counts as a read
	KindCompare     // fi_compare_atomic: counts as a read
	KindColl        // a step of a collective operation, or its end
)

// Completion describes the end of an operation. It is valid only during the call that passes it.
type Completion struct {
	Kind    Kind
	HasData bool  // Data came with the message
	Peek    bool  // a message was looked for, not received
	Release bool  // the multi-receive buffer goes back to the application
	Silent  bool  // no queue entry was asked for: counters only
	Inject  bool  // posted by an inject call: a queue entry only for an error
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

// Owner posts operations for the library itself (a collective, deferred work) and is told of their ends in place of the
// application. Done must not call the engine; c is borrowed.
type Owner interface{ Done(c *Completion) }

// CompletionSink takes the ends of operations. Its methods must not call the engine.
type CompletionSink interface {
	// Completed reports the end of an operation.
	Completed(c *Completion)
	// Sent and Received stand in for Completed in the two commonest cases, without the cost of a Completion: a send
	// that was copied when it was posted, and a message that fits its posted buffer. They borrow their argument.
	Sent(s *Send)
	Received(r *RxOp)
}

// SinkWrapper is a connection's sink that must report something about the peer even where the completions of receives
// go to another sink (RxContext.Collect). Wrap returns s with that report in front of it.
type SinkWrapper interface {
	Wrap(s CompletionSink) CompletionSink
}
