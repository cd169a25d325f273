package progress

import (
	"time"

	"gofabric/internal/mono"
)

// host is the Engine as its batch.Scheduler sees it.
type host Engine

// Now implements batch.Host.
func (h *host) Now() mono.Time { return mono.Now() }

// WakeIn implements batch.Host.
func (h *host) WakeIn(now mono.Time, ns int64) bool {
	return (*Engine)(h).armTimer(now, time.Duration(ns))
}

// Polled implements batch.Host. It is false with manual progress, where no tick would notice that the application
// has stopped making passes.
func (h *host) Polled() bool { return h.auto && !h.armed }
