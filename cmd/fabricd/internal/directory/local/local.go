package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gofabric/cmd/fabricd/internal/directory/feed"
	"gofabric/cmd/fabricd/internal/directory/store"
	"gofabric/cmd/fabricd/internal/directory/table"
)

// Options of a store.
type Options struct {
	Folder string // folder of the file; "" keeps everything in memory only
	Limits store.Limits
	Grace  time.Duration // minimum time of leases after a restart
	Log    *slog.Logger
}

// Store is a store.Store of one node. A change takes effect in memory at once, so that the next one is checked
// against it. It is acknowledged and reported when it is on disk. Changes that arrive while the disk is busy are
// written together.
type Store struct {
	opt  Options
	file *file // only the committer uses it
	feed *feed.Feed

	mu      sync.Mutex
	table   *table.Table
	batch   *batch // the batch that collects changes
	last    *batch // the batch that is written, or was written last
	err     error  // the disk failed: changes are refused
	closing bool

	kick   chan struct{} // there is something to write
	leases chan struct{} // the next end of a lease may have changed
	done   chan struct{}
	work   sync.WaitGroup
}

// batch has the changes of one write to disk.
type batch struct {
	events   []store.Event
	bytes    int64            // approximate size of events
	replaced []table.Replaced // by the events
	done     chan struct{}    // closed when the batch is on disk, or err is set
	err      error
}

func newBatch() *batch { return &batch{done: make(chan struct{})} }

// settled returns a batch that is already on disk.
func settled() *batch {
	b := newBatch()
	close(b.done)
	return b
}

func (b *batch) add(events []store.Event, replaced []table.Replaced) {
	for i := range events {
		b.bytes += int64(len(events[i].Key)+len(events[i].Value)) + eventSize
	}
	b.events = append(b.events, events...)
	b.replaced = append(b.replaced, replaced...)
}

// Open reads the stored directory.
func Open(opt Options) (*Store, error) {
	now := time.Now()
	s := &Store{
		opt:    opt,
		table:  table.New(opt.Limits),
		batch:  newBatch(),
		last:   settled(),
		kick:   make(chan struct{}, 1),
		leases: make(chan struct{}, 1),
		done:   make(chan struct{}),
	}
	var history []store.Event
	if opt.Folder == "" { // each memory-only store has another history
		s.table.Begin(uint64(now.UnixMicro()))
	} else {
		var err error
		if history, err = s.read(now); err != nil {
			return nil, fmt.Errorf("the directory in %s: %w", opt.Folder, err)
		}
	}
	s.table.Restart(now, opt.Grace)
	s.feed = begin(history, s.table.Revision())
	s.work.Go(s.commit)
	s.work.Go(s.expire)
	return s, nil
}

// read fills the table from the file, and returns the last changes. A disk without room for a new file does not
// prevent the start: changes are refused until there is room.
func (s *Store) read(now time.Time) (history []store.Event, err error) {
	f, err := openFile(s.opt.Folder)
	if err != nil {
		return nil, err
	}
	found, err := f.read(func(e store.Event) {
		s.table.Apply(now, e)
		history = remember(history, e)
	})
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	s.file = f
	if found {
		s.table.Begin(f.state.revision)
		f.live(s.table.All())
		if err := f.settle(); err != nil {
			return nil, errors.Join(err, f.close())
		}
		return history, nil
	}
	err = f.rewrite(nil, 0)
	if err != nil {
		s.err = s.cannotWrite(err)
		s.opt.Log.Error("the directory accepts no changes until its file can be written", "error", err)
	}
	return history, nil
}

func begin(history []store.Event, revision uint64) *feed.Feed {
	if n := len(history); n == 0 || history[n-1].Revision != revision {
		return feed.New(revision)
	}
	f := feed.New(history[0].Revision - 1)
	f.Publish(history, revision)
	return f
}

// change makes a change under the lock, and waits until it is on disk.
func (s *Store) change(ctx context.Context, decide func(now time.Time) ([]store.Event, error)) error {
	s.mu.Lock()
	if err := s.refuses(); err != nil {
		s.mu.Unlock()
		return err
	}
	events, err := decide(time.Now())
	b := s.batch
	b.add(events, s.table.Replaced())
	s.mu.Unlock()
	if err != nil || len(events) == 0 {
		return err
	}
	poke(s.kick)
	return b.wait(ctx)
}

