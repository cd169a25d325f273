package cq

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"gofabric/core"
	"gofabric/internal/netx"
)

// This file has the wait set (fi_poll(3)).

// member is a queue or counter as sets use it.
type member interface {
	// TryWait prepares a sleep on the descriptor. forgetWait ends that without a read.
	TryWait() error
	forgetWait()
	// enterSet prepares a sleep in WaitSet.Wait and returns the function that ends it, nil if there is something to
	// read.
	enterSet() (leave func())
	Pollable
}

// WaitSet waits for any of the queues and counters that were opened with it (fi_wait(3)). It implements
// core.WaitDriver.
type WaitSet struct {
	mu       sync.Mutex // locked after the members' locks
	members  []member
	waiters  []chan struct{}
	notifier *netx.Notifier
	yield    bool
	closed   bool
	onClose  func()
}

// OnClose sets the function that Close calls when the set is closed.
func (s *WaitSet) OnClose(f func()) { s.onClose = f }

// NewWaitSet opens a wait set (fi_wait_open(3)).
func NewWaitSet(attr core.WaitAttr) (*WaitSet, error) {
	if attr.Flags != 0 {
		return nil, opError("fi_wait_open", core.ErrInval, "the flags must be 0")
	}
	s := &WaitSet{yield: attr.WaitObj == core.WaitYield}
	switch attr.WaitObj {
	case core.WaitUnspec, core.WaitYield, core.WaitMutexCond:
	case core.WaitFD, core.WaitPollFD:
		n, err := netx.NewNotifier()
		if err != nil {
			return nil, opError("fi_wait_open", err, "the wait object needs a descriptor; raise the limit of open files")
		}
		s.notifier = n
	default:
		return nil, opError("fi_wait_open", core.ErrInval, "wait objects are WaitUnspec, WaitFD, WaitPollFD, WaitYield and WaitMutexCond")
	}
	return s, nil
}

func (s *WaitSet) add(m member) {
	s.mu.Lock()
	s.members = append(slices.Clone(s.members), m)
	s.mu.Unlock()
	s.wake() // sleepers must enter the new member, too
}

func (s *WaitSet) remove(m member) {
	s.mu.Lock()
	if i := slices.Index(s.members, m); i >= 0 {
		s.members = slices.Delete(slices.Clone(s.members), i, i+1)
	}
	s.mu.Unlock()
}

// wake wakes every sleeper, once.
func (s *WaitSet) wake() {
	s.mu.Lock()
	for _, ch := range s.waiters {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	s.mu.Unlock()
}

func (s *WaitSet) signalFD() {
	s.mu.Lock()
	if s.notifier != nil {
		s.notifier.Signal()
	}
	s.mu.Unlock()
}

// Wait returns nil when a member has something to read (fi_wait(3)): a queue is not empty, or a counter has changed
// since a set last reported it. At the end of ctx it returns ErrTimedOut, which wraps the cause.
func (s *WaitSet) Wait(ctx context.Context) error {
	ch := make(chan struct{}, 1)
	s.mu.Lock()
	s.waiters = append(s.waiters, ch)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		i := slices.Index(s.waiters, ch)
		s.waiters = slices.Delete(s.waiters, i, i+1)
		s.mu.Unlock()
	}()
	for {
		done, err := s.once(ctx, ch)
		if done || err != nil {
			return err
		}
	}
}

// once enters all members, sleeps, and leaves them. done means that there is something to read.
func (s *WaitSet) once(ctx context.Context, ch chan struct{}) (done bool, err error) {
	s.mu.Lock()
	members, closed := s.members, s.closed
	s.mu.Unlock()
	if closed {
		return false, core.ErrBadF
	}
	for _, m := range members {
		leave := m.enterSet()
		if leave == nil {
			return true, nil
		}
		defer leave()
	}
	if ctx.Err() != nil {
		return false, ended(core.ErrTimedOut, ctx)
	}
	if s.yield {
		runtime.Gosched()
		return false, nil
	}
	select {
	case <-ch:
	case <-ctx.Done():
	}
	return false, nil
}

// WaitFD returns the descriptor to poll for reading (FI_GETWAIT). Call TryWait before you sleep on it.
func (s *WaitSet) WaitFD() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return -1, core.ErrBadF
	case s.yield:
		return -1, core.ErrNoSys
	case s.notifier == nil:
		n, err := netx.NewNotifier()
		if err != nil {
			return -1, err
		}
		s.notifier = n
	}
	return s.notifier.FD(), nil
}

// TryWait says whether it is safe to sleep on the set's descriptor (fi_trywait(3)). The error is ErrAgain if a
// member has something to read.
func (s *WaitSet) TryWait() error {
	s.mu.Lock()
	members := s.members
	if s.notifier != nil {
		s.notifier.Reset()
	}
	s.mu.Unlock()
	return tryAll(members)
}

func (s *WaitSet) forgetWait() {
	s.mu.Lock()
	members := s.members
	s.mu.Unlock()
	for _, m := range members {
		m.forgetWait()
	}
}

// Close frees the set (fi_close(3)). The error is ErrBusy while queues or counters use it.
func (s *WaitSet) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return core.ErrBadF
	}
	if len(s.members) > 0 {
		s.mu.Unlock()
		return opError("fi_close(wait)", core.ErrBusy, "close the queues and counters opened with the set first")
	}
	s.closed = true
	if s.notifier != nil {
		s.notifier.Close()
		s.notifier = nil
	}
	s.mu.Unlock()
	s.wake()
	if s.onClose != nil {
		s.onClose()
	}
	return nil
}
