package feed

import (
	"cmp"
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"

	"gofabric/cmd/fabricd/internal/directory/store"
)

// Bounds of the history.
const (
	maxEvents = 16384
	maxBytes  = 16 << 20
)

// Feed is a history of changes that grows.
type Feed struct {
	mu       sync.Mutex
	events   []store.Event // by revision
	bytes    int64
	since    uint64 // the history has all changes after this revision
	revision uint64 // the history is complete up to here
	epoch    int    // number of resets
	changed  chan struct{}
	err      error
}

// New returns a feed whose history begins after revision.
func New(revision uint64) *Feed {
	return &Feed{since: revision, revision: revision, changed: make(chan struct{})}
}

// Publish adds changes in order. With them the history is complete up to revision.
func (f *Feed) Publish(events []store.Event, revision uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range events {
		f.bytes += events[i].Size()
	}
	f.events = append(f.events, events...)
	f.revision = max(f.revision, revision)
	f.trim()
	f.wake()
}

// trim drops the oldest changes beyond the bounds.
func (f *Feed) trim() {
	n := 0
	for len(f.events)-n > maxEvents || f.bytes > maxBytes && n < len(f.events) {
		f.bytes -= f.events[n].Size()
		f.since = f.events[n].Revision
		n++
	}
	if n == 0 {
		return
	}
	if n < len(f.events) && f.events[n].Revision == f.since { // the history must not begin within a revision
		f.trimRevision(&n)
	}
	clear(f.events[:n])
	f.events = f.events[n:] // append frees the old part when it reallocates
}

func (f *Feed) trimRevision(n *int) {
	for *n < len(f.events) && f.events[*n].Revision == f.since {
		f.bytes -= f.events[*n].Size()
		*n++
	}
}

func (f *Feed) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// Reset drops the history. Changes up to revision are unknown. revision may be lower than before if the store has
// lost changes. Watchers get an error and must begin again.
func (f *Feed) Reset(revision uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events, f.bytes, f.since, f.revision = nil, 0, revision, revision
	f.epoch++
	f.wake()
}

// Close ends all watches with err.
func (f *Feed) Close(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
		f.wake()
	}
}

// Revision returns the revision up to which the history is complete.
func (f *Feed) Revision() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.revision
}

// Watch returns a watcher of changes after revision from (0: now) to keys of a kind that begin with prefix.
func (f *Feed) Watch(who store.Caller, k store.Kind, prefix string, from uint64) (*Watcher, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	from = cmp.Or(from, f.revision)
	if from < f.since {
		return nil, f.compacted(from)
	}
	return &Watcher{feed: f, epoch: f.epoch, who: who, kind: k, prefix: prefix, at: from}, nil
}

func (f *Feed) compacted(at uint64) error {
	return fmt.Errorf("revision %d: %w: it begins at %d: list again and go on from there", at, store.ErrCompacted, f.since)
}

// Watcher is a position in the history. It needs no Close.
type Watcher struct {
	feed   *Feed
	epoch  int // of the feed when the watcher began
	who    store.Caller
	kind   store.Kind
	prefix string
	at     uint64 // the reports are complete up to here
}

// At returns the revision up to which the reports are complete.
func (w *Watcher) At() uint64 { return w.at }

// maxTold bounds the number of changes that Next returns.
const maxTold = 256

// Next waits for changes. It returns some, and the revision up to which the reports are complete.
func (w *Watcher) Next(ctx context.Context) ([]store.Event, uint64, error) {
	for {
		events, changed, err := w.take()
		if err != nil || len(events) > 0 {
			return events, w.at, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, w.at, ctx.Err()
		}
	}
}

func (w *Watcher) take() (told []store.Event, changed chan struct{}, err error) {
	f := w.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.err != nil:
		return nil, nil, f.err
	case w.at < f.since || w.epoch != f.epoch:
		return nil, nil, f.compacted(w.at)
	}
	first := sort.Search(len(f.events), func(i int) bool { return f.events[i].Revision > w.at })
	for i := first; i < len(f.events); i++ {
		e := &f.events[i]
		if len(told) >= maxTold && e.Revision != told[len(told)-1].Revision {
			w.at = told[len(told)-1].Revision
			return told, nil, nil
		}
		if e.Kind == w.kind && strings.HasPrefix(e.Key, w.prefix) && (!e.Private || w.who.May(e.UID)) {
			told = append(told, *e)
		}
	}
	w.at = max(w.at, f.revision)
	return told, f.changed, nil
}
