package table

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/google/btree"

	"gofabric/cmd/fabricd/internal/directory/store"
)

// Table is the state of a directory.
type Table struct {
	tree     *btree.BTreeG[*store.Entry] // by kind, then key
	leases   leases
	users    map[int]*store.Usage
	total    store.Usage
	limits   store.Limits
	revision uint64
	replaced []Replaced // since the last call of Replaced
}

// degree is the degree of the tree: its nodes have about this number of entries.
const degree = 32

// New returns an empty table.
func New(limits store.Limits) *Table {
	return &Table{
		tree:   btree.NewG(degree, less),
		leases: leases{byID: map[string]*lease{}},
		users:  map[int]*store.Usage{},
		limits: limits,
	}
}

func less(a, b *store.Entry) bool {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Key, b.Key)) < 0
}

// Revision returns the number of changes.
func (t *Table) Revision() uint64 { return t.revision }

// Begin sets the revision of an empty table.
func (t *Table) Begin(revision uint64) { t.revision = revision }

// Usage returns the usage of all users together.
func (t *Table) Usage() store.Usage { return t.total }

// SetLimits changes the limits. Existing entries stay.
func (t *Table) SetLimits(l store.Limits) { t.limits = l }

// Get returns an entry, unless its lease ended before now, or it is private to another user.
func (t *Table) Get(now time.Time, who store.Caller, k store.Kind, key string) (store.Entry, error) {
	e, ok := t.tree.Get(&store.Entry{Kind: k, Key: key})
	if !ok || t.ended(e, now) {
		return store.Entry{}, fmt.Errorf("%q: %w", key, store.ErrNotFound)
	}
	if e.Private && !who.May(e.UID) {
		return store.Entry{}, fmt.Errorf("%q is private: %w", key, store.ErrNotYours)
	}
	return t.withExpiry(e), nil
}

// ended reports whether e's lease is over, even if Expire has not removed e yet.
func (t *Table) ended(e *store.Entry, now time.Time) bool {
	l := t.leases.byID[e.Lease]
	return l != nil && !l.expires.After(now)
}

func (t *Table) withExpiry(e *store.Entry) store.Entry {
	c := *e
	if l := t.leases.byID[e.Lease]; l != nil {
		c.Expires = l.expires
	}
	return c
}

// List returns entries in order.
func (t *Table) List(now time.Time, who store.Caller, k store.Kind, prefix, after string, limit int) store.List {
	list := store.List{Revision: t.revision}
	bytes := int64(0)
	from := &store.Entry{Kind: k, Key: max(prefix, after)}
	t.tree.AscendGreaterOrEqual(from, func(e *store.Entry) bool {
		switch {
		case e.Kind != k || !strings.HasPrefix(e.Key, prefix):
			return false
		case e.Key == after && after != "", t.ended(e, now), e.Private && !who.May(e.UID):
			return true
		case len(list.Entries) == limit, bytes >= store.ListBytes:
			list.More = true
			return false
		}
		list.Entries = append(list.Entries, t.withExpiry(e))
		bytes += e.Size()
		return true
	})
	return list
}

// Put creates or replaces an entry, and returns it with the change for the disk.
func (t *Table) Put(now time.Time, who store.Caller, r store.Request) (store.Entry, store.Event, error) {
	old, replaces := t.tree.Get(&store.Entry{Kind: r.Kind, Key: r.Key})
	if replaces && !who.May(old.UID) && !t.ended(old, now) {
		return store.Entry{}, store.Event{}, fmt.Errorf("%q: %w (uid %d)", r.Key, store.ErrNotYours, old.UID)
	}
	e := &store.Entry{Kind: r.Kind, Key: r.Key, Value: r.Value, UID: who.UID, Private: r.Private, Lease: r.Lease, TTL: r.TTL}
	if replaces && !t.ended(old, now) {
		e.UID = old.UID // root changes the entry of another user, who remains its owner
	}
	if err := t.admits(who, e, old); err != nil {
		return store.Entry{}, store.Event{}, err
	}
	switch {
	case r.Lease != "":
		l := t.leases.byID[r.Lease]
		if l == nil || !l.expires.After(now) {
			return store.Entry{}, store.Event{}, fmt.Errorf("lease %q: %w", r.Lease, store.ErrNotFound)
		}
		if l.uid != e.UID {
			return store.Entry{}, store.Event{}, fmt.Errorf("lease %q: %w", r.Lease, store.ErrNotYours)
		}
		e.TTL = l.ttl
	case r.TTL > 0:
		e.Lease = newLease()
	}
	e.Revision = t.revision + 1
	event := store.Event{Type: store.Put, Entry: *e}
	t.apply(now, event)
	return t.withExpiry(e), event, nil
}

