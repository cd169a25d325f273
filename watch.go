package gofabric

import (
	"time"

	"gofabric/core"
)

// This file handles connections that end while a call waits. A provider ends most operations of a lost connection
// itself, but not all: receives in a shared receive context (fi_srx_context(3)) belong to no connection, and an
// operation that was posted after the end may wait for ever. So the leader periodically checks the event queues of
// connected endpoints with calls in progress.

// watchEvery is the time after which such a call notices that its connection has ended.
const watchEvery = 100 * time.Millisecond

// watch counts a call of a connected endpoint. unwatch ends it.
func (h *hub) watch()   { h.count(1) }
func (h *hub) unwatch() { h.count(-1) }

func (h *hub) count(n int) {
	h.mu.Lock()
	h.connected += n
	h.mu.Unlock()
}

// startTicks runs the timer while a goroutine leads. Stopping and starting it with every call would cost more than
// the calls. Locked.
func (h *hub) startTicks() {
	if h.connected == 0 || h.ticking {
		return
	}
	h.ticking = true
	if h.timer == nil {
		h.timer = time.AfterFunc(watchEvery, h.tick)
	} else {
		h.timer.Reset(watchEvery)
	}
}

// tick makes the leader check.
func (h *hub) tick() {
	h.mu.Lock()
	h.ticking = h.leading && h.connected > 0
	if !h.ticking {
		h.mu.Unlock()
		return
	}
	h.due = true
	h.timer.Reset(watchEvery)
	h.mu.Unlock()
	h.cq.Signal()
}

// look cancels operations on connections that have ended. Locked.
func (h *hub) look() {
	for _, o := range h.ops {
		e := o.ep
		if e == nil || o.done || e.eq == nil {
			continue
		}
		e.mu.RLock()
		if !e.closed && (e.ended() || o.recv && e.srx != nil && e.peerClosed()) {
			e.cancel(o)
		}
		e.mu.RUnlock()
	}
}

// ended reports whether the connection has ended. It is called with mu held for reading.
func (e *Endpoint) ended() bool {
	var ev core.EQEvent
	for !e.lost.Load() {
		switch err := e.eq.Read(&ev, 0); {
		case err == core.ErrAvail:
			var bad core.EQErrEntry
			if e.eq.ReadErr(&bad, 0) == nil {
				e.lost.Store(true)
			}
		case err != nil:
			return false
		case ev.Type == core.EventShutdown:
			e.lost.Store(true)
		}
	}
	return true
}
