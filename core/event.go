package core

import "context"

// CQFlags are the flags of CQAttr (fi_cq(3)).
type CQFlags uint64

// The flags of completion queues.
const (
	CQAffinity CQFlags = 1 << 29 // FI_AFFINITY: a hint, which no provider of this module uses
	CQPeer     CQFlags = 1 << 43 // FI_PEER
)

// CQAttr is struct fi_cq_attr (fi_cq(3)). Size is a number of entries. A queue that is full grows instead of an
// overrun.
type CQAttr struct {
	Size    int
	Flags   CQFlags
	Format  CQFormat
	WaitObj WaitObj
	WaitSet *WaitSet
}

// CQEntry is a completion (fi_cq(3)). The format of the queue says which fields are valid: CQFormatContext Ctx;
// CQFormatMsg also Flags and Len; CQFormatData also Buf and Data; CQFormatTagged also Tag. Len is the number of
// bytes received. Buf is where a receive stored them.
type CQEntry struct {
	Ctx   OpContext
	Flags CompFlags
	Len   int
	Buf   []byte
	Data  uint64
	Tag   uint64
}

// CQErrEntry is the completion of a failed operation (struct fi_cq_err_entry, fi_cq(3)).
type CQErrEntry struct {
	CQEntry
	OLen      int    // bytes that did not fit, with ErrTrunc
	Err       Errno  // the error
	ProvErrno int    // the provider's own number; the system's errno for socket errors
	Detail    string // a sentence: operation, peer, local address, cause (fi_cq_strerror(3))
	Peer      Addr   // the peer, if known; with ErrAddrNotAvail the sender, for AddressVector.Insert (FI_SOURCE_ERR: err_data in C)
	SrcAddr   FIAddr
}

// CompletionQueue reports completed operations (struct fid_cq, fi_cq(3)).
//
// While an error entry is at the head, reads return ErrAvail; ReadErr takes it. A read returns ErrAgain if the
// queue is empty. Such a read makes progress, and so does a read with no room for entries.
type CompletionQueue struct{ d CQDriver }

// driver returns the queue's driver, or nil if q is nil.
func (q *CompletionQueue) driver() any {
	if q == nil {
		return nil
	}
	return q.d
}

// Driver returns the provider's side of the queue.
func (q *CompletionQueue) Driver() CQDriver { return q.d }

// Close frees the queue (fi_close(3)). The error is ErrBusy while an endpoint uses it.
func (q *CompletionQueue) Close() error { return q.d.Close() }

// Read takes up to len(entries) completions and never waits (fi_cq_read(3)).
func (q *CompletionQueue) Read(entries []CQEntry) (int, error) { return q.d.Read(entries, nil) }

// ReadFrom is Read, and stores the source of each received message in src (fi_cq_readfrom(3)): AddrNotAvail if it
// is unknown. It takes at most len(src) completions.
func (q *CompletionQueue) ReadFrom(entries []CQEntry, src []FIAddr) (int, error) {
	entries, src = sourced(entries, src)
	return q.d.Read(entries, src)
}

// sourced makes entries and src equally long. src becomes non-nil, because nil means a read without sources.
func sourced(entries []CQEntry, src []FIAddr) ([]CQEntry, []FIAddr) {
	n := min(len(entries), len(src))
	if src == nil {
		src = []FIAddr{}
	}
	return entries[:n], src[:n]
}

// ReadErr takes the error entry at the head (fi_cq_readerr(3)).
func (q *CompletionQueue) ReadErr(e *CQErrEntry) error { return q.d.ReadErr(e) }

// SRead waits until there is a completion and then reads as Read does (fi_cq_sread(3)). It also returns for an
// error entry (ErrAvail), for Signal (ErrAgain), and at the end of ctx (ErrAgain, which wraps the cause of ctx).
func (q *CompletionQueue) SRead(ctx context.Context, entries []CQEntry) (int, error) {
	return q.d.SRead(ctx, entries, nil)
}

// SReadFrom is SRead that also stores sources, as ReadFrom does (fi_cq_sreadfrom(3)).
func (q *CompletionQueue) SReadFrom(ctx context.Context, entries []CQEntry, src []FIAddr) (int, error) {
	entries, src = sourced(entries, src)
	return q.d.SRead(ctx, entries, src)
}

// Signal wakes every waiter (fi_cq_signal(3)).
func (q *CompletionQueue) Signal() error { return q.d.Signal() }

// WaitFD returns the descriptor to poll, of a queue that was opened with WaitFD (FI_GETWAIT). Call Fabric.TryWait
// before you block on it.
func (q *CompletionQueue) WaitFD() (int, error) { return q.d.WaitFD() }

// StrError describes a provider error number (fi_cq_strerror(3)).
func (q *CompletionQueue) StrError(provErrno int) string { return q.d.StrError(provErrno) }

// EQFlags are the flags of EQAttr, and of reads and writes of event queues (fi_eq(3)).
type EQFlags uint64

