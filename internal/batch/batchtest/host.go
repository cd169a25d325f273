// Package batchtest gives tests of drivers a batch.Scheduler whose clock they control. Package batch tests how its
// rules depend on time. Tests of drivers check what a driver reports to the scheduler, with a clock that stands still.
package batchtest

import (
	"time"

	"gofabric/internal/batch"
	"gofabric/internal/mono"
)

// Host is a domain whose application polls, and whose clock stands still. Its timer never fires.
type Host struct{ now mono.Time }

// Take gives s a clock that stands still. It is ahead of the real clock, by which the domain may look for messages
// that have waited for too long. The caller must hold the lock that guards s, here and in Advance.
func Take(s *batch.Scheduler) *Host {
	h := &Host{mono.Now().Add(24 * time.Hour)}
	s.Init(h)
	return h
}

// Advance moves the clock forward.
func (h *Host) Advance(d time.Duration) { h.now = h.now.Add(d) }

// Now implements batch.Host.
func (h *Host) Now() mono.Time { return h.now }

// WakeIn implements batch.Host.
func (h *Host) WakeIn(mono.Time, int64) bool { return true }

// Polled implements batch.Host.
func (h *Host) Polled() bool { return true }
