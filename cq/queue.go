package cq

import (
	"cmp"
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"gofabric/core"
)

// This file has the completion queue: a ring that grows.

const (
	defaultSize = 256  // initial number of entries without a hint
	minSize     = 16   // smallest initial number of entries
	maxFirst    = 1024 // largest initial number of entries, for any hint
	passEvery   = 64   // a reader that never empties the queue makes a pass on every 64th read
	shrinkAfter = 4096 // idle passes after which a ring that grew in a burst halves its size
	noError     = math.MaxUint64
	errKeep     = 64 // a queue that is drained keeps room for this number of errors
)

// Queue is a completion queue (fi_cq(3)). It implements core.CQDriver.
//
// head and tail count the entries that were read and written since the queue was last empty. Errors are in a list
// of their own, each with the tail at its push. So an error keeps its position among the successes, which need no
// field for it.
type Queue struct {
	p    Progress
	ring []Entry
	mask uint64
	head uint64
	tail uint64
	// limit is the tail at which a push takes the slow path: the ring is full, or a sleeper waits for the next
	// push.
	limit   uint64
	emptied uint64 // times that the queue became empty
	errAt   uint64 // position of the first error, noError if none
	errs    []errAt
	w       waitState

	streak  uint32 // reads since the last pass
	idle    uint32 // passes without completions since the ring last changed its size
	peak    uint64 // largest number of entries that a read found since then
	first   int    // initial number of entries
	signals uint64 // Signal calls that found a waiter
	sticky  bool   // Signal was called without a waiter
	sreads  int    // SRead calls under way
	errOut  int    // number of errs that were read
	closed  bool
	lean    bool // see Lean

	format core.CQFormat
	refs   atomic.Int32

	// Spin is the time for which SRead makes passes before it sleeps. Set it before the first SRead.
	Spin time.Duration
}

// Entry is a completion in a Queue: the reader's entry, and the sender, AddrNotAvail if it is unknown or not
// needed.
type Entry struct {
	core.CQEntry
	Src core.FIAddr
}

type errAt struct {
	at uint64
	e  core.CQErrEntry
}

// New opens a completion queue (fi_cq_open(3)) under the lock of p.
func New(attr core.CQAttr, set core.WaitDriver, p Progress) (*Queue, error) {
	if attr.Format > core.CQFormatTagged {
		return nil, opError("fi_cq_open", core.ErrInval, "formats are CQFormatContext, CQFormatMsg, CQFormatData and CQFormatTagged")
	}
	if attr.Flags&^(core.CQAffinity|core.CQPeer) != 0 {
		return nil, opError("fi_cq_open", core.ErrInval, "the only flag is Affinity")
	}
	if attr.Size < 0 {
		return nil, opError("fi_cq_open", core.ErrInval, "the size is negative")
	}
	q := &Queue{p: p, format: attr.Format, errAt: noError, Spin: DefaultSpin}
	if q.format == core.CQFormatUnspec {
		q.format = core.CQFormatContext
	}
	q.lean = q.format == core.CQFormatContext || q.format == core.CQFormatMsg
	n := cmp.Or(attr.Size, defaultSize)
	q.first = 1 << bits.Len(uint(min(max(n, minSize), maxFirst)-1))
	q.resize(q.first)
	if err := q.w.init("fi_cq_open", attr.WaitObj, set); err != nil {
		return nil, err
	}
	if q.w.set != nil {
		q.w.set.add(q)
	}
	return q, nil
}

// Format returns the format of the queue. CQFormatUnspec became CQFormatContext.
func (q *Queue) Format() core.CQFormat { return q.format }

// Slot appends a completion and returns its entry. The caller must set every field at once, because the entry holds
// an old completion. It is valid until the next Slot or until the caller unlocks. Locked.
func (q *Queue) Slot() *Entry {
	if q.tail == q.limit {
		q.slow()
	}
	s := &q.ring[q.tail&q.mask]
	q.tail++
	return s
}

// Depth returns the number of unread completions, errors included, and a number that changes with each read that
// takes some. Locked.
func (q *Queue) Depth() (n int, reads uint64) {
	return int(q.tail-q.head) + len(q.errs) - q.errOut, q.emptied<<32 + q.head&0xffffffff + uint64(q.errOut)
}

// Lean reports that readers only get context, flags and length. The other fields of an Entry are always zero in
// such a queue: the caller of Slot need not set them.
func (q *Queue) Lean() bool { return q.lean }

// Push appends a copy of a completion. src is the sender, AddrNotAvail if it is unknown or not needed. Locked.
func (q *Queue) Push(e *core.CQEntry, src core.FIAddr) {
	s := q.Slot()
	s.CQEntry, s.Src = *e, src
	if q.lean {
		s.Buf, s.Data, s.Tag = nil, 0, 0
	}
}

// slow makes room and wakes sleepers. The caller writes the entry after the wake-up, but holds the lock until then,
// which a woken reader needs.
func (q *Queue) slow() {
	if q.w.active {
		q.w.wake()
	}
	if q.tail-q.head == uint64(len(q.ring)) {
		q.resize(2 * len(q.ring))
	}
	q.setLimit()
}

// PushErr appends a copy of the completion of a failed operation. Locked.
func (q *Queue) PushErr(e *core.CQErrEntry) {
	if len(q.errs) == q.errOut {
		q.errAt = q.tail
	}
	if len(q.errs) == cap(q.errs) && q.errOut >= len(q.errs)/2 { // the entries that were read make room
		n := copy(q.errs, q.errs[q.errOut:])
		clear(q.errs[n:])
		q.errs, q.errOut = q.errs[:n], 0
	}
	q.errs = append(q.errs, errAt{q.tail, *e})
	if q.w.active {
		q.w.wake()
		q.setLimit()
	}
}

// setLimit must be called whenever head has changed or a waiter came or went.
func (q *Queue) setLimit() {
	q.limit = q.head + uint64(len(q.ring))
	if q.w.active {
		q.limit = q.tail
	}
}

func (q *Queue) resize(size int) {
	ring, mask := make([]Entry, size), uint64(size-1)
	for i := q.head; i != q.tail; i++ {
		ring[i&mask] = q.ring[i&q.mask]
	}
	q.ring, q.mask = ring, mask
	q.idle, q.peak = 0, 0
	q.setLimit()
}

// Ref counts an endpoint that is bound to the queue. Unref ends it. Any goroutine may call them.
func (q *Queue) Ref()   { q.refs.Add(1) }
func (q *Queue) Unref() { q.refs.Add(-1) }

// Close frees the queue (fi_close(3)). The error is ErrBusy while endpoints are bound to it. SRead calls under way
// return ErrBadF.
func (q *Queue) Close() error {
	q.p.Lock()
	if q.closed {
		q.p.Unlock()
		return core.ErrBadF
	}
	if q.refs.Load() > 0 {
		q.p.Unlock()
		return opError("fi_close(cq)", core.ErrBusy, "close the endpoints bound to the queue first")
	}
	q.closed = true
	q.head, q.errs, q.errOut, q.errAt = q.tail, nil, 0, noError
	q.w.close()
	q.disarm()
	q.resize(minSize)
	q.p.Unlock()
	if q.w.set != nil {
		q.w.set.remove(q)
	}
	return nil
}

// StrError describes a provider error number (fi_cq_strerror(3)): gofabric's providers use libfabric's numbers or
// the system's.
func (q *Queue) StrError(provErrno int) string { return strError(provErrno) }

func strError(n int) string {
	if n < 0 {
		n = -n
	}
	return core.Errno(n).Error()
}
