package core

import "context"

// CQAttr is struct fi_cq_attr (fi_cq(3)). Size is a number of entries; queues grow beyond it rather than overrun.
type CQAttr struct {
	Size    int
	Flags   Flags
	Format  CQFormat
	WaitObj WaitObj
	WaitSet WaitSet
}

// CQEntry is a completion. The queue's format says which fields are valid (fi_cq(3)): Context sets Ctx; Msg adds Flags and Len; Data adds Buf and
// Data; Tagged adds Tag. Len is bytes received. Buf is where the data went, for receives.
type CQEntry struct {
	Ctx   Context
	Flags Flags
	Len   int
	Buf   []byte
	Data  uint64
	Tag   uint64
}

// CQErrEntry is the completion of a failed operation (struct fi_cq_err_entry, fi_cq(3)).
type CQErrEntry struct {
	CQEntry
	OLen      int    // bytes that did not fit, with ErrTrunc
	Err       Errno  // what went wrong
	ProvErrno int    // the provider's own number; the system's errno for socket errors
	Detail    string // a sentence: operation, peer, local address, cause (fi_cq_strerror(3))
	Peer      Addr   // the peer concerned, if known; with ErrAddrNotAvail the sender, to be inserted (FI_SOURCE_ERR: err_data in C)
	SrcAddr   FIAddr
}

// CompletionQueue reports completed operations (fi_cq(3)).
//
// While an error entry is at the head, reads return ErrAvail until ReadErr takes it. Reads return ErrAgain when there is nothing; a read that finds
// nothing makes progress, and so does a read with no room for entries.
type CompletionQueue interface {
	Object
	// Read takes up to len(entries) completions and never waits (fi_cq_read(3)).
	Read(entries []CQEntry) (int, error)
	// ReadFrom is Read, with the source of each received message (AddrNotAvail if unknown) in src, which must be as long as entries.
	ReadFrom(entries []CQEntry, src []FIAddr) (int, error)
	// ReadErr takes the error entry at the head (fi_cq_readerr(3)).
	ReadErr(e *CQErrEntry) error
	// SRead waits for at least one completion, an error entry, Signal (returns ErrAgain), or the end of ctx (fi_cq_sread(3)).
	// The end of ctx returns ErrAgain wrapped with ctx's cause.
	SRead(ctx context.Context, entries []CQEntry) (int, error)
	SReadFrom(ctx context.Context, entries []CQEntry, src []FIAddr) (int, error)
	// Signal wakes every waiter (fi_cq_signal(3)).
	Signal() error
	// WaitFD returns the descriptor to poll, of a queue opened with WaitFD (FI_GETWAIT). Call Fabric.TryWait before blocking on it.
	WaitFD() (int, error)
	// StrError describes a provider error number (fi_cq_strerror(3)).
	StrError(provErrno int) string
}

// EQAttr is struct fi_eq_attr (fi_eq(3)).
type EQAttr struct {
	Size    int
	Flags   Flags // Write allows EventQueue.Write
	WaitObj WaitObj
	WaitSet WaitSet
}

// EQEvent is a control event (fi_eq(3)): Info and CMData for connection events, Object the endpoint, vector or region concerned.
type EQEvent struct {
	Type    EQEventType
	Object  Object
	Info    *Info  // EventConnReq: what to pass to Domain.OpenEndpoint or Reject
	CMData  []byte // private data of the peer
	Context any    // of an event written by the application
	Data    uint64
}

// EQErrEntry is a failed control operation (struct fi_eq_err_entry): a refused connection brings the peer's private data in ErrData.
type EQErrEntry struct {
	Object    Object
	Context   any
	Data      uint64
	Err       Errno
	ProvErrno int
	ErrData   []byte
	Detail    string
}

// EventQueue reports control events (fi_eq(3)). Reads behave like those of a CompletionQueue, one event at a time.
type EventQueue interface {
	Object
	// Read takes the next event; with Peek in flags it stays in the queue.
	Read(ev *EQEvent, flags Flags) error
	ReadErr(e *EQErrEntry, flags Flags) error
	// Write appends an event of the application's own (fi_eq_write(3)).
	Write(ev EQEvent, flags Flags) error
	SRead(ctx context.Context, ev *EQEvent, flags Flags) error
	WaitFD() (int, error)
	StrError(provErrno int) string
}

// CntrAttr is struct fi_cntr_attr (fi_cntr(3)).
type CntrAttr struct {
	Events  CntrEvents
	WaitObj WaitObj
	WaitSet WaitSet
	Flags   Flags
}

// Counter counts completed operations, and failed ones separately (fi_cntr(3)).
type Counter interface {
	Object
	Value() uint64 // fi_cntr_read(3); makes progress
	ErrValue() uint64
	Add(v uint64) error
	AddErr(v uint64) error
	Set(v uint64) error
	SetErr(v uint64) error
	// Wait waits until the counter reaches threshold. ErrAvail: the error count moved meanwhile. The end of ctx: ErrTimedOut.
	Wait(ctx context.Context, threshold uint64) error
	WaitFD() (int, error)
}

// WaitAttr is struct fi_wait_attr (fi_poll(3)).
type WaitAttr struct {
	WaitObj WaitObj
	Flags   Flags
}

// WaitSet waits for any of the queues and counters that were opened with it (fi_wait(3)).
type WaitSet interface {
	Object
	// Wait returns nil when one of them has something to read; the end of ctx is ErrTimedOut.
	Wait(ctx context.Context) error
	WaitFD() (int, error)
}

// PollAttr is struct fi_poll_attr (fi_poll(3)).
type PollAttr struct{ Flags Flags }

// PollSet makes progress on several queues and counters and says which have something to read (fi_poll(3)).
type PollSet interface {
	Object
	Add(obj Object) error
	Del(obj Object) error
	// Poll stores the objects that have something to read and returns how many. It never waits.
	Poll(ready []Object) (int, error)
}
