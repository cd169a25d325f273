package store

import (
	"context"
	"time"
)

// Kind is the table of an entry.
type Kind uint8

// The tables.
const (
	Names  Kind = iota + 1 // addresses of endpoints
	Values                 // values that the processes of a job exchange
	Fences                 // arrivals at fences
)

// Caller is the user of a request.
type Caller struct {
	UID int
	All bool // root, or the daemon's own user: may read and change everything, and has no quota
}

// May reports whether the caller may change what uid owns.
func (c Caller) May(uid int) bool { return c.All || c.UID == uid }

// Entry is an entry of the directory. It is immutable.
type Entry struct {
	Kind     Kind
	Key      string
	Value    []byte
	UID      int
	Private  bool
	Lease    string        // its id; "": the entry exists until it is deleted
	TTL      time.Duration // of the lease
	Expires  time.Time     // end of the lease at the time of the read
	Revision uint64        // of the directory, when it was put
}

// Size returns the memory of an entry, in bytes, with the tables' share.
func (e *Entry) Size() int64 { return int64(len(e.Key) + len(e.Value) + overhead) }

// overhead is about the memory of an entry besides key and value, in bytes.
const overhead = 512

// EventType is the kind of a change.
type EventType uint8

// The kinds of changes.
const (
	Put EventType = iota + 1
	Deleted
	Expired
)

func (t EventType) String() string {
	return [...]string{"?", "put", "delete", "expire"}[min(t, Expired)]
}

// Event is a change. For a deleted or expired entry, Entry has kind, key, owner and the revision of the deletion.
type Event struct {
	Type EventType
	Entry
}

// Request has the arguments of Put: Value at Key, for TTL or as long as Lease exists. Without either, the entry
// exists until it is deleted.
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

// Watcher reports changes in order.
type Watcher interface {
	// Next waits for changes. It returns some, and the revision up to which the reports are complete. The error is
	// ErrCompacted if the watcher was too slow.
	Next(ctx context.Context) ([]Event, uint64, error)
	// At returns the revision up to which the reports are complete.
	At() uint64
}

// Store stores entries. A change that it acknowledges is durable.
type Store interface {
	Put(ctx context.Context, who Caller, r Request) (Entry, error)
	Get(ctx context.Context, who Caller, k Kind, key string) (Entry, error)
	// List returns entries whose keys begin with prefix and sort after after: at most limit, and not many more
	// bytes than ListBytes. It leaves out private entries of other users.
	List(ctx context.Context, who Caller, k Kind, prefix, after string, limit int) (List, error)
	// Delete deletes a key.
	Delete(ctx context.Context, who Caller, k Kind, key string) (revision uint64, err error)
	// DeletePrefix deletes the caller's keys with a prefix. It keeps those of other users.
	DeletePrefix(ctx context.Context, who Caller, k Kind, prefix string) (n int, revision uint64, err error)
	// Renew restarts the full time of a lease.
	Renew(ctx context.Context, who Caller, lease string) (expires time.Time, err error)
	// Watch reports changes after revision from; 0 is now. A future revision belongs to another directory: the
	// error is ErrCompacted.
	Watch(ctx context.Context, who Caller, k Kind, prefix string, from uint64) (Watcher, error)
	Usage() Usage
	// Trouble returns the reason why the store takes no changes at present, nil if it does.
	Trouble() error
	SetLimits(Limits)
	Close() error
}
