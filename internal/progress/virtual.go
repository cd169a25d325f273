package progress

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"gofabric/internal/netx"
)

// Engines and sources without descriptors, for networks inside the process.

// NewVirtual starts an Engine without descriptors. Its goroutine waits on channels and a time.Timer. Under
// testing/synctest it is durably blocked while there is nothing to do, and its clock is the bubble's. It has no
// sockets: Register fails. auto is as with New.
func NewVirtual(auto bool) *Engine {
	k := &virtualParker{wake: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	k.timer.Stop()
	return start(&Engine{parker: k, auto: auto})
}

// RegisterVirtual adds a source without a descriptor. The Engine calls its Ready(true, false) after Notify, and
// Expired as for any source. It never calls Poll. Locked.
func (e *Engine) RegisterVirtual(src Source) *Handle {
	h := &Handle{e: e, fd: netx.NoFD, src: src}
	e.takeSlot(h)
	return h
}

// Notify marks a source ready: one of RegisterVirtual, or a socket's source that also receives by another way than
// the socket. Any goroutine may call it, with or without the lock of this or any other Engine held. It waits for no
// such lock. The next pass calls Ready; while no caller makes passes the goroutine does, as for a socket. After
// Remove it does nothing.
func (h *Handle) Notify() {
	if h.e.marks.add(h) {
		h.e.parker.Wake()
	}
}

// marks are the sources that Notify marked and no pass has served yet.
type marks struct {
	some atomic.Bool // list is not empty; passes read only this while no source is marked
	mu   sync.Mutex  // innermost lock: no function is called with it held
	list []*Handle
	idle []*Handle // the empty one of two lists that take turns; guarded by the Engine's lock
	wake bool      // the goroutine is to be woken, once
}

// add marks h. It reports whether the caller must wake the goroutine.
func (m *marks) add(h *Handle) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h.marked {
		return false
	}
	h.marked = true
	m.list = append(m.list, h)
	m.some.Store(true)
	wake := m.wake
	m.wake = false
	return wake
}

// arm sets whether add reports that the goroutine must be woken. It reports whether the goroutine must be woken
// now.
func (m *marks) arm(on bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wake = on && len(m.list) == 0
	return on && len(m.list) > 0
}

// serveMarked calls Ready of the sources marked until now. Those marked meanwhile wait for the next pass. Locked.
func (e *Engine) serveMarked() {
	m := &e.marks
	m.mu.Lock()
	list := m.list
	m.list, m.idle = m.idle[:0], nil // nil: a pass inside Ready must not use the same list
	m.some.Store(false)
	for _, h := range list {
		h.marked = false
	}
	m.mu.Unlock()
	for i, h := range list {
		list[i] = nil
		if h.slot >= 0 && e.slots[h.slot] == h {
			h.src.Ready(true, false)
		}
	}
	m.idle = list[:0]
}

// virtualParker is a parker made of channels.
type virtualParker struct {
	wake   chan struct{}
	timer  *time.Timer
	closed atomic.Bool
}

func (k *virtualParker) Park() (netx.Why, error) {
	if k.closed.Load() {
		return 0, os.ErrClosed
	}
	var why netx.Why
	select {
	case <-k.wake:
		why = netx.WhyWake
	case <-k.timer.C:
		return netx.WhyTimer, nil
	}
	select {
	case <-k.timer.C: // both have come
		why |= netx.WhyTimer
	default:
	}
	return why, nil
}

// ArmPoller does nothing, as there is no poller.
func (k *virtualParker) ArmPoller(bool) error { return nil }

func (k *virtualParker) SetTimer(d time.Duration) error {
	switch {
	case k.closed.Load():
		return os.ErrClosed
	case d == 0:
		k.timer.Stop()
	default:
		k.timer.Reset(d)
	}
	return nil
}

func (k *virtualParker) Wake() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

func (k *virtualParker) Close() error {
	k.closed.Store(true)
	k.timer.Stop()
	return nil
}