// refuses returns the reason why changes are refused, or nil.
func (s *Store) refuses() error {
	if s.closing {
		return fmt.Errorf("%w: fabricd is ending", store.ErrDown)
	}
	if s.err == nil && s.batch.bytes > maxWaiting {
		return fmt.Errorf("%w: the disk is slow: %d bytes wait for it", store.ErrDown, s.batch.bytes)
	}
	return s.err
}

// maxWaiting bounds the changes that wait for the disk, in bytes: clients time out and repeat them.
const maxWaiting = 64 << 20

// eventSize is about the memory of a change besides key and value, in bytes.
const eventSize = 200

func (b *batch) wait(ctx context.Context) error {
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
		return fmt.Errorf("%w: the disk is slow: %w", store.ErrDown, context.Cause(ctx))
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Put implements store.Store.
func (s *Store) Put(ctx context.Context, who store.Caller, r store.Request) (e store.Entry, err error) {
	if err := r.Check(); err != nil {
		return e, err
	}
	err = s.change(ctx, func(now time.Time) ([]store.Event, error) {
		var ev store.Event
		e, ev, err = s.table.Put(now, who, r)
		return one(ev, err)
	})
	if err == nil && e.Lease != "" {
		poke(s.leases)
	}
	return e, err
}

func one(ev store.Event, err error) ([]store.Event, error) {
	if err != nil {
		return nil, err
	}
	return []store.Event{ev}, nil
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, who store.Caller, k store.Kind, key string) (revision uint64, err error) {
	err = s.change(ctx, func(now time.Time) ([]store.Event, error) {
		ev, err := s.table.Delete(now, who, k, key)
		revision = ev.Revision
		return one(ev, err)
	})
	return revision, err
}

// DeletePrefix implements store.Store.
func (s *Store) DeletePrefix(ctx context.Context, who store.Caller, k store.Kind, prefix string) (n int, revision uint64, err error) {
	err = s.change(ctx, func(now time.Time) ([]store.Event, error) {
		events := s.table.DeletePrefix(now, who, k, prefix)
		n, revision = len(events), s.table.Revision()
		return events, nil
	})
	return n, revision, err
}

// Get implements store.Store. It shows an entry only when it is on disk, because a crash could undo it.
func (s *Store) Get(ctx context.Context, who store.Caller, k store.Kind, key string) (store.Entry, error) {
	s.mu.Lock()
	e, err := s.table.Get(time.Now(), who, k, key)
	b, told := s.pending(), s.feed.Revision() // under the lock: a failed write resets the revision
	s.mu.Unlock()
	if err == nil && e.Revision <= told {
		return e, nil
	}
	if err := b.wait(ctx); err != nil {
		return store.Entry{}, err
	}
	return e, err
}

// pending returns the batch with the last change.
func (s *Store) pending() *batch {
	if len(s.batch.events) > 0 {
		return s.batch
	}
	return s.last
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, who store.Caller, k store.Kind, prefix, after string, limit int) (store.List, error) {
	s.mu.Lock()
	list := s.table.List(time.Now(), who, k, prefix, after, limit)
	b := s.pending()
	s.mu.Unlock()
	return list, b.wait(ctx)
}

// Renew implements store.Store. It is not written to disk: after a restart every lease has its full time anyway.
func (s *Store) Renew(_ context.Context, who store.Caller, id string) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.Renew(time.Now(), who, id)
}

// Watch implements store.Store.
func (s *Store) Watch(_ context.Context, who store.Caller, k store.Kind, prefix string, from uint64) (store.Watcher, error) {
	if now := s.feed.Revision(); from > now {
		return nil, store.NotReached(from, now)
	}
	w, err := s.feed.Watch(who, k, prefix, from)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Usage implements store.Store.
func (s *Store) Usage() store.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.Usage()
}

// Trouble implements store.Store.
func (s *Store) Trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// SetLimits implements store.Store.
func (s *Store) SetLimits(l store.Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.SetLimits(l)
}

// Close writes the remaining changes. Later calls are refused.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return nil
	}
	s.closing = true
	s.mu.Unlock()
	close(s.done)
	s.work.Wait()
	s.feed.Close(fmt.Errorf("%w: fabricd is ending", store.ErrDown))
	if s.file == nil {
		return nil
	}
	return s.file.close()
}
