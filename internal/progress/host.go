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

// Polled implements batch.Host: with manual progress no tick notices that the application has stopped.
func (h *host) Polled() bool { return h.auto && !h.armed }
