package table

import (
	"fmt"
	"time"

	"gofabric/cmd/fabricd/internal/directory/store"
	"gofabric/internal/queue"
)

// lease is a time that entries share.
type lease struct {
	id      string
	uid     int
	ttl     time.Duration
	expires time.Time
	entries map[*store.Entry]struct{} // never empty
	place   queue.Place               // in leases.byEnd
}

// leases are all that live: by id, and by their end.
type leases struct {
	byID  map[string]*lease
	byEnd queue.Heap[time.Duration, *lease] // after epoch
	epoch time.Time                         // when the first one began
}

// hold adds an entry to its lease, which begins now if it is new.
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

// drop takes an entry from its lease, which ends with its last one.
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

// Renew makes a lease live for its whole time from now.
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

// Restart gives every lease its whole time, and at least grace, from now: nobody could renew while the daemon was away.
func (t *Table) Restart(now time.Time, grace time.Duration) {
	for _, l := range t.leases.byID {
		t.leases.set(l, now.Add(max(l.ttl, grace)))
	}
}

// Next returns when the next lease ends; zero if there is none.
func (t *Table) Next() time.Time {
	if t.leases.byEnd.Len() == 0 {
		return time.Time{}
	}
	return t.leases.byEnd.Min().expires
}

// Expire removes entries whose leases ended, at most limit leases at once, and returns the changes.
func (t *Table) Expire(now time.Time, limit int) (events []store.Event) {
	for range limit {
		if t.leases.byEnd.Len() == 0 || t.leases.byEnd.Min().expires.After(now) {
			break
		}
		l := t.leases.byEnd.Min()
		for e := range l.entries { // the last one removes the lease
			events = append(events, t.end(now, e, store.Expired))
		}
	}
	return events
}
