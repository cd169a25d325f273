package cq

import (
	"slices"
	"sync"

	"gofabric/core"
)

// This file has the poll set (fi_poll(3)).

// Pollable is a queue or counter as poll sets use it. A queue of a hook that holds completions back implements it,
// too.
type Pollable interface {
	// Ready makes progress. With report it also says whether there is something to read. Without it, a counter's
	// change remains unreported.
	Ready(report bool) (bool, error)
	// Ended reports whether the object was closed.
	Ended() bool
}

// PollSet makes progress on completion queues and counters and reports those that have something to read
// (fi_poll(3)). It implements core.PollDriver.
type PollSet struct {
	mu     sync.Mutex // locked before the members' locks
	list   []polled
	closed bool
}

// polled is a member of a poll set, with the application's object.
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

// pollable accepts queues and counters, and types that embed them. As in native, it does not accept event queues.
func pollable(obj any) (Pollable, error) {
	m, ok := obj.(Pollable)
	if _, isEQ := obj.(core.EQDriver); !ok || isEQ {
		return nil, opError("fi_poll_add", core.ErrInval, "poll sets take completion queues and counters")
	}
	return m, nil
}

// find returns the position of a member, -1 if m is not a member.
func (s *PollSet) find(m Pollable) int {
	return slices.IndexFunc(s.list, func(p polled) bool { return p.Pollable == m })
}

// Add adds a queue or counter (fi_poll_add(3)). A second Add of an object has no effect.
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

// Del removes a queue or counter (fi_poll_del(3)). Call it before you close the object.
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

// Poll stores up to len(ready) objects that have something to read in ready, and returns their number (fi_poll(3)).
// It makes progress on all members and never waits. A counter is ready if a count has changed since it was last
// reported. Poll returns an error only if no object is ready.
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

// Close frees the set (fi_close(3)). The error is ErrBusy while it has members, as in fi_poll(3). Closed members do
// not count.
func (s *PollSet) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return core.ErrBadF
	}
	s.list = slices.DeleteFunc(s.list, func(p polled) bool { return p.Ended() })
	if len(s.list) > 0 {
		return opError("fi_close(poll)", core.ErrBusy, "remove the queues and counters from the set first (Del)")
	}
	s.closed = true
	return nil
}
