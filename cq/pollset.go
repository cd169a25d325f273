package cq

import (
	"slices"
	"sync"

	"gofabric/core"
)

// The poll set.

// Pollable is a queue or counter as poll sets see it. A hook's implements it, too, if it keeps completions back.
type Pollable interface {
	// Ready makes progress and, with report, says whether there is something to read. A counter's change that is not reported stays to be reported.
	Ready(report bool) (bool, error)
	// Ended reports whether it was closed.
	Ended() bool
}

// PollSet makes progress on completion queues and counters and says which have something to read (fi_poll(3)). It implements core.PollDriver.
type PollSet struct {
	mu     sync.Mutex // above the members' locks
	list   []polled
	closed bool
}

// polled is a member of a poll set, and what the application knows it as.
type polled struct {
	Pollable
	self core.Object
}

// NewPollSet opens a poll set (fi_poll_open(3)).
func NewPollSet(attr core.PollAttr) (*PollSet, error) {
	if attr.Flags != 0 {
		return nil, opError("fi_poll_open", core.ErrInval, "the flags must be 0")
	}
	return &PollSet{}, nil
}

// pollable takes queues and counters, and what embeds them, but no event queues, as natively.
func pollable(obj any) (Pollable, error) {
	m, ok := obj.(Pollable)
	if _, isEQ := obj.(core.EQDriver); !ok || isEQ {
		return nil, opError("fi_poll_add", core.ErrInval, "poll sets take completion queues and counters")
	}
	return m, nil
}

// find is the place of a member, -1 if it is none.
func (s *PollSet) find(m Pollable) int {
	return slices.IndexFunc(s.list, func(p polled) bool { return p.Pollable == m })
}

// Add adds a queue or counter (fi_poll_add(3)). Adding it again does nothing.
func (s *PollSet) Add(obj any, self core.Object) error {
	m, err := pollable(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return core.ErrBadF
	}
	if s.find(m) < 0 {
		s.list = append(s.list, polled{m, self})
	}
	return nil
}

// Del removes a queue or counter (fi_poll_del(3)), which must be done before it is closed.
func (s *PollSet) Del(obj any) error {
	m, err := pollable(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(m); i >= 0 {
		s.list = slices.Delete(s.list, i, i+1)
	}
	return nil
}

// Poll stores in ready the objects that have something to read, up to len(ready), and returns how many (fi_poll(3)). It makes progress on all and
// never waits. A counter is ready when a count changed since it was last reported. An error comes only with no object ready.
func (s *PollSet) Poll(ready []core.Object) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, core.ErrBadF
	}
	n := 0
	var first error
	for _, m := range s.list {
		ok, err := m.Ready(n < len(ready))
		if err != nil && first == nil {
			first = err
		}
		if ok && n < len(ready) {
			ready[n] = m.self
			n++
		}
	}
	if n > 0 {
		first = nil
	}
	return n, first
}

// Close frees the set (fi_close(3)): ErrBusy while it has members, as fi_poll(3) says. A member that was closed itself is none any more.
func (s *PollSet) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return core.ErrBadF
	}
	s.list = slices.DeleteFunc(s.list, func(p polled) bool { return p.Ended() })
	if len(s.list) > 0 {
		return opError("fi_close(poll)", core.ErrBusy, "take the queues and counters out of the set first (Del)")
	}
	s.closed = true
	return nil
}
