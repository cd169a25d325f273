package local

import (
	"fmt"
	"time"

	"gofabric/cmd/fabricd/internal/directory/store"
)

// commit writes batches until the store closes, and then the last one.
func (s *Store) commit() {
	snapshots := newSnapshots(s)
	defer snapshots.wait()
	for {
		select {
		case <-s.kick:
			s.write()
			snapshots.consider()
		case <-s.done:
			s.write()
			return
		}
	}
}

// write brings to disk what has gathered, and tells those who wait for it.
func (s *Store) write() {
	s.mu.Lock()
	b := s.batch
	if len(b.events) == 0 {
		s.mu.Unlock()
		return
	}
	s.batch, s.last = newBatch(), b
	err := s.err
	s.mu.Unlock()
	if s.journal != nil && err == nil {
		err = s.append(b.events)
	}
	if err != nil {
		s.becomeFailed(b, err)
		return
	}
	s.feed.Publish(b.events, b.events[len(b.events)-1].Revision)
	close(b.done)
}

// maxBatch bounds the bytes of a frame, about.
const maxBatch = 16 << 20

func (s *Store) append(events []store.Event) error {
	var records [][]byte
	size := 0
	for i := range events {
		r := store.AppendRecord(nil, &events[i])
		records = append(records, r)
		if size += len(r); size < maxBatch && i != len(events)-1 {
			continue
		}
		if err := s.journal.Append(records); err != nil {
			return err
		}
		records, size = records[:0], 0
	}
	return nil
}

// becomeFailed refuses everything from now on. What the disk has is not known after a failed write (fsync(2) reports an error once and forgets it), so the
// only way on is to read it again: a restart.
func (s *Store) becomeFailed(b *batch, err error) {
	err = fmt.Errorf("%w: cannot write %s: %w; restart fabricd when the disk is well", store.ErrDown, s.opt.Dir, err)
	s.mu.Lock()
	first := s.err == nil
	s.err = err
	s.mu.Unlock()
	b.err = err
	close(b.done)
	s.feed.Close(err)
	if first {
		s.opt.Log.Error("the directory takes nothing more", "error", err)
	}
}

// expireAtOnce bounds how many leases end under one hold of the lock.
const expireAtOnce = 1000

// expire ends leases when their time comes.
func (s *Store) expire() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-s.leases:
		case <-s.done:
			return
		}
		s.mu.Lock()
		events := s.table.Expire(time.Now(), expireAtOnce)
		s.batch.events = append(s.batch.events, events...)
		next := s.table.Next()
		s.mu.Unlock()
		if len(events) > 0 {
			poke(s.kick)
		}
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}
