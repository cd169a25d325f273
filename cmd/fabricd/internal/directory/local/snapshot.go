package local

import (
	"fmt"
	"sync"

	"gofabric/cmd/fabricd/internal/directory/store"
)

// A snapshot is written when the log has grown to several times what a snapshot would be, so that writing stays a small part of all writing, and what is read
// at start stays in proportion to what there is.
const (
	snapshotMin   = 4 << 20 // bytes of log below which it is not worth the trouble
	snapshotRatio = 2
)

// snapshots writes one at a time, beside the log.
type snapshots struct {
	s       *Store
	work    sync.WaitGroup
	least   int64 // of the log, because beginning a new one failed
	mu      sync.Mutex
	running bool
	err     error // why there is no newer one
	behind  bool  // the log in use is newer than what the snapshot failed for
}

func newSnapshots(s *Store) *snapshots { return &snapshots{s: s} }

func (p *snapshots) wait() { p.work.Wait() }

// consider begins a snapshot if it is time. Only the committer calls it, so nothing is written to the log meanwhile. What the snapshot has of the next batch
// stands in the new log again: changes made twice, in their order, leave the same table.
func (p *snapshots) consider() {
	s := p.s
	if s.journal == nil || s.journal.Size() < max(s.opt.snapshotMin, p.least) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running {
		return
	}
	s.mu.Lock()
	due := s.err == nil && s.journal.Size() > snapshotRatio*s.table.Usage().Bytes
	var all []*store.Entry
	revision := s.table.Revision()
	if due {
		all = s.table.All()
	}
	s.mu.Unlock()
	if !due {
		return
	}
	n, err := s.journal.Rotate()
	if err != nil {
		s.opt.Log.Error("a new log of the directory; the old one goes on", "error", err)
		p.least = s.journal.Size() + s.opt.snapshotMin // not with every change
		p.err, p.behind = err, false
		return
	}
	p.least = 0
	p.running = true
	p.work.Go(func() { p.write(n, all, revision) })
}

func (p *snapshots) write(n uint64, all []*store.Entry, revision uint64) {
	err := p.s.journal.Snapshot(n, snapshotOf(all, revision))
	if err != nil {
		p.s.opt.Log.Error("a snapshot of the directory; the log is kept", "error", err)
	}
	p.mu.Lock()
	p.running, p.err, p.behind = false, err, err != nil
	p.mu.Unlock()
	if err != nil {
		poke(p.s.kick) // to be tried again
	}
}

// failed reports whether there is something to try again.
func (p *snapshots) failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err != nil
}

// again tries what failed, and reports whether it is to be called again: to see what came of it. Only the committer calls it.
func (p *snapshots) again() bool {
	p.mu.Lock()
	failed, running, behind := p.err != nil, p.running, p.behind
	p.mu.Unlock()
	switch {
	case !failed || running || p.s.refusing():
		return failed
	case !behind:
		p.least = 0
		p.consider()
		return true
	}
	// What the log in use has stands in this snapshot too: changes made twice, in their order, leave the same table.
	p.s.mu.Lock()
	all, revision := p.s.table.All(), p.s.table.Revision()
	p.s.mu.Unlock()
	p.mu.Lock()
	p.running = true
	p.mu.Unlock()
	n := p.s.journal.Number()
	p.work.Go(func() { p.write(n, all, revision) })
	return true
}

// trouble says that logs pile up, and why.
func (p *snapshots) trouble() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		return nil
	}
	return fmt.Errorf("%w: %d in %s, beside the one in use of %d bytes: no snapshot: %w", store.ErrOldLogs, p.s.journal.Old(), p.s.opt.Folder, p.s.journal.Size(), p.err)
}

// becomeWritten notes that repair has written everything.
func (p *snapshots) becomeWritten() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = nil
}

// snapshotOf emits the records of a snapshot.
func snapshotOf(all []*store.Entry, revision uint64) func(emit func([]byte) error) error {
	return func(emit func([]byte) error) error {
		var buf []byte
		for _, e := range all {
			buf = store.AppendRecord(buf[:0], &store.Event{Type: store.Put, Entry: *e})
			if err := emit(buf); err != nil {
				return err
			}
		}
		return emit(store.AppendRecord(buf[:0], snapshotEnd(revision)))
	}
}

// snapshotEnd is a snapshot's last record. It keeps the revision from going back when the last change was a deletion.
func snapshotEnd(revision uint64) *store.Event {
	return &store.Event{Type: store.Deleted, Entry: store.Entry{Kind: store.Names, Revision: revision}}
}

func endsSnapshot(e *store.Event) bool { return e.Type == store.Deleted && e.Key == "" }
