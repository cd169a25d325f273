package feed

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"gofabric/cmd/fabricd/internal/directory/store"
)

var all = store.Caller{All: true}

func put(key string, revision uint64) store.Event {
	return store.Event{Type: store.Put, Entry: store.Entry{Kind: store.Names, Key: key, UID: 1000, Revision: revision}}
}

func TestResume(t *testing.T) {
	f := New(5)
	for r := uint64(6); r <= 10; r++ {
		f.Publish([]store.Event{put(fmt.Sprint("k", r), r)}, r)
	}
	w, err := f.Watch(all, store.Names, "", 7)
	if err != nil {
		t.Fatal(err)
	}
	events, at, err := w.Next(t.Context())
	if err != nil || len(events) != 3 || events[0].Key != "k8" || at != 10 {
		t.Errorf("after 7: %v, at %d, %v", events, at, err)
	}
	if _, err := f.Watch(all, store.Names, "", 4); !errors.Is(err, store.ErrCompacted) {
		t.Errorf("from before the history: %v", err)
	}
	if _, err := f.Watch(all, store.Names, "", 5); err != nil {
		t.Errorf("from the beginning of the history: %v", err)
	}
}

// TestSlow: a watcher that falls behind gets an error. A watcher that keeps up gets all events, however many there
// are.
func TestSlow(t *testing.T) {
	f := New(0)
	slow, _ := f.Watch(all, store.Names, "", 0)
	quick, _ := f.Watch(all, store.Names, "", 0)
	next := uint64(1)
	for r := uint64(1); r <= 3*maxEvents; r++ {
		f.Publish([]store.Event{put("k", r)}, r)
		if r%100 != 0 && r != 3*maxEvents {
			continue
		}
		for next <= r {
			events, _, err := quick.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if e.Revision != next {
					t.Fatalf("revision %d, want %d", e.Revision, next)
				}
				next++
			}
		}
	}
	if _, _, err := slow.Next(t.Context()); !errors.Is(err, store.ErrCompacted) {
		t.Errorf("the slow watcher: %v", err)
	}
	if len(f.events) > maxEvents {
		t.Errorf("%d events are kept", len(f.events))
	}
}

// TestBytes: large values shorten the history.
func TestBytes(t *testing.T) {
	f := New(0)
	for r := uint64(1); r <= 200; r++ {
		e := put("k", r)
		e.Value = make([]byte, 256<<10)
		f.Publish([]store.Event{e}, r)
	}
	if f.bytes > maxBytes || len(f.events) > 64 || f.since != 200-uint64(len(f.events)) {
		t.Errorf("%d bytes in %d events since %d", f.bytes, len(f.events), f.since)
	}
}

// TestWholeRevisions: a watcher gets all changes of one revision (a transaction of etcd) together, or none.
func TestWholeRevisions(t *testing.T) {
	f := New(0)
	batch := make([]store.Event, maxTold+10)
	for i := range batch {
		batch[i] = put("k", 1)
	}
	w, _ := f.Watch(all, store.Names, "", 0)
	f.Publish(batch, 1)
	if events, at, err := w.Next(t.Context()); len(events) != len(batch) || at != 1 || err != nil {
		t.Errorf("%d events at %d, %v", len(events), at, err)
	}
}

// TestHalfRevision: if the bounds leave only a part of a revision, the feed forgets the rest, too.
func TestHalfRevision(t *testing.T) {
	f := New(0)
	old := make([]store.Event, 20)
	for i := range old {
		old[i] = put("k", 1)
	}
	f.Publish(old, 1)
	for r := uint64(2); r <= maxEvents-9; r++ {
		f.Publish([]store.Event{put("k", r)}, r)
	}
	if f.since != 1 || len(f.events) != maxEvents-10 || f.bytes != int64(len(f.events))*f.events[0].Size() {
		t.Errorf("%d events, %d bytes since %d", len(f.events), f.bytes, f.since)
	}
}

// TestWake: a watcher that already waits gets new changes.
func TestWake(t *testing.T) {
	f := New(0)
	w, _ := f.Watch(all, store.Names, "", 0)
	_, waits, err := w.take() // as Next does before it waits
	if err != nil {
		t.Fatal(err)
	}
	f.Publish([]store.Event{put("k", 1)}, 1)
	select {
	case <-waits:
	default:
		t.Error("a waiting watcher is not woken")
	}
}

func TestPrivate(t *testing.T) {
	f := New(0)
	w, _ := f.Watch(store.Caller{UID: 1001}, store.Names, "", 0)
	e := put("secret", 1)
	e.Private = true
	f.Publish([]store.Event{e, put("open", 2)}, 2)
	if events, _, err := w.Next(t.Context()); err != nil || len(events) != 1 || events[0].Key != "open" {
		t.Errorf("%v, %v", events, err)
	}
}

// TestEnd: each wait ends with its context, and with the feed.
func TestEnd(t *testing.T) {
	f := New(0)
	w, _ := f.Watch(all, store.Names, "", 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := w.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next with an ended context: %v", err)
	}
	done := make(chan error)
	go func() { _, _, err := w.Next(t.Context()); done <- err }()
	f.Close(store.ErrDown)
	if err := <-done; !errors.Is(err, store.ErrDown) {
		t.Errorf("Next of a closed feed: %v", err)
	}
}

// TestBack: another history with a lower revision replaces the known one. Existing watchers get an error, at any
// position. A watcher that begins then gets the events that follow.
func TestBack(t *testing.T) {
	f := New(5)
	old, _ := f.Watch(all, store.Names, "", 0)
	f.Publish([]store.Event{put("a", 6), put("b", 7)}, 7)
	if _, at, err := old.Next(t.Context()); err != nil || at != 7 {
		t.Fatalf("at %d, %v", at, err)
	}
	f.Reset(3)
	fresh, err := f.Watch(all, store.Names, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Publish([]store.Event{put("c", 4), put("d", 9)}, 9)
	if events, at, err := old.Next(t.Context()); !errors.Is(err, store.ErrCompacted) {
		t.Errorf("the old watch: %v, at %d, %v", events, at, err)
	}
	if events, at, err := fresh.Next(t.Context()); err != nil || len(events) != 2 || events[0].Key != "c" || at != 9 {
		t.Errorf("the new watch: %v, at %d, %v", events, at, err)
	}
}
