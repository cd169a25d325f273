package cq

import (
	"slices"
	"sync"
	"sync/atomic"

	"gofabric/core"
)

// This file has the event queue (fi_eq(3)).

// EventQueue is an event queue (fi_eq(3)). It implements core.EQDriver. It has a lock of its own, because several
// engines push events.
type EventQueue struct {
	mu     sync.Mutex
	items  []eqItem
	w      waitState
	fdIn   []Progress // engines that TryWait entered
	progs  []Progress // engines that reads advance, each once; a change makes a new slice
	uses   []int      // AddProgress calls per engine
	closed bool
	write  bool
	refs   atomic.Int32
}

type eqItem struct {
	ev  core.EQEvent
	err *core.EQErrEntry
}

// NewEventQueue opens an event queue (fi_eq_open(3)).
func NewEventQueue(attr core.EQAttr, set core.WaitDriver) (*EventQueue, error) {
	if attr.Flags&^(core.EQAffinity|core.EQWrite|core.EQPeer) != 0 {
		return nil, opError("fi_eq_open", core.ErrInval, "flags are EQAffinity and EQWrite")
	}
	eq := &EventQueue{write: attr.Flags&core.EQWrite != 0}
	obj := attr.WaitObj
	if obj == core.WaitMutexCond { // the application does not want a descriptor: the same as WaitUnspec here
		obj = core.WaitUnspec
	}
	if err := eq.w.init("fi_eq_open", obj, set); err != nil {
		return nil, err
	}
	if eq.w.set != nil {
		eq.w.set.add(eq)
	}
	return eq, nil
}

// AddProgress makes reads and waits advance p, until DelProgress was called as often. p may be locked.
func (eq *EventQueue) AddProgress(p Progress) {
	eq.mu.Lock()
	defer eq.mu.Unlock()
	if i := slices.Index(eq.progs, p); i >= 0 {
		eq.uses[i]++
		return
	}
	eq.progs = append(slices.Clone(eq.progs), p)
	eq.uses = append(eq.uses, 1)
	// Sleepers must enter the new engine, too: they check again. A sleeper on a descriptor checks when it is
	// readable.
	eq.wakeLocked()
}

// DelProgress ends AddProgress. Reads under way may still call p.
func (eq *EventQueue) DelProgress(p Progress) {
	eq.mu.Lock()
	defer eq.mu.Unlock()
	i := slices.Index(eq.progs, p)
	if i < 0 {
		return
	}
	if eq.uses[i]--; eq.uses[i] > 0 {
		return
	}
	eq.progs = slices.Delete(slices.Clone(eq.progs), i, i+1)
	eq.uses = slices.Delete(eq.uses, i, i+1)
	eq.wakeLocked()
}

func (eq *EventQueue) wakeLocked() {
	if eq.w.active {
		eq.w.wake()
	}
}

// Push appends an event. Any goroutine may call it. Engines may be locked.
func (eq *EventQueue) Push(ev core.EQEvent) { eq.push(eqItem{ev: ev}) }

// PushErr appends a failed operation. Any goroutine may call it. Engines may be locked.
func (eq *EventQueue) PushErr(e core.EQErrEntry) { eq.push(eqItem{err: &e}) }

func (eq *EventQueue) push(it eqItem) {
	eq.mu.Lock()
	if !eq.closed {
		eq.items = append(eq.items, it)
		eq.wakeLocked()
	}
	eq.mu.Unlock()
}

// Len returns the number of events in the queue. A listener accepts no more connection requests if the application
// does not read them.
func (eq *EventQueue) Len() int {
	eq.mu.Lock()
	defer eq.mu.Unlock()
	return len(eq.items)
}

// PurgeObject drops the events of an object that is closed, and the connection requests whose handle it is.
func (eq *EventQueue) PurgeObject(obj any) {
	eq.mu.Lock()
	defer eq.mu.Unlock()
	eq.items = slices.DeleteFunc(eq.items, func(it eqItem) bool {
		if it.err != nil {
			return it.err.Object == obj
		}
		return it.ev.Object == obj || it.ev.Info != nil && it.ev.Info.Handle == obj
	})
}

// Read takes the next event (fi_eq_read(3)). With EQPeek in flags it stays in the queue. ErrAvail means that the
// next entry is an error; see ReadErr.
func (eq *EventQueue) Read(ev *core.EQEvent, flags core.EQFlags) error {
	eq.pass()
	eq.mu.Lock()
	defer eq.unlockRead(eq.fdLeave())
	switch {
	case len(eq.items) == 0 && eq.closed:
		return core.ErrBadF
	case len(eq.items) == 0:
		return core.ErrAgain
	case eq.items[0].err != nil:
		return core.ErrAvail
	}
	if ev != nil {
		*ev = eq.items[0].ev
	}
	eq.drop(flags)
	return nil
}

// ReadErr takes the failed operation at the head (fi_eq_readerr(3)). With EQPeek in flags it stays in the queue.
// ErrAgain means that the next entry is not an error.
func (eq *EventQueue) ReadErr(e *core.EQErrEntry, flags core.EQFlags) error {
	eq.mu.Lock()
	defer eq.unlockRead(eq.fdLeave())
	if len(eq.items) == 0 || eq.items[0].err == nil {
		return core.ErrAgain
	}
	if e != nil {
		*e = *eq.items[0].err
	}
	eq.drop(flags)
	return nil
}

func (eq *EventQueue) drop(flags core.EQFlags) {
	if flags&core.EQPeek != 0 {
		return
	}
	eq.items[0] = eqItem{}
	eq.items = eq.items[1:]
	if len(eq.items) == 0 {
		eq.items = nil
	}
}

// Write appends an event of the application (fi_eq_write(3)). The error is ErrInval unless the queue was opened
// with EQWrite.
func (eq *EventQueue) Write(ev core.EQEvent, flags core.EQFlags) error {
	if !eq.write {
		return opError("fi_eq_write", core.ErrInval, "open the event queue with the flag EQWrite")
	}
	if flags != 0 {
		return opError("fi_eq_write", core.ErrBadFlags, "the flags must be 0")
	}
	eq.mu.Lock()
	closed := eq.closed
	eq.mu.Unlock()
	if closed {
		return core.ErrBadF
	}
	eq.Push(ev)
	return nil
}

// Ref counts an object that is bound to the queue. Unref ends it. Any goroutine may call them.
func (eq *EventQueue) Ref()   { eq.refs.Add(1) }
func (eq *EventQueue) Unref() { eq.refs.Add(-1) }

// Close frees the queue (fi_close(3)). The error is ErrBusy while an object is bound to it. SRead calls under way
// return ErrBadF.
func (eq *EventQueue) Close() error {
	eq.mu.Lock()
	if eq.closed {
		eq.mu.Unlock()
		return core.ErrBadF
	}
	if eq.refs.Load() > 0 {
		eq.mu.Unlock()
		return opError("fi_close(eq)", core.ErrBusy, "close the endpoints, domains and vectors bound to the queue first")
	}
	eq.closed, eq.items = true, nil
	eq.w.close()
	eq.unlockRead(eq.fdLeave())
	if eq.w.set != nil {
		eq.w.set.remove(eq)
	}
	return nil
}

// StrError describes a provider error number (fi_eq_strerror(3)).
func (eq *EventQueue) StrError(provErrno int) string { return strError(provErrno) }
