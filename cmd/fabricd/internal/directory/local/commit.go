package local

import (
	"fmt"
	"time"

	"gofabric/cmd/fabricd/internal/directory/store"
)

// commit writes batches until the store closes, and then the last one.
func (s *Store) commit() {
	var repair, tidy pause
	if s.refusing() { // the disk failed at the start
		repair.begin()
	}
	for {
		select {
		case <-s.kick:
			if !s.write() {
				repair.begin()
			}
			if s.file != nil && s.file.wasteful() {
				tidy.begin()
			}
		case <-tidy.over():
			if s.tidy() {
				tidy.end()
			} else {
				tidy.again()
			}
		case <-repair.over():
			if s.repair() {
				repair.end()
			} else {
				repair.again()
			}
		case <-s.done:
			s.write()
			return
		}
	}
}

// write writes the current batch to disk, and wakes the callers that wait for it. It reports whether the write
// succeeded.
func (s *Store) write() bool {
	s.mu.Lock()
	b := s.batch
	if len(b.events) == 0 {
		s.mu.Unlock()
		return true
	}
	s.batch, s.last = newBatch(), b
	s.mu.Unlock()
	if s.file != nil {
		if err := s.file.append(b.events, b.replaced); err != nil {
			s.becomeFailed(b, err)
			return false
		}
	}
	s.feed.Publish(b.events, b.events[len(b.events)-1].Revision)
	close(b.done)
	return true
}

// tidy shrinks the file. It returns true if that succeeded or is not needed. After a failure the old file remains
// in use.
func (s *Store) tidy() bool {
	if s.refusing() || !s.file.wasteful() {
		return true
	}
	err := s.file.shrink()
	if err != nil {
		s.opt.Log.Warn("the directory's file could not be made smaller", "error", err)
	}
	return err == nil
}

// becomeFailed undoes the changes that could not be written, and refuses changes until repair succeeds. Reads
// continue: the memory has exactly the acknowledged changes.
func (s *Store) becomeFailed(b *batch, err error) {
	s.mu.Lock()
	next := s.batch // the batch that collected changes meanwhile
	s.batch, s.last = newBatch(), settled()
	s.table.Restore(time.Now(), append(b.replaced, next.replaced...), s.feed.Revision())
	s.err = s.cannotWrite(err)
	b.err, next.err = s.err, s.err
	s.mu.Unlock()
	close(b.done)
	close(next.done)
	s.opt.Log.Error("the directory accepts no changes until its file can be written", "error", err)
}

func (s *Store) cannotWrite(err error) error {
	return fmt.Errorf("%w: cannot write %s: %w; fabricd tries again", store.ErrDown, s.opt.Folder, err)
}

// refusing reports whether the disk failed, so that repair must write everything.
func (s *Store) refusing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// repair writes a new file, and accepts changes again if that succeeds.
func (s *Store) repair() bool {
	s.mu.Lock()
	all, revision := s.table.All(), s.table.Revision()
	s.mu.Unlock()
	err := s.file.rewrite(all, revision)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.err = s.cannotWrite(err)
		return false
	}
	s.err = nil
	poke(s.leases)
	s.opt.Log.Info("the directory's file is written again, and the directory accepts changes", "entries", len(all))
	return true
}

// The pauses between attempts after a failure of the disk.
const (
	firstRepair = 100 * time.Millisecond
	lastRepair  = 10 * time.Second
)

// pause is a time that doubles with each attempt.
type pause struct {
	timer *time.Timer
	next  time.Duration
}

func (p *pause) begin() {
	if p.timer == nil {
		p.next = firstRepair
		p.again()
	}
}

func (p *pause) again() {
	p.timer = time.NewTimer(p.next)
	p.next = min(2*p.next, lastRepair)
}

func (p *pause) end() { p.timer = nil }

// over returns a channel for the end of the pause, nil without a pause.
func (p *pause) over() <-chan time.Time {
	if p.timer == nil {
		return nil
	}
	return p.timer.C
}

// expireAtOnce bounds the number of leases that expire in one critical section.
const expireAtOnce = 1000

// expire ends leases at their time.
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
		if s.err != nil || s.closing { // an expiry that cannot be written must not happen; repair wakes this goroutine
			s.mu.Unlock()
			continue
		}
		events := s.table.Expire(time.Now(), expireAtOnce)
		s.batch.add(events, s.table.Replaced())
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
