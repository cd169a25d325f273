package cq

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"gofabric/core"
)

// The completion queue: a ring that grows.

const (
	defaultSize = 256  // entries at first, without a hint
	minSize     = 16   // entries at first, at least
	maxFirst    = 1024 // entries at first, whatever the hint
	passEvery   = 64   // a consumer who never empties the queue makes a pass on every so many reads
	shrinkAfter = 4096 // idle passes after which a ring that a burst has grown gives half of it back
	noError     = math.MaxUint64
	errKeep     = 64 // errors that a drained queue keeps room for
)

// Queue is a completion queue (fi_cq(3)). It implements core.CQDriver.
//
// Head and tail count entries read and written since the queue was last empty. Errors are kept apart, each with the tail it was pushed at, so that it keeps its place among the
// successes without costing them a field.
type Queue struct {
	p    Progress
	ring []Entry
	mask uint64
	head uint64
	tail uint64
	// limit is the tail at which a push takes the slow path: the ring is full, or somebody waits for the next push.
	limit   uint64
	emptied uint64 // times that it was emptied
	errAt   uint64 // position of the first error, noError if none
	errs    []errAt
	w       waitState

	streak  uint32 // reads since the last pass
	idle    uint32 // passes since the last growth or shrinking that brought nothing
	peak    uint64 // most entries a read found since then
	first   int    // entries at first
	signals uint64 // Signal calls that found somebody waiting
	sticky  bool   // Signal was called when nobody waited
	sreads  int    // SRead calls under way
	errOut  int    // of errs, those that were read
	closed  bool
	lean    bool // see Lean

	format core.CQFormat
	refs   atomic.Int32

	// Spin is how long SRead makes passes before it sleeps. Set it before the first SRead.
	Spin time.Duration
}

// Entry is a completion in a Queue: what readers get, and the sender, AddrNotAvail if unknown or not wanted.
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
	n := attr.Size
	if n == 0 {
		n = defaultSize
	}
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

// Format is the format of the queue; CQFormatUnspec became CQFormatContext.
func (q *Queue) Format() core.CQFormat { return q.format }

// Slot appends a completion and returns the entry for the caller to fill in at once, every field of it: it still holds what it was used for before.
// It is valid until the next Slot or the end of the lock. Locked.
func (q *Queue) Slot() *Entry {
	if q.tail == q.limit {
		q.slow()
	}
	s := &q.ring[q.tail&q.mask]
	q.tail++
	return s
}

// Depth is how many completions nobody has read, errors included, and a number that changes when some are read. Locked.
func (q *Queue) Depth() (n int, reads uint64) {
	return int(q.tail-q.head) + len(q.errs) - q.errOut, q.emptied<<32 + q.head&0xffffffff + uint64(q.errOut)
}

// Lean says that readers get nothing but context, flags and length: the other fields of an Entry, which a Slot of such a queue never holds anything in, need
// not be filled in.
func (q *Queue) Lean() bool { return q.lean }

// Push appends a completion; e is copied. src is the sender, AddrNotAvail if unknown or not wanted. Locked.
func (q *Queue) Push(e *core.CQEntry, src core.FIAddr) {
	s := q.Slot()
	s.CQEntry, s.Src = *e, src
	if q.lean {
		s.Buf, s.Data, s.Tag = nil, 0, 0
	}
}

// slow makes room and wakes. The entry is written after the wake-up, but under the lock that who wakes up needs to read it.
func (q *Queue) slow() {
	if q.w.active {
		q.w.wake()
	}
	if q.tail-q.head == uint64(len(q.ring)) {
		q.resize(2 * len(q.ring))
	}
	q.setLimit()
}

// PushErr appends the completion of a failed operation; e is copied. Locked.
func (q *Queue) PushErr(e *core.CQErrEntry) {
	if len(q.errs) == q.errOut {
		q.errAt = q.tail
	}
	if len(q.errs) == cap(q.errs) && q.errOut >= len(q.errs)/2 { // room in front will do
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

// setLimit is called whenever head moved or somebody began or ceased to wait.
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

// Ref counts an endpoint bound to the queue, Unref ends it. Any goroutine.
func (q *Queue) Ref()   { q.refs.Add(1) }
func (q *Queue) Unref() { q.refs.Add(-1) }

// Close frees the queue (fi_close(3)): ErrBusy while endpoints are bound to it. SRead calls under way return ErrBadF.
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

// StrError describes a provider error number (fi_cq_strerror(3)): those of gofabric's providers are libfabric's or the system's own.
func (q *Queue) StrError(provErrno int) string { return strError(provErrno) }

func strError(n int) string {
	if n < 0 {
		n = -n
	}
	return core.Errno(n).Error()
}
