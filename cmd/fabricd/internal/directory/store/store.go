package store

import (
	"context"
	"time"
)

// Kind says to which of the directory's tables an entry belongs.
type Kind uint8

// The tables.
const (
	Names  Kind = iota + 1 // addresses of endpoints
	Values                 // what the processes of a job tell each other
	Fences                 // who has come to a fence
)

// Caller is who asks.
type Caller struct {
	UID int
	All bool // root, or the daemon's own user: may read and change everything, and has no quota of its own
}

// May reports whether the caller may change what uid owns.
func (c Caller) May(uid int) bool { return c.All || c.UID == uid }

// Entry is something kept. Entries are not changed once made.
type Entry struct {
	Kind     Kind
	Key      string
	Value    []byte
	UID      int
	Private  bool
	Lease    string        // its id; "" lives until deleted
	TTL      time.Duration // of the lease
	Expires  time.Time     // of the lease, when the entry was read
	Revision uint64        // of the directory, when it was put
}

// Size is what an entry costs, in bytes, its place in the tables included.
func (e *Entry) Size() int64 { return int64(len(e.Key) + len(e.Value) + overhead) }

// overhead is about what an entry costs beside key and value.
const overhead = 512

// EventType is what happened to an entry.
type EventType uint8

// What happens.
const (
	Put EventType = iota + 1
	Deleted
	Expired
)

func (t EventType) String() string {
	return [...]string{"?", "put", "delete", "expire"}[min(t, Expired)]
}

// Event is a change. Of a deleted or expired entry, Entry has kind, key, owner and the revision of its end.
type Event struct {
	Type EventType
	Entry
}

// Request is what Put wants: Value at Key, for TTL or as long as Lease lives, or, without either, until it is deleted.
type Request struct {
	Kind    Kind
	Key     string
	Value   []byte
	Private bool
	TTL     time.Duration
	Lease   string
}

// List is part of a table.
type List struct {
	Entries  []Entry
	Revision uint64 // of the directory, when it was read
	More     bool
}

// Watcher tells what happened, in order.
type Watcher interface {
	// Next waits for changes and returns some, with the revision up to which they tell everything. ErrCompacted: the watcher was too slow.
	Next(ctx context.Context) ([]Event, uint64, error)
	// At is the revision up to which everything was told.
	At() uint64
}

// Store keeps entries. Everything that it acknowledges is durable.
type Store interface {
	Put(ctx context.Context, who Caller, r Request) (Entry, error)
	Get(ctx context.Context, who Caller, k Kind, key string) (Entry, error)
	// List returns at most limit entries, and not many more than ListBytes, whose keys begin with prefix and come behind after. What is private to others is
	// left out.
	List(ctx context.Context, who Caller, k Kind, prefix, after string, limit int) (List, error)
	// Delete deletes a key.
	Delete(ctx context.Context, who Caller, k Kind, key string) (revision uint64, err error)
	// DeletePrefix deletes the caller's keys with a prefix; those of others stay.
	DeletePrefix(ctx context.Context, who Caller, k Kind, prefix string) (n int, revision uint64, err error)
	// Renew makes a lease live for its whole time again.
	Renew(ctx context.Context, who Caller, lease string) (expires time.Time, err error)
	// Watch tells what happens after revision from; 0 is now. A revision that was not reached yet is another directory's: ErrCompacted.
	Watch(ctx context.Context, who Caller, k Kind, prefix string, from uint64) (Watcher, error)
	Usage() Usage
	// Trouble says why no changes are taken just now; nil if they are.
	Trouble() error
	SetLimits(Limits)
	Close() error
}
