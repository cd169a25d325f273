package table

import (
	"container/heap"
	"fmt"
	"time"

	"gofabric/cmd/fabricd/internal/directory/store"
)

// lease is a time that entries share.
type lease struct {
	id      string
	uid     int
	ttl     time.Duration
	expires time.Time
	entries map[*store.Entry]struct{} // never empty
	index   int                       // in the heap
}

// leases are all that live: by id, and as a heap by their end.
type leases struct {
	byID map[string]*lease
	heap byEnd
}

// hold adds an entry to its lease, which begins now if it is new.
func (s *leases) hold(e *store.Entry, now time.Time) {
	l := s.byID[e.Lease]
	if l == nil {
		l = &lease{id: e.Lease, uid: e.UID, ttl: e.TTL, expires: now.Add(e.TTL), entries: map[*store.Entry]struct{}{}}
		s.byID[e.Lease] = l
		heap.Push(&s.heap, l)
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
		heap.Remove(&s.heap, l.index)
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
	heap.Fix(&s.heap, l.index)
}

// Restart gives every lease its whole time, and at least grace, from now: nobody could renew while the daemon was away.
func (t *Table) Restart(now time.Time, grace time.Duration) {
	for _, l := range t.leases.byID {
		t.leases.set(l, now.Add(max(l.ttl, grace)))
	}
}

// Next returns when the next lease ends; zero if there is none.
func (t *Table) Next() time.Time {
	if len(t.leases.heap) == 0 {
		return time.Time{}
	}
	return t.leases.heap[0].expires
}

// Expire removes entries whose leases ended, at most limit leases at once, and returns the changes.
func (t *Table) Expire(now time.Time, limit int) (events []store.Event) {
	for range limit {
		if len(t.leases.heap) == 0 || t.leases.heap[0].expires.After(now) {
			break
		}
		l := t.leases.heap[0]
		for e := range l.entries { // the last one removes the lease
			events = append(events, t.end(now, e, store.Expired))
		}
	}
	return events
}

// byEnd is a heap.Interface.
type byEnd []*lease

func (h byEnd) Len() int           { return len(h) }
func (h byEnd) Less(i, j int) bool { return h[i].expires.Before(h[j].expires) }
func (h byEnd) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *byEnd) Push(x any) {
	l := x.(*lease)
	l.index = len(*h)
	*h = append(*h, l)
}
func (h *byEnd) Pop() any {
	last := len(*h) - 1
	l := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return l
}
