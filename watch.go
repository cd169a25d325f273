package gofabric

import (
	"context"
	"time"

	"gofabric/core"
)

// Connections whose receives are posted to a shared receive context (fi_srx_context(3)): those receives belong to no connection, so that the end of one
// does not end them. Who leads looks at the event queues of such endpoints from time to time instead.

// watchEvery is how soon a receive notices that its connection has ended.
const watchEvery = 50 * time.Millisecond

// watch adds an endpoint, unwatch removes it.
func (h *hub) watch(e *Endpoint) {
	h.mu.Lock()
	h.watched = append(h.watched, e)
	h.mu.Unlock()
}

func (h *hub) unwatch(e *Endpoint) {
	h.mu.Lock()
	for i, w := range h.watched {
		if w == e {
			h.watched = append(h.watched[:i:i], h.watched[i+1:]...)
			break
		}
	}
	h.mu.Unlock()
}

// readWatching is a read of the queue that ends after watchEvery.
func (h *hub) readWatching(ctx context.Context) (int, error) {
	short, cancel := context.WithTimeout(ctx, watchEvery)
	defer cancel()
	return h.cq.SReadFrom(short, h.entries[:], h.src[:])
}

// look cancels what waits on connections that have ended. Locked.
func (h *hub) look() {
	for _, e := range h.watched {
		e.mu.RLock()
		if !e.closed && e.ended() {
			for _, o := range h.ops {
				if o.ep == e && !o.done {
					e.srx.Cancel(o.context())
				}
			}
		}
		e.mu.RUnlock()
	}
}

// ended reports whether the connection has ended. Called by look only.
func (e *Endpoint) ended() bool {
	var ev core.EQEvent
	for !e.lost.Load() {
		switch err := e.eq.Read(&ev, 0); {
		case err == core.ErrAvail:
			var bad core.EQErrEntry
			e.eq.ReadErr(&bad, 0)
			e.lost.Store(true)
		case err != nil:
			return false
		case ev.Type == core.EventShutdown:
			e.lost.Store(true)
		}
	}
	return true
}
