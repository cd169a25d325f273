// Package batchtest gives tests of drivers a batch.Scheduler whose clock they move. What the rules of package batch make of time is tested there;
// what a driver tells the scheduler is tested without a clock that runs on.
package batchtest

import (
	"time"

	"gofabric/internal/batch"
	"gofabric/internal/mono"
)

// Host is a domain whose application polls, and whose clock stands still. Its timer never comes.
type Host struct{ now mono.Time }

// Take makes the clock of s stand. It is ahead of the real one, by which the domain may look for what has waited long enough.
// The lock that guards s must be held, here and in Advance.
func Take(s *batch.Scheduler) *Host {
	h := &Host{mono.Now().Add(24 * time.Hour)}
	s.Init(h)
	return h
}

// Advance moves the clock on.
func (h *Host) Advance(d time.Duration) { h.now = h.now.Add(d) }

// Now implements batch.Host.
func (h *Host) Now() mono.Time { return h.now }

// WakeIn implements batch.Host.
func (h *Host) WakeIn(mono.Time, int64) bool { return true }

// Polled implements batch.Host.
func (h *Host) Polled() bool { return true }