// The flags of event queues.
const (
	EQWrite    EQFlags = 1 << 9  // FI_WRITE, of EQAttr: allow EventQueue.Write
	EQPeek     EQFlags = 1 << 19 // FI_PEEK, of reads: leave the event in the queue
	EQAffinity EQFlags = 1 << 29 // FI_AFFINITY, of EQAttr: a hint, which no provider of this module uses
	EQPeer     EQFlags = 1 << 43 // FI_PEER, of EQAttr
)

// EQAttr is struct fi_eq_attr (fi_eq(3)).
type EQAttr struct {
	Size    int
	Flags   EQFlags
	WaitObj WaitObj
	WaitSet *WaitSet
}

// EQEvent is a control event (fi_eq(3)). Info and CMData belong to connection events. Object is the endpoint,
// vector or region of the event.
type EQEvent struct {
	Type    EQEventType
	Object  Object
	Info    *Info  // EventConnReq: pass it to Domain.OpenEndpoint or its Handle to PassiveEndpoint.Reject
	CMData  []byte // private data of the peer
	Context any    // of an event written by the application
	Data    uint64
}

// EQErrEntry is a failed control operation (struct fi_eq_err_entry, fi_eq(3)). For a refused connection ErrData is
// the peer's private data.
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
type EventQueue struct{ d EQDriver }

// driver returns the queue's driver, or nil if q is nil.
func (q *EventQueue) driver() EQDriver {
	if q == nil {
		return nil
	}
	return q.d
}

// Close frees the queue (fi_close(3)). The error is ErrBusy while an object is bound to it.
func (q *EventQueue) Close() error { return q.d.Close() }

// Read takes the next event (fi_eq_read(3)). With EQPeek in flags the event stays in the queue.
func (q *EventQueue) Read(ev *EQEvent, flags EQFlags) error { return q.d.Read(ev, flags) }

// ReadErr takes the error entry at the head (fi_eq_readerr(3)).
func (q *EventQueue) ReadErr(e *EQErrEntry, flags EQFlags) error { return q.d.ReadErr(e, flags) }

// Write appends an event of the application (fi_eq_write(3)).
func (q *EventQueue) Write(ev EQEvent, flags EQFlags) error { return q.d.Write(ev, flags) }

// SRead waits for an event and reads it as Read does (fi_eq_sread(3)).
func (q *EventQueue) SRead(ctx context.Context, ev *EQEvent, flags EQFlags) error {
	return q.d.SRead(ctx, ev, flags)
}

// WaitFD returns the descriptor to poll (FI_GETWAIT).
func (q *EventQueue) WaitFD() (int, error) { return q.d.WaitFD() }

// StrError describes a provider error number (fi_eq_strerror(3)).
func (q *EventQueue) StrError(provErrno int) string { return q.d.StrError(provErrno) }

// CntrFlags are the flags of CntrAttr (fi_cntr(3)).
type CntrFlags uint64

// CntrPeer is FI_PEER.
const CntrPeer CntrFlags = 1 << 43

// CntrAttr is struct fi_cntr_attr (fi_cntr(3)).
type CntrAttr struct {
	Events  CntrEvents
	WaitObj WaitObj
	WaitSet *WaitSet
	Flags   CntrFlags
}

// Counter counts completed operations, and failed ones separately (fi_cntr(3)).
type Counter struct{ d CounterDriver }

// counter returns the counter's driver, or nil if c is nil. driver returns the same as the argument of Bind.
func (c *Counter) counter() CounterDriver {
	if c == nil {
		return nil
	}
	return c.d
}

func (c *Counter) driver() any {
	if c == nil {
		return nil
	}
	return c.d
}

// Close frees the counter (fi_close(3)). The error is ErrBusy while an object counts here.
func (c *Counter) Close() error { return c.d.Close() }

// Value returns the number of successes (fi_cntr_read(3)). It makes progress.
func (c *Counter) Value() uint64 { return c.d.Value() }

// ErrValue returns the number of failures (fi_cntr_readerr(3)).
func (c *Counter) ErrValue() uint64 { return c.d.ErrValue() }

// Add adds to the number of successes (fi_cntr_add(3)).
func (c *Counter) Add(v uint64) error { return c.d.Change(CounterAdd, v) }

// AddErr adds to the number of failures (fi_cntr_adderr(3)).
func (c *Counter) AddErr(v uint64) error { return c.d.Change(CounterAddErr, v) }

// Set sets the number of successes (fi_cntr_set(3)).
func (c *Counter) Set(v uint64) error { return c.d.Change(CounterSet, v) }

// SetErr sets the number of failures (fi_cntr_seterr(3)).
func (c *Counter) SetErr(v uint64) error { return c.d.Change(CounterSetErr, v) }

// Wait waits until the number of successes reaches threshold (fi_cntr_wait(3)). It returns ErrAvail if the number
// of failures changes meanwhile, and ErrTimedOut if ctx ends first.
func (c *Counter) Wait(ctx context.Context, threshold uint64) error { return c.d.Wait(ctx, threshold) }

// WaitFD returns the descriptor to poll (FI_GETWAIT).
func (c *Counter) WaitFD() (int, error) { return c.d.WaitFD() }
