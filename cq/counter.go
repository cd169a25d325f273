package cq

import (
	"math"
	"sync/atomic"
	"time"

	"gofabric/core"
)

// This file has the counter (fi_cntr(3)).

// Counter counts completed operations (fi_cntr(3)). It implements core.CounterDriver.
type Counter struct {
	p    Progress
	val  uint64
	errs uint64
	// wakeAt is the value that a sleeper or a watcher waits for: the smallest threshold, 0 for any change, Never
	// without sleepers and watchers.
	wakeAt uint64
	watch  Watcher
	w      waitState
	bytes  bool
	closed bool

	seenVal, seenErr uint64 // as the last poll of a set reported them

	refs atomic.Int32

	// Spin is the time for which Wait makes passes before it sleeps. Set it before the first Wait.
	Spin time.Duration
}

// Never is a count that a counter never reaches.
const Never = math.MaxUint64

// Watcher receives a call when a counter reaches a count. Triggered operations use it (fi_trigger(3)).
type Watcher interface {
	// Reached takes the numbers of successes and failures, and returns the number of successes at which the counter
	// calls it again: Never for no further call. The counter also calls it after every failure and after every
	// change by the application. Reached must not call the counter. Locked.
	Reached(val, errs uint64) (next uint64)
}

// Counts returns the numbers of successes and failures. Locked.
func (c *Counter) Counts() (val, errs uint64) { return c.val, c.errs }

// Watch sets the watcher and calls it at once. A counter has one watcher. A second Watch calls it again. Locked.
func (c *Counter) Watch(w Watcher) {
	c.watch = w
	c.wakeAt = min(c.wakeAt, w.Reached(c.val, c.errs))
}

// NewCounter opens a counter (fi_cntr_open(3)) under the lock of p.
func NewCounter(attr core.CntrAttr, set core.WaitDriver, p Progress) (*Counter, error) {
	if attr.Events > core.CntrEventsBytes {
		return nil, opError("fi_cntr_open", core.ErrInval, "events are CntrEventsComp and CntrEventsBytes")
	}
	if attr.Flags&^core.CntrPeer != 0 {
		return nil, opError("fi_cntr_open", core.ErrInval, "counters take no flags")
	}
	c := &Counter{p: p, bytes: attr.Events == core.CntrEventsBytes, wakeAt: Never, Spin: DefaultSpin}
	if err := c.w.init("fi_cntr_open", attr.WaitObj, set); err != nil {
		return nil, err
	}
	if c.w.set != nil {
		c.w.set.add(c)
	}
	return c, nil
}

// Complete counts one completed operation of n bytes: it adds 1, or n to a counter of bytes. Locked.
func (c *Counter) Complete(n int) {
	add := uint64(1)
	if c.bytes {
		add = uint64(n)
	}
	c.add(add)
}

// Inc counts n completed operations. It does nothing on a counter of bytes. Locked.
func (c *Counter) Inc(n uint64) {
	if !c.bytes {
		c.add(n)
	}
}

// AddBytes counts n bytes. It does nothing on a counter of operations. Locked.
func (c *Counter) AddBytes(n uint64) {
	if c.bytes {
		c.add(n)
	}
}

// IncErr counts a failed operation. Locked.
func (c *Counter) IncErr() {
	c.errs++
	c.wake()
}

func (c *Counter) add(n uint64) {
	c.val += n
	if c.val >= c.wakeAt {
		c.wake()
	}
}

//go:noinline
func (c *Counter) wake() {
	if c.w.active {
		c.w.wake()
	}
	c.wakeAt = Never
	if c.watch != nil {
		c.wakeAt = c.watch.Reached(c.val, c.errs)
	}
}

// Value makes a pass and returns the number of completed operations (fi_cntr_read(3)).
func (c *Counter) Value() uint64 {
	c.p.Lock()
	defer c.p.Unlock()
	c.disarm()
	c.p.Pass()
	return c.val
}

// ErrValue makes a pass and returns the number of failed operations (fi_cntr_readerr(3)).
func (c *Counter) ErrValue() uint64 {
	c.p.Lock()
	defer c.p.Unlock()
	c.disarm()
	c.p.Pass()
	return c.errs
}

// Change changes a count and wakes the waiters (fi_cntr_add(3) and so on).
func (c *Counter) Change(what core.CounterChange, v uint64) error {
	c.p.Lock()
	defer c.p.Unlock()
	if c.closed {
		return core.ErrBadF
	}
	count := &c.val
	if what == core.CounterAddErr || what == core.CounterSetErr {
		count = &c.errs
	}
	if what == core.CounterAdd || what == core.CounterAddErr {
		v += *count
	}
	*count = v
	c.wake()
	return nil
}

// Put is Add or Set for callers that hold the lock.
func (c *Counter) Put(v uint64, add bool) {
	if add {
		v += c.val
	}
	c.val = v
	c.wake()
}

// Ref counts an object that uses the counter (an endpoint, a memory region). Unref ends it. Any goroutine may call
// them.
func (c *Counter) Ref()   { c.refs.Add(1) }
func (c *Counter) Unref() { c.refs.Add(-1) }

// Close frees the counter (fi_close(3)). The error is ErrBusy while an object is bound to it. Wait calls under way
// return ErrBadF.
func (c *Counter) Close() error {
	c.p.Lock()
	if c.closed {
		c.p.Unlock()
		return core.ErrBadF
	}
	if c.refs.Load() > 0 {
		c.p.Unlock()
		return opError("fi_close(cntr)", core.ErrBusy, "close the endpoints and memory regions bound to the counter first")
	}
	c.closed = true
	c.w.close()
	c.wakeAt, c.watch = Never, nil
	c.disarm()
	c.p.Unlock()
	if c.w.set != nil {
		c.w.set.remove(c)
	}
	return nil
}
