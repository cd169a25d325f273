package table

import (
	"fmt"
	"time"

	"gofabric/cmd/fabricd/internal/directory/store"
	"gofabric/internal/queue"
)

// lease is a lifetime that entries share.
type lease struct {
	id      string
	uid     int
	ttl     time.Duration
	expires time.Time
	entries map[*store.Entry]struct{} // never empty
	place   queue.Place               // in leases.byEnd
}

// leases has all leases: by id, and by their end.
type leases struct {
	byID  map[string]*lease
	byEnd queue.Heap[time.Duration, *lease] // after epoch
	epoch time.Time                         // start of the first lease
}

// hold adds an entry to its lease. A new lease starts now.
func (s *leases) hold(e *store.Entry, now time.Time) {
	l := s.byID[e.Lease]
	if l == nil {
		l = &lease{id: e.Lease, uid: e.UID, ttl: e.TTL, entries: map[*store.Entry]struct{}{}}
		s.byID[e.Lease] = l
		if s.epoch.IsZero() {
			s.epoch = now
		}
		s.set(l, now.Add(e.TTL))
	}
	l.entries[e] = struct{}{}
}

// drop removes an entry from its lease. The lease ends with its last entry.
func (s *leases) drop(e *store.Entry) {
	l := s.byID[e.Lease]
	if l == nil {
		return
	}
	delete(l.entries, e)
	if len(l.entries) == 0 {
		s.byEnd.Remove(l.place)
		delete(s.byID, l.id)
	}
}

// Renew restarts the full time of a lease now.
func (t *Table) Renew(now time.Time, who store.Caller, id string) (time.Time, error) {
	l := t.leases.byID[id]
	if l == nil || !l.expires.After(now) {
		return time.Time{}, fmt.Errorf("lease %q: %w", id, store.ErrNotFound)
	}
	if !who.May(l.uid) {
		return time.Time{}, fmt.Errorf("lease %q: %w", id, store.ErrNotYours)
	}
	t.leases.set(l, now.Add(l.ttl))
	return l.expires, nil
}

func (s *leases) set(l *lease, expires time.Time) {
	l.expires = expires
	s.byEnd.Set(expires.Sub(s.epoch), l, &l.place)
}

// Restart restarts every lease now, for at least grace: clients could not renew while the daemon was down.
func (t *Table) Restart(now time.Time, grace time.Duration) {
	for _, l := range t.leases.byID {
		t.leases.set(l, now.Add(max(l.ttl, grace)))
	}
}

// Next returns the end of the next lease, zero if there is none.
func (t *Table) Next() time.Time {
	if t.leases.byEnd.Len() == 0 {
		return time.Time{}
	}
	return t.leases.byEnd.Min().expires
}

// Expire removes entries of at most limit leases that have ended, and returns the changes.
func (t *Table) Expire(now time.Time, limit int) (events []store.Event) {
	for range limit {
		if t.leases.byEnd.Len() == 0 || t.leases.byEnd.Min().expires.After(now) {
			break
		}
		l := t.leases.byEnd.Min()
		for e := range l.entries { // the removal of the last entry removes the lease
			events = append(events, t.end(now, e, store.Expired))
		}
	}
	return events
}