// admits refuses an entry beyond a limit.
func (t *Table) admits(who store.Caller, e, old *store.Entry) error {
	user := store.Usage{}
	if u := t.users[e.UID]; u != nil {
		user = *u
	}
	more := store.Usage{Entries: 1, Bytes: e.Size()}
	if old != nil && old.UID == e.UID {
		more = store.Usage{Bytes: more.Bytes - old.Size()}
	}
	return t.limits.Admit(who, e.UID, user, t.total, more)
}

// Delete removes an entry.
func (t *Table) Delete(now time.Time, who store.Caller, k store.Kind, key string) (store.Event, error) {
	e, ok := t.tree.Get(&store.Entry{Kind: k, Key: key})
	if !ok || t.ended(e, now) {
		return store.Event{}, fmt.Errorf("%q: %w", key, store.ErrNotFound)
	}
	if !who.May(e.UID) {
		return store.Event{}, fmt.Errorf("%q: %w (uid %d)", key, store.ErrNotYours, e.UID)
	}
	return t.end(now, e, store.Deleted), nil
}

// DeletePrefix removes the caller's entries that begin with prefix.
func (t *Table) DeletePrefix(now time.Time, who store.Caller, k store.Kind, prefix string) (events []store.Event) {
	var mine []*store.Entry
	t.tree.AscendGreaterOrEqual(&store.Entry{Kind: k, Key: prefix}, func(e *store.Entry) bool {
		if e.Kind != k || !strings.HasPrefix(e.Key, prefix) {
			return false
		}
		if who.May(e.UID) {
			mine = append(mine, e)
		}
		return true
	})
	for _, e := range mine {
		events = append(events, t.end(now, e, store.Deleted))
	}
	return events
}

// end removes e, and returns the change.
func (t *Table) end(now time.Time, e *store.Entry, why store.EventType) store.Event {
	event := store.Event{Type: why, Entry: store.Entry{Kind: e.Kind, Key: e.Key, UID: e.UID, Private: e.Private, Revision: t.revision + 1}}
	t.apply(now, event)
	return event
}

// Apply applies a change from the disk, which Restore cannot undo.
func (t *Table) Apply(now time.Time, ev store.Event) {
	t.apply(now, ev)
	t.replaced = t.replaced[:0]
}

// apply applies a change.
func (t *Table) apply(now time.Time, ev store.Event) {
	t.revision = max(t.revision, ev.Revision)
	if ev.Type != store.Put {
		if old, ok := t.tree.Delete(&ev.Entry); ok {
			t.account(old, -1)
			t.leases.drop(old)
			t.replaced = append(t.replaced, Replaced{old: old})
		}
		return
	}
	e := ev.Entry
	if e.Lease != "" { // first, so that a lease that only the old entry holds does not end
		t.leases.hold(&e, now)
	}
	old, ok := t.tree.ReplaceOrInsert(&e)
	if ok {
		t.account(old, -1)
		t.leases.drop(old)
	}
	t.account(&e, 1)
	t.replaced = append(t.replaced, Replaced{old: old, by: &e})
}

func (t *Table) account(e *store.Entry, sign int64) {
	u := t.users[e.UID]
	if u == nil {
		u = &store.Usage{}
		t.users[e.UID] = u
	}
	for _, u := range [...]*store.Usage{u, &t.total} {
		u.Entries += sign
		u.Bytes += sign * e.Size()
	}
	if u.Entries == 0 {
		delete(t.users, e.UID)
	}
}

// All returns every entry. Entries are immutable, so that they can be written while the table changes.
func (t *Table) All() []*store.Entry {
	all := make([]*store.Entry, 0, t.tree.Len())
	t.tree.Ascend(func(e *store.Entry) bool { all = append(all, e); return true })
	return all
}

// newLease returns an id that cannot be guessed.
func newLease() string {
	var b [12]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
