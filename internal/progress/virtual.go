package progress

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"gofabric/internal/netx"
)

// Engines and sources without descriptors: networks inside the process.

// NewVirtual starts an Engine that uses nothing of the system but the clock: its goroutine waits on channels and a time.Timer, so that under testing/synctest
// it is durably blocked while there is nothing to do, and the bubble's clock is its own. It has no sockets: Register fails. auto is as with New.
func NewVirtual(auto bool) *Engine {
	k := &virtualParker{wake: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	k.timer.Stop()
	return start(&Engine{parker: k, auto: auto})
}

// RegisterVirtual adds a source without a descriptor. Its Ready(true, false) is called after Notify, Expired as that of any; Poll never is, for there is
// nothing to ask. Locked.
func (e *Engine) RegisterVirtual(src Source) *Handle {
	h := &Handle{e: e, fd: netx.NoFD, src: src}
	e.takeSlot(h)
	return h
}

// Notify marks a source ready: one of RegisterVirtual, or a socket's that has something beside the socket. It may be called by anybody, with or without the lock of this or of any other Engine held, and does not
// wait for one: the next pass calls Ready, and where nobody passes the goroutine does, as for a socket. After Remove it does nothing.
func (h *Handle) Notify() {
	if h.e.marks.add(h) {
		h.e.parker.Wake()
	}
}

// marks are the sources that somebody marked ready and no pass has served yet.
type marks struct {
	some atomic.Bool // there are any: all that a pass reads of an Engine without such sources
	mu   sync.Mutex  // the last of all locks: nothing is called with it held
	list []*Handle
	idle []*Handle // the other one of two lists that take turns; guarded by the Engine's lock
	wake bool      // the goroutine wants to be woken, once
}

// add reports whether the goroutine is to be woken.
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

// arm says that the goroutine wants to be woken, or not. It reports whether it must be at once.
func (m *marks) arm(on bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wake = on && len(m.list) == 0
	return on && len(m.list) > 0
}

// serveMarked calls those marked until now; what is marked meanwhile is for the next pass. Locked.
func (e *Engine) serveMarked() {
	m := &e.marks
	m.mu.Lock()
	list := m.list
	m.list, m.idle = m.idle[:0], nil // a pass inside Ready would make itself a list of its own
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

// virtualParker is a parker of channels.
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
	case <-k.timer.C: // both
		why |= netx.WhyTimer
	default:
	}
	return why, nil
}

// ArmPoller has no poller to arm.
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
